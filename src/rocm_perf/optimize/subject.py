"""What is optimised: the source and how it is built, for which chip, and how the program is run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rocm_perf.backends.machine import Machine
from rocm_perf.errors import ToolAbsentError, UsageError
from rocm_perf.model.vendor import Vendor
from rocm_perf.optimize.builds.architecture_options import for_arch
from rocm_perf.optimize.builds.compilers import find_compilers, vendor_of
from rocm_perf.optimize.builds.find import BuildWish, find_recipe
from rocm_perf.optimize.builds.recipe import Recipe
from rocm_perf.optimize.request import Request
from rocm_perf.optimize.source.parse import Source, parse


@dataclass(frozen=True)
class Subject:
    """A source, understood, with the commands that build and run it."""

    source: Source
    recipe: Recipe
    arch: str
    run: tuple[str, ...]  # with the user's own program

    @property
    def path(self) -> Path:
        return self.recipe.source

    @property
    def compiler(self) -> str:
        return self.recipe.compiling.compiler

    def command_of(self, product: Path) -> tuple[str, ...]:
        """How another build of the program is run: with the same arguments."""
        return tuple(str(product) if self._is_program(word) else word for word in self.run)

    def _is_program(self, word: str) -> bool:
        return (
            self.recipe.compiling.path(word) == self.recipe.product
            or Path(word).absolute() == self.recipe.product
        )


def subject_of(request: Request, machine: Machine) -> Subject:
    """What the request is about. Raises why that is not known."""

    def arch() -> str:  # asked for once the source is known to be there
        return request.arch or _chip_of(machine)

    recipe = find_recipe(
        BuildWish(
            request.target, source=request.source, command=request.build or "", arch=request.arch or ""
        ),
        lambda: find_compilers(machine, arch()).for_vendor(
            vendor_of(arch()), "device code" if request.static else "program"
        ),
    )
    if request.arch and vendor_of(request.arch) == vendor_of_command(recipe):
        recipe = for_arch(recipe, request.arch)
    subject = Subject(
        source=_with_kernels(parse(recipe.source), request.kernel),
        recipe=recipe,
        arch=arch(),
        run=request.run or (str(recipe.product),),
    )
    if subject.command_of(Path("/candidate")) == subject.run:
        raise UsageError(
            f"--run does not name the program {recipe.product.name}",
            "a candidate could not be run in its place",
            f"Write its path as a word of the command: --run '{recipe.product} ARGUMENTS'.",
        )
    return subject


def _with_kernels(source: Source, wanted: str | None) -> Source:
    """The source, if it has a kernel that can be changed: the one that is wanted, or any."""
    if wanted is not None:
        source.kernel(wanted)
    elif not source.kernels:
        left_alone = "; ".join(f"{one.name} in line {one.line}: {one.reason}" for one in source.unreadable)
        raise UsageError(
            f"{source.name} defines no kernel that can be changed",
            left_alone or "there is no __global__ function in it",
            "Name the file that defines the kernel.",
        )
    return source


def vendor_of_command(recipe: Recipe) -> Vendor:
    """Whose GPUs the build command is for."""
    return "NVIDIA" if recipe.compiling.compiler.startswith("nvcc") else "AMD"


def _chip_of(machine: Machine) -> str:
    chips = [gpu.gfx for gpu in machine.gpus if gpu.gfx]
    if not chips:
        raise ToolAbsentError(
            "there is no GPU here to measure on",
            next_step="--static --arch gfx942 compiles and ranks candidates for a chip, and accepts nothing.",
        )
    return chips[0]
