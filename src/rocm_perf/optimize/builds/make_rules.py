"""How make and ninja would build a target: both say so without doing it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from rocm_perf.backends import tools
from rocm_perf.optimize.builds.commands import Command, commands_in

_LIMIT_S = 60.0
_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_MAKE = tools.Program("make", vendor=None, files=("make", "gmake"))
_NINJA = tools.Program("ninja", vendor=None, files=("ninja", "ninja-build"))


def makefile_of(folder: Path) -> Path | None:
    """The Makefile that make would read in a folder."""
    return next((folder / name for name in _MAKEFILES if (folder / name).is_file()), None)


def make_commands(folder: Path, arguments: Sequence[str], source: Path | None) -> list[Command]:
    """What make would run for its arguments if the source had just been changed; for all of it without a source.
    Nothing where there is no such rule."""
    changed = ["-W", os.path.relpath(source, folder)] if source else ["-B"]
    return _asked(_MAKE, ["-C", str(folder), "-n", "-w", *changed, *arguments], folder)


def ninja_commands(folder: Path, targets: Sequence[str]) -> list[Command]:
    """What ninja would run for some targets."""
    return _asked(_NINJA, ["-C", str(folder), "-t", "commands", *targets], folder)


def expanded(command: Command, source: Path) -> list[Command]:
    """A command, or what it would run where it calls make or ninja."""
    if command.compiler not in (*_MAKE.files, *_NINJA.files):
        return [command]
    folder, arguments = _split(command)
    if command.compiler in _MAKE.files:
        return make_commands(folder, arguments, source)
    return ninja_commands(folder, [word for word in arguments if not word.startswith("-")])


def _split(command: Command) -> tuple[Path, list[str]]:
    """The folder in which a build tool works, by its -C, and its other arguments."""
    folder, arguments = command.cwd, list(command.argv[command.compiler_position + 1 :])
    while "-C" in arguments[:-1]:
        position = arguments.index("-C")
        folder = Path(os.path.normpath(folder / arguments[position + 1]))
        del arguments[position : position + 2]
    return folder, arguments


def _asked(program: tools.Program, arguments: Sequence[str], folder: Path) -> list[Command]:
    """The commands that a build tool says it would run; none where it refuses."""
    path = tools.find_program(program, tools.path_folders(os.environ))
    if not path:
        return []
    answer = tools.ask([path, *arguments], os.environ, _LIMIT_S)
    return commands_in(answer.text, folder) if answer.status == 0 else []
