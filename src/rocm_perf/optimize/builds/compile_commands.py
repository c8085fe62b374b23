"""How a source is compiled according to compile_commands.json, which CMake, Meson and Bear write."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from rocm_perf.errors import InputError
from rocm_perf.files import MAX_TEXT_BYTES
from rocm_perf.optimize.builds.commands import Command, commands_in

FILE = "compile_commands.json"
_MOST_BYTES = 16 * MAX_TEXT_BYTES  # of a project with very many files
_PARENTS = 4


class _Entry(msgspec.Struct):
    """One command (clang.llvm.org/docs/JSONCompilationDatabase.html)."""

    directory: str
    file: str
    command: str = ""
    arguments: tuple[str, ...] = ()


_DECODER = msgspec.json.Decoder(list[_Entry])


def databases_for(source: Path) -> Iterator[Path]:
    """The files beside a source, above it, and in the build folders there; the nearest first."""
    for folder in (source.parent, *source.parents[1:_PARENTS]):
        for place in (folder / FILE, *sorted(folder.glob(f"build*/{FILE}"))):
            if place.is_file():
                yield place


def compile_commands(database: Path, source: Path) -> list[Command]:
    """The commands for a source in one of these files, and the command that links its object where CMake wrote it."""
    commands = [_command(entry) for entry in _entries(database) if _names(entry, source)]
    return [*commands, *(link for command in commands for link in _links(command))]


def _entries(database: Path) -> list[_Entry]:
    try:
        if database.stat().st_size > _MOST_BYTES:
            raise InputError(f"cannot read {database}", f"it is larger than {_MOST_BYTES >> 20} MiB")
        return _DECODER.decode(database.read_bytes())
    except OSError as error:
        raise InputError(f"cannot read {database}", error.strerror or str(error)) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {database}", str(error)) from error


def _names(entry: _Entry, source: Path) -> bool:
    return os.path.realpath(os.path.join(entry.directory, entry.file)) == os.path.realpath(source)


def _command(entry: _Entry) -> Command:
    folder = Path(entry.directory)
    if entry.arguments:
        return Command(entry.arguments, folder)
    return commands_in(entry.command, folder)[0]


def _links(command: Command) -> Iterator[Command]:
    """CMake's Makefiles keep the link command beside the objects: CMakeFiles/NAME.dir/link.txt."""
    if command.target is None:
        return
    for folder in command.target.parents:
        if folder.suffix == ".dir" and folder.parent.name == "CMakeFiles":
            script = folder / "link.txt"
            if script.is_file():
                yield from commands_in(script.read_text(errors="replace"), folder.parents[1])
            return
