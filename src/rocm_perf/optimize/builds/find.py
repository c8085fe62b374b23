"""Where the recipe of a source or a program comes from: the user's command, a Makefile, compile_commands.json, or a
compiler's plain call."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from rocm_perf.errors import UsageError
from rocm_perf.optimize.builds.commands import Command, commands_in
from rocm_perf.optimize.builds.compile_commands import compile_commands, databases_for
from rocm_perf.optimize.builds.compilers import Compiler
from rocm_perf.optimize.builds.make_rules import expanded, make_commands, makefile_of, ninja_commands
from rocm_perf.optimize.builds.recipe import SUFFIXES, Recipe, recipe_of

_OWN_RULES_OFF = "-r"  # make has rules of its own, which link any object with the host's compiler


@dataclass(frozen=True)
class BuildWish:
    """What the user named: a source or a program, and how it is built where that was said."""

    path: Path
    source: Path | None = None
    command: str = ""
    arch: str = ""


def find_recipe(wish: BuildWish, compiler: Callable[[], Compiler]) -> Recipe:
    """How the source is built. `compiler` is asked for where nothing but a plain call of it is left."""
    path = Path(os.path.abspath(wish.path))
    is_source = path.suffix in SUFFIXES
    source = path if is_source else Path(os.path.abspath(wish.source)) if wish.source else None
    product = None if is_source else path
    if source is not None and not source.is_file():
        raise UsageError(f"there is no source file {source.name} in {source.parent}")
    if wish.command:
        return _by_command(wish.command, source or _source_beside(path), product)
    for recipe in _known(source, product):
        return recipe
    if source is None:
        source = _source_beside(path)
    return plain_recipe(source, compiler(), wish.arch, product)


def _by_command(text: str, source: Path, product: Path | None) -> Recipe:
    """The recipe in a command that the user gave, or in what the build tool that it calls would run."""
    cwd = Path.cwd()
    commands = [one for command in commands_in(text, cwd) for one in expanded(command, source)]
    recipe = recipe_of(commands, source=source, product=product, origin="--build")
    if recipe is None:
        raise UsageError(
            f"the build command does not lead from {source.name} to {product.name if product else 'a program'}",
            text,
            "The source has to be an argument of the compiler, and the program that of -o.",
        )
    return recipe


def _known(source: Path | None, product: Path | None) -> Iterator[Recipe]:
    """Recipes that lie beside the source or the program."""
    yield from _by_make(source, product)
    if source is None and product is not None:
        source = _beside(product)
    if source is not None:
        yield from _by_database(source, product)


def _by_make(source: Path | None, product: Path | None) -> Iterator[Recipe]:
    """What a Makefile says itself, then what make's own rules add to it, then what ninja says."""
    for folder, target in _targets(source, product):
        if makefile_of(folder):
            read = source or _beside(folder.joinpath(*target))
            commands = make_commands(folder, [_OWN_RULES_OFF, *target], read)
            yield from _by_rule(commands, source=read, product=product, rule=_rule(target, "Makefile"))
        elif (folder / "build.ninja").is_file():
            commands = ninja_commands(folder, target)
            yield from _by_rule(commands, source=source, product=product, rule=_rule(target, "build.ninja"))
    for folder, target in _targets(source, product):
        if makefile_of(folder):
            read = source or _beside(folder.joinpath(*target))
            with contextlib.suppress(UsageError):  # make's own rules know only the host's compiler
                commands = make_commands(folder, target, read)
                yield from _by_rule(commands, source=read, product=product, rule=_rule(target, "Makefile"))


def _by_rule(
    commands: list[Command], *, source: Path | None, product: Path | None, rule: str
) -> Iterator[Recipe]:
    read = source or _source_in(commands)
    recipe = recipe_of(commands, source=read, product=product, origin=rule) if read else None
    if recipe is not None:
        yield recipe


def _rule(target: tuple[str, ...], file: str) -> str:
    return f"the rule {target[0]} of {file}" if target else f"the first rule of {file}"


def _targets(source: Path | None, product: Path | None) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """Folders in which a Makefile may be, and what it may call the target there; without a name, its first rule."""
    if product is not None:
        for folder in product.parents[:2]:
            yield folder, (str(product.relative_to(folder)),)
    elif source is not None:
        yield source.parent, (source.stem,)
        yield source.parent, ()


def _by_database(source: Path, product: Path | None) -> Iterator[Recipe]:
    for database in databases_for(source):
        commands = compile_commands(database, source)
        for wanted in dict.fromkeys((product, None)):
            recipe = recipe_of(commands, source=source, product=wanted, origin=database.name)
            if recipe is not None:
                yield recipe


def _source_in(commands: list[Command]) -> Path | None:
    """The only source among the arguments of some commands."""
    named = (
        command.path(word) for command in commands for word in command.argv if Path(word).suffix in SUFFIXES
    )
    sources = [path for path in dict.fromkeys(named) if path.is_file()]
    return sources[0] if len(sources) == 1 else None


def _beside(product: Path) -> Path | None:
    """The source with the name of a program, beside it or in the folder above."""
    places = [folder / f"{product.stem}{suffix}" for folder in product.parents[:2] for suffix in SUFFIXES]
    return next((place for place in places if place.is_file()), None)


def _source_beside(product: Path) -> Path:
    source = _beside(product)
    if source is None:
        names = ", ".join(f"{product.stem}{suffix}" for suffix in SUFFIXES)
        raise UsageError(
            f"the source of {product.name} is not known",
            f"there is no {names} beside it",
            "Give it with --source.",
        )
    return source


def plain_recipe(source: Path, compiler: Compiler, arch: str, product: Path | None = None) -> Recipe:
    """The plain call of a compiler that makes programs."""
    target = product or source.with_suffix("")
    chip = f"--offload-arch={arch or 'native'}" if compiler.vendor == "AMD" else f"-arch={arch or 'native'}"
    argv = (*compiler.argv, "-O3", chip, "-o", str(target), str(source))
    return Recipe(
        source=source,
        product=target,
        commands=(Command(argv, source.parent),),
        origin=f"the plain call of {compiler.name}, because nothing else says how it is built",
    )
