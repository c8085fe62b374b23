"""The chip that a compiler's command is for, and the same command for another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rocm_perf.model.vendor import is_amd
from rocm_perf.optimize.builds.commands import Command
from rocm_perf.optimize.builds.recipe import Recipe

# hipcc and clang; nvcc.
_WITH_VALUE = ("-arch", "--gpu-architecture", "-code", "--gpu-code", "-gencode", "--generate-code")
_JOINED = ("--offload-arch=", "--cuda-gpu-arch=", "--amdgpu-target=", *(f"{name}=" for name in _WITH_VALUE))

_COMPILING = ("-c", "--compile", "-dc", "--device-c", "-dw", "--device-w", "-cubin", "--cubin")


def for_arch(recipe: Recipe, arch: str) -> Recipe:
    """The recipe with one chip in place of those that it was for."""
    option = f"--offload-arch={arch}" if is_amd(arch) else f"-arch={arch}"
    commands = tuple(
        _retargeted(command, option) if command.names(recipe.source) else command
        for command in recipe.commands
    )
    return replace(recipe, commands=commands)


def ptx_recipe(recipe: Recipe, arch: str) -> Recipe:
    """How the PTX is made of which nvcc makes the code for a chip: sm_90."""
    compiling = recipe.compiling
    words = [word for word in without_archs(compiling.argv) if word not in _COMPILING]
    listing = recipe.source.with_suffix(".ptx")
    moved = replace(compiling, argv=tuple(words))
    moved = moved.moved({compiling.target: listing}) if compiling.target else moved
    asked = moved.with_options(("-ptx", f"-arch={arch.replace('sm_', 'compute_')}"))
    return replace(recipe, product=listing, commands=(asked,), makes="device code")


def _retargeted(command: Command, option: str) -> Command:
    return replace(command, argv=tuple(without_archs(command.argv))).with_options((option,))


def without_archs(argv: tuple[str, ...]) -> Iterator[str]:
    """The words of a command without those that choose a chip."""
    is_value = False
    for word in argv:
        if is_value:
            is_value = False
        elif word in _WITH_VALUE:
            is_value = True
        elif not word.startswith(_JOINED):
            yield word
