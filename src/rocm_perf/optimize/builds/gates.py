"""The gates that need a compiler and no GPU: a candidate compiles, to the same code each time, with the same interface,
no spills and no less precision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from rocm_perf.arch.codeobject.report import Launch
from rocm_perf.errors import RocmPerfError
from rocm_perf.model.results.optimize import Resources
from rocm_perf.optimize.builds.compilers import vendor_of
from rocm_perf.optimize.builds.errors import BuildError
from rocm_perf.optimize.builds.workshop import Build, Workshop
from rocm_perf.optimize.gates import Passage
from rocm_perf.optimize.guards.instructions import (
    amd_precision,
    arithmetic_of_ptx,
    instructions_of,
    precision_passage,
)
from rocm_perf.optimize.guards.interface import interface_passage
from rocm_perf.optimize.guards.resources import resources_of, resources_passage


@dataclass(frozen=True)
class LaunchedKernel:
    """The kernel that is changed, and how it is launched before and after."""

    symbol: str
    arch: str
    before: Launch
    after: Launch


@dataclass(frozen=True)
class Examination:
    """How a candidate's code fared, and what it needs against the original."""

    passages: tuple[Passage, ...]
    before: Resources
    after: Resources | None


def built(workshop: Workshop, text: bytes, flags: Sequence[str] = ()) -> tuple[Build | None, Passage]:
    """The candidate's build and how it passed; None where it does not build."""
    try:
        build = workshop.build(text, flags)
    except BuildError as error:
        return None, Passage("build", False, str(error))
    return build, Passage("build", True, f"built in {build.seconds:.1f} s")


def rebuilt(workshop: Workshop, build: Build) -> Passage:
    """Whether another build of the text has the same code objects, byte for byte."""
    try:
        again = workshop.rebuild(build)
    except BuildError as error:
        return Passage("rebuild", False, f"it built once, and not again: {error}")
    if len(build.code.images) != len(again.code.images):
        return Passage("rebuild", False, "two builds differ in the number of their code objects")
    pairs = zip(build.code.images, again.code.images, strict=True)
    differing = [one.arch for one, other in pairs if one.data != other.data]
    if differing:
        return Passage(
            "rebuild", False, f"two builds of one text differ in the code for {', '.join(differing)}"
        )
    return Passage("rebuild", True, "two builds gave the same code")


def examined(workshop: Workshop, original: Build, candidate: Build, subject: LaunchedKernel) -> Examination:
    """The gates `interface`, `resources` and `precision` of a candidate that was built."""
    before = needs_of(original, subject.symbol, subject.arch, subject.before)
    same = interface_passage(original.code.images, candidate.code.images, subject.after.workgroup_size)
    if not same.passed:
        return Examination((same,), before, None)
    after = needs_of(candidate, subject.symbol, subject.arch, subject.after)
    exact = precise(workshop, original, candidate, subject)
    return Examination((same, resources_passage(before, after), exact), before, after)


def needs_of(build: Build, symbol: str, arch: str, launch: Launch) -> Resources:
    """What a kernel of a build needs, with its instructions counted where they can be disassembled."""
    image = build.code.image(arch, symbol)
    needs = resources_of(image, symbol, launch)
    if vendor_of(arch) != "AMD":
        return needs
    try:
        return msgspec.structs.replace(needs, instructions=len(instructions_of(image, symbol)) or None)
    except RocmPerfError:
        return needs


def precise(workshop: Workshop, original: Build, candidate: Build, subject: LaunchedKernel) -> Passage:
    """The gate `precision`, by the code of two builds."""
    symbol, arch = subject.symbol, subject.arch
    if vendor_of(arch) == "AMD":
        return amd_precision(original.code.image(arch, symbol), candidate.code.image(arch, symbol), symbol)
    try:
        listings = [workshop.ptx(build, arch) for build in (original, candidate)]
    except RocmPerfError as error:
        return precision_passage(None, None, str(error))
    before, after = (arithmetic_of_ptx(text, symbol) for text in listings)
    return precision_passage(before, after)
