"""What a compiler's command reads and writes, and the commands in a text that a shell would run. Nothing here looks at
a file or runs anything."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from rocm_perf.errors import UsageError

# Options of nvcc, hipcc and clang that name a file to write, as a word of their own or joined.
_WRITTEN = ("-o", "--output-file", "-MF", "--dependency-output", "-MJ")
_JOINED = (*(f"{option}=" for option in _WRITTEN), "-o", "-MF", "-MJ")
_NOT_AN_OUTPUT = ("-odir", "-optf", "-objtemp", "-objcmt", "-ofast")
_TARGET = ("-o", "--output-file")
# What is written where neither -o nor --output-file says so, by the option that asks for it.
_SUFFIXES = {
    **dict.fromkeys(("-c", "--compile", "-dc", "--device-c", "-dw", "--device-w"), ".o"),
    **dict.fromkeys(("-cubin", "--cubin"), ".cubin"),
    **dict.fromkeys(("-fatbin", "--fatbin"), ".fatbin"),
    **dict.fromkeys(("-ptx", "--ptx"), ".ptx"),
}
# They leave files in the current folder, which is the user's.
_LITTERING = ("-keep", "--keep", "-save-temps", "--save-temps", "-time-trace", "-ftime-trace")
_SEPARATORS = (";", "&&")
_SHELL = "();<>|&"
_LAUNCHERS = ("env", "ccache", "sccache", "zig")
_ENTERING, _LEAVING = "Entering directory", "Leaving directory"


@dataclass(frozen=True)
class Command:
    """One program with its arguments."""

    argv: tuple[str, ...]
    cwd: Path
    shell: str = ""  # what of it only a shell understands

    def __str__(self) -> str:
        return shlex.join(self.argv)

    def path(self, argument: str) -> Path:
        """The file that an argument names. Links are kept: `..` is taken as written."""
        return Path(os.path.normpath(self.cwd / argument))

    def names(self, path: Path) -> bool:
        """Whether the path is one of the arguments."""
        return any(self.path(argument) == path for argument in self.argv[1:])

    @property
    def target(self) -> Path | None:
        """The file that it makes, where it says so."""
        targets = [path for option, path in self._written() if option in _TARGET]
        return targets[-1] if targets else None

    @property
    def written(self) -> tuple[Path, ...]:
        """Every file that its arguments name to be written."""
        return tuple(path for _, path in self._written())

    def _written(self) -> Iterator[tuple[str, Path]]:
        for argument, following in zip(self.argv, (*self.argv[1:], ""), strict=True):
            if argument in _WRITTEN:
                yield argument, self.path(following)
                continue
            prefix = _joined_prefix(argument)
            if prefix:
                yield prefix.rstrip("="), self.path(argument[len(prefix) :])

    def with_target(self, source: Path) -> Command:
        """The command with its target written out: without one, it would fall into the current folder."""
        if self.target is not None:
            return self
        suffix = next((_SUFFIXES[argument] for argument in self.argv if argument in _SUFFIXES), None)
        name = "a.out" if suffix is None else source.with_suffix(suffix).name
        return replace(self, argv=(*self.argv, "-o", name))

    def tidy(self) -> Command:
        """The command without options that leave intermediate files in the current folder."""
        kept = [one for one in self.argv if one.split("=")[0] not in _LITTERING]
        return replace(self, argv=tuple(kept))

    def moved(self, places: Mapping[Path, Path]) -> Command:
        """The command with other paths in place of some."""
        return replace(self, argv=(self.argv[0], *(self._moved(one, places) for one in self.argv[1:])))

    def _moved(self, argument: str, places: Mapping[Path, Path]) -> str:
        prefix = _joined_prefix(argument)
        place = places.get(self.path(argument[len(prefix) :]))
        return argument if place is None else prefix + str(place)

    def with_options(self, options: Iterable[str]) -> Command:
        """The command with options in front of all others but after the compiler, and after its launcher."""
        position = self.compiler_position + 1
        return replace(self, argv=(*self.argv[:position], *options, *self.argv[position:]))

    @property
    def compiler_position(self) -> int:
        """Which of the words is the compiler: behind `env A=B`, `ccache` and `zig`."""
        for position, word in enumerate(self.argv):
            if os.path.basename(word) not in _LAUNCHERS and "=" not in word:
                return position
        return 0

    @property
    def compiler(self) -> str:
        """The compiler's name, without its folder."""
        return os.path.basename(self.argv[self.compiler_position])


def commands_in(text: str, cwd: Path) -> list[Command]:
    """The commands of a text as make or a build option has it: one line after the other, `cd` followed."""
    commands: list[Command] = []
    folders = [cwd]
    for line in text.replace("\\\n", " ").splitlines():
        if _ENTERING in line or _LEAVING in line:
            _follow(folders, line)
            continue
        commands += _of_line(line, folders[-1])
    return commands


def _follow(folders: list[Path], line: str) -> None:
    """Where a recursive make works now: `make[1]: Entering directory '/home/me/src'`."""
    if _ENTERING in line:
        folders.append(Path(line.partition(_ENTERING)[2].strip(" '`\"")))
    elif len(folders) > 1:
        folders.pop()


def _of_line(line: str, cwd: Path) -> Iterator[Command]:
    try:
        lexer = shlex.shlex(line, posix=True, punctuation_chars=_SHELL)
        lexer.whitespace_split, lexer.commenters = True, "#"
        words = list(lexer)
    except ValueError as error:
        raise UsageError("the build command cannot be read", f"{error}: {line.strip()[:200]}") from error
    for part in _parts(words):
        if part[0] == "cd" and len(part) == 2:
            cwd = Path(os.path.normpath(cwd / part[1]))
            continue
        yield Command(_through_env(part), cwd, _shell_of(part))


def _parts(words: list[str]) -> Iterator[list[str]]:
    part: list[str] = []
    for word in (*words, ";"):
        if word not in _SEPARATORS:
            part.append(word)
            continue
        if part:
            yield part
        part = []


def _through_env(words: list[str]) -> tuple[str, ...]:
    return ("env", *words) if "=" in words[0] else tuple(words)


def _shell_of(words: list[str]) -> str:
    return next((word for word in words if set(word) <= set(_SHELL) or "$" in word or "`" in word), "")


def _joined_prefix(argument: str) -> str:
    if argument.startswith(_NOT_AN_OUTPUT) or argument in _WRITTEN:
        return ""
    return next((prefix for prefix in _JOINED if argument.startswith(prefix)), "")
