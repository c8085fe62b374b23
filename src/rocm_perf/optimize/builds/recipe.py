"""How a source becomes a program: the commands, and the same commands for a copy of the source. Nothing here runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rocm_perf.errors import UsageError
from rocm_perf.optimize.builds.commands import Command

Product = Literal["program", "object", "device code"]
SUFFIXES = (".cpp", ".hip", ".cu")
_HOST_COMPILERS = ("g++", "c++", "gcc", "cc", "clang", "clang++")
_FOR_DEVICES = ("-x", "--offload-arch", "--cuda-gpu-arch", "--hip-link", "-xhip", "-xcuda")
_OBJECTS = (".o", ".obj")


@dataclass(frozen=True)
class Recipe:
    """The commands that make one product of one source, in their order. Paths are absolute."""

    source: Path
    product: Path
    commands: tuple[Command, ...]
    origin: str  # "the rule softmax_testbed of Makefile"
    makes: Product = "program"

    @property
    def compiling(self) -> Command:
        """The command that reads the source."""
        return next(command for command in self.commands if command.names(self.source))

    def __str__(self) -> str:
        return " && ".join(map(str, self.commands))


def recipe_of(
    commands: Sequence[Command], *, source: Path, product: Path | None, origin: str
) -> Recipe | None:
    """The recipe in these commands: those that lead from the source to the product; without a product, to the last file
    made of it. None where they do not lead there."""
    explicit = [command.with_target(source) if command.names(source) else command for command in commands]
    reached = _last_target(explicit, source)
    wanted = product if product is not None else reached
    if reached is None or wanted is None:
        return None
    needed = _needed(explicit, wanted)
    if not any(command.names(source) for command in needed):
        return None
    _refuse_unsuited(needed, source)
    makes: Product = "object" if wanted.suffix in _OBJECTS else "program"
    return Recipe(source, wanted, tuple(command.tidy() for command in needed), origin, makes)


def _last_target(commands: Iterable[Command], source: Path) -> Path | None:
    """The last file on the way from the source: its object, then the program that the object is linked into."""
    reached: list[Path] = []
    for command in commands:
        if command.target and any(command.names(path) for path in (source, *reached)):
            reached.append(command.target)
    return reached[-1] if reached else None


def _needed(commands: Sequence[Command], product: Path) -> list[Command]:
    """The commands whose results the product is made of."""
    needed: list[Command] = []
    wanted = {product}
    for command in reversed(commands):
        if command.target in wanted:
            needed.insert(0, command)
            wanted |= {command.path(argument) for argument in command.argv[1:]}
    return needed


def _refuse_unsuited(commands: Iterable[Command], source: Path) -> None:
    for command in commands:
        if command.shell:
            raise UsageError(
                f"the build command needs a shell for {command.shell!r}",
                str(command)[:200],
                "Give the compiler's own command with --build.",
            )
        if command.names(source) and _is_for_host(command):
            raise UsageError(
                f"{command.compiler} compiles {source.name} for the host alone",
                str(command)[:200],
                "Give the command with hipcc or nvcc with --build.",
            )


def _is_for_host(command: Command) -> bool:
    """Whether a command is a host compiler's without any option for GPUs."""
    bare = command.compiler.rstrip("0123456789.-")
    for_devices = any(argument.startswith(_FOR_DEVICES) for argument in command.argv)
    return bare in _HOST_COMPILERS and not for_devices


def relocated(recipe: Recipe, folder: Path, flags: Sequence[str] = ()) -> Recipe:
    """The recipe with the source, and everything that is written, in another folder. Includes of the source's own
    folder are found as before; `flags` are added for the compiler."""
    places = _places(recipe, folder)
    commands = tuple(_relocated(command, recipe.source, places, flags) for command in recipe.commands)
    return Recipe(
        source=places[recipe.source],
        product=places[recipe.product],
        commands=commands,
        origin=recipe.origin,
        makes=recipe.makes,
    )


def _places(recipe: Recipe, folder: Path) -> dict[Path, Path]:
    """A place in one folder for the source and each file that is written; equal names are numbered."""
    places = {recipe.source: folder / recipe.source.name}
    for path in (recipe.product, *(path for command in recipe.commands for path in command.written)):
        is_taken = folder / path.name in places.values()
        places.setdefault(path, folder / (f"{len(places)}-{path.name}" if is_taken else path.name))
    return places


def _relocated(command: Command, source: Path, places: dict[Path, Path], flags: Sequence[str]) -> Command:
    moved = command.moved(places)
    if not command.names(source):
        return moved
    beside = "-I" if command.compiler == "nvcc" else "-iquote"  # nvcc does not know -iquote
    options = moved.with_options((beside, str(source.parent)))
    return Command((*options.argv, *flags), command.cwd)
