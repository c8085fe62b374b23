"""Device code alone for one chip, by whichever compiler is here: what static mode and compile tests build."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rocm_perf.optimize.builds.commands import Command
from rocm_perf.optimize.builds.compilers import Compiler, started
from rocm_perf.optimize.builds.recipe import Recipe

_AMD = ("--cuda-device-only", "--no-gpu-bundle-output", "-fuse-cuid=none")  # the same bytes in every build
_NVIDIA = ("-cubin",)
# What a command says about the language rather than about one compiler: they are the same for all.
_SHARED = ("-I", "-D", "-U", "-std=", "-O")
_SHARED_WITH_VALUE = ("-I", "-D", "-U", "-isystem", "-iquote", "-include", "--include-path", "-std")
_OF_CLANG = ("-f", "-m")
_CLANGS = ("hipcc", "amdclang", "clang")
_HOST_ONLY = (
    "-fPIC",
    "-fPIE",
    "-fpic",
    "-fpie",
    "-fopenmp",
    "-fuse-ld",
    "-march",
    "-mtune",
    "-mavx",
    "-msse",
)


def device_recipe(
    source: Path, compiler: Compiler, arch: str, *, folder: Path, like: Recipe | None = None
) -> Recipe:
    """How the device code of a source is made for a chip; with the language options of the user's own command. `folder`
    is where the compiler may keep what it needs."""
    is_amd = compiler.vendor == "AMD"
    target = (*_AMD, f"--offload-arch={arch}") if is_amd else (*_NVIDIA, f"-arch={arch}")
    options = tuple(shared_options(like.compiling, is_amd)) if like else ()
    optimised = () if any(option.startswith("-O") for option in options) else ("-O3",)
    product = source.with_suffix(".hsaco" if is_amd else ".cubin")
    argv = (*started(compiler, folder), *target, *optimised, *options, "-o", str(product), str(source))
    return Recipe(
        source=source,
        product=product,
        commands=(Command(argv, like.compiling.cwd if like else source.parent),),
        origin=f"{compiler}, device code alone",
        makes="device code",
    )


def shared_options(command: Command, for_clang: bool) -> Iterator[str]:
    """The options of a command that any compiler understands; from one clang to another, also the code generator's."""
    keeps_clangs = for_clang and command.compiler.startswith(_CLANGS)
    is_value = False
    for word in command.argv[command.compiler_position + 1 :]:
        if is_value or word in _SHARED_WITH_VALUE:
            is_value = not is_value
            yield word
        elif word.startswith(_SHARED) or (
            keeps_clangs and word.startswith(_OF_CLANG) and not word.startswith(_HOST_ONLY)
        ):
            yield word
