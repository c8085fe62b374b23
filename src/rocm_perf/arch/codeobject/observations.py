"""What the code of a kernel shows before it runs. Counts are of the code, not of what is executed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from rocm_perf.arch.codeobject.mix import Mix, Tally
from rocm_perf.arch.codeobject.model import Kernel
from rocm_perf.model.finding import Finding
from rocm_perf.units import format_bytes, format_count, format_share

_HALF_TYPES = ("f16", "bf16")
_MATRIX_ARCHS = re.compile(r"gfx(908|90a|94|95|9-4|11|12|13)")
_SLOW_F64_ARCHS = re.compile(r"gfx1[0-3]")
_MOSTLY = 0.75
_FEW = 4  # with fewer, a share says nothing
_NARROW_BYTES = 4
_INSTRUCTION_CACHE = 32 << 10  # the smallest of these chips (CDNA 1 and 2, RDNA)


def observations(kernel: Kernel, mix: Mix, arch: str) -> tuple[Finding, ...]:
    """What is worth knowing about the code of a kernel, worst first."""
    findings = [finding for look in _LOOKS for finding in look(kernel, mix, arch)]
    return tuple(sorted(findings, key=lambda finding: ("error", "warning", "info").index(finding.severity)))


def _spills(kernel: Kernel, mix: Mix, _arch: str) -> Iterator[Finding]:
    if not kernel.scratch_bytes and not kernel.vgpr_spills and not kernel.sgpr_spills:
        return
    scratch, everything = mix.whole.classes.get("scratch", 0), mix.whole.instructions
    looped = mix.in_loops.classes.get("scratch", 0)
    spilled = [
        f"{count:,} {name} spilled"
        for name, count in (("VGPRs", kernel.vgpr_spills), ("SGPRs", kernel.sgpr_spills))
        if count
    ]
    evidence = (
        *spilled,
        f"{format_bytes(kernel.scratch_bytes)} of scratch per work-item",
        f"{scratch:,} of {everything:,} instructions access it, {looped:,} of them in loops",
    )
    if kernel.vgpr_spills:
        yield Finding(
            id="spills",
            severity="warning",
            title="registers are spilled to memory",
            evidence=evidence,
            remedy="Let the kernel use more registers (a smaller __launch_bounds__), or keep fewer values live.",
        )
    elif kernel.scratch_bytes and scratch:
        yield Finding(
            id="scratch",
            severity="warning",
            title="an array or stack is in memory",
            evidence=evidence,
            remedy="Index local arrays with constants (unroll loops): they then stay in registers.",
        )


def _no_matrix(_kernel: Kernel, mix: Mix, arch: str) -> Iterator[Finding]:
    fmas = mix.whole.fma_types
    half, every = sum(fmas.get(name, 0) for name in _HALF_TYPES), sum(fmas.values())
    if mix.whole.matrix_flops or half < 2 * _FEW or half < _MOSTLY * every or not _MATRIX_ARCHS.match(arch):
        return
    yield Finding(
        id="no-matrix-instructions",
        severity="warning",
        title="half-precision multiply-adds run outside the matrix units",
        evidence=(
            f"{half:,} of {every:,} multiply-adds are f16 or bf16, and the code has no matrix instruction",
        ),
        remedy="For a matrix product use rocWMMA, the MFMA or WMMA builtins, or a library.",
    )


def _narrow_loads(_kernel: Kernel, mix: Mix, _arch: str) -> Iterator[Finding]:
    narrow, every = _narrow(mix.whole.load_widths)
    if every >= _FEW and narrow >= _MOSTLY * every:
        yield Finding(
            id="narrow-loads",
            severity="info",
            title="most global loads are narrow",
            evidence=(
                f"{format_share(narrow / every)} of {every:,} loads move {_NARROW_BYTES} bytes per lane or less",
            ),
            remedy="If a work-item reads neighbouring values, load float4 (16 bytes) at once, with matching alignment.",
        )


def _narrow_lds(_kernel: Kernel, mix: Mix, _arch: str) -> Iterator[Finding]:
    narrow, every = _narrow(mix.whole.lds_widths)
    if every >= 2 * _FEW and narrow >= _MOSTLY * every:
        yield Finding(
            id="narrow-lds",
            severity="info",
            title="most LDS accesses are narrow",
            evidence=(
                f"{format_share(narrow / every)} of {every:,} move {_NARROW_BYTES} bytes per lane or less",
            ),
            remedy="Arrange tiles to let a work-item read 8 or 16 neighbouring bytes.",
        )


def _waits(_kernel: Kernel, mix: Mix, _arch: str) -> Iterator[Finding]:
    loads = _loads(mix.in_loops)
    if loads and mix.in_loops.drains >= loads:
        yield Finding(
            id="waits-on-every-load",
            severity="warning",
            title="loops wait for each load before the next",
            evidence=(
                f"in loops {format_count(mix.in_loops.drains, 'wait')} for all loads and {format_count(loads, 'load')}",
            ),
            remedy="Unroll, or load the next step's data before this step's arithmetic (double buffering).",
        )


def _flat(_kernel: Kernel, mix: Mix, _arch: str) -> Iterator[Finding]:
    flat = mix.whole.named("flat_")
    if flat:
        yield Finding(
            id="flat-memory",
            severity="info",
            title="the compiler could not tell LDS from global memory",
            evidence=(f"{flat:,} flat memory instructions, which also wait for the LDS",),
            remedy="Keep pointers to __shared__ and global data apart, and pass them as kernel arguments.",
        )


def _division(_kernel: Kernel, mix: Mix, _arch: str) -> Iterator[Finding]:
    divisions = mix.whole.named("v_div_fixup")
    if divisions:
        yield Finding(
            id="exact-division",
            severity="info",
            title="divisions are exact to the last bit",
            evidence=(f"{divisions:,} division sequences of about ten instructions each",),
            remedy="Multiply by a reciprocal, or allow -fno-hip-fp32-correctly-rounded-divide-sqrt.",
        )


def _transcendental(_kernel: Kernel, mix: Mix, _arch: str) -> Iterator[Finding]:
    slow, valu = mix.whole.transcendental, mix.whole.classes.get("VALU", 0)
    if slow >= _FEW and slow >= 0.1 * valu:
        yield Finding(
            id="transcendentals",
            severity="info",
            title="many transcendental instructions",
            evidence=(
                f"{slow:,} of {valu:,} vector instructions (exp, log, rcp, sqrt, sin), each at a quarter of the rate",
            ),
        )


def _double(_kernel: Kernel, mix: Mix, arch: str) -> Iterator[Finding]:
    double = sum(count for name, count in mix.whole.names.items() if "_f64" in name and name.startswith("v_"))
    if double and _SLOW_F64_ARCHS.match(arch):
        yield Finding(
            id="double-precision",
            severity="warning",
            title="double precision on a chip that is slow at it",
            evidence=(f"{double:,} f64 instructions",),
            remedy="Look for constants without an f (1.0 instead of 1.0f) and for double math functions.",
        )


def _compare_and_swap(_kernel: Kernel, mix: Mix, _arch: str) -> Iterator[Finding]:
    swaps = mix.in_loops.named(r"(global|flat|buffer|ds)_\w*(cmpswap|cmpst|cmpstore)")
    if swaps:
        yield Finding(
            id="compare-and-swap-loop",
            severity="warning",
            title="an atomic is retried in a loop",
            evidence=(f"{swaps:,} compare-and-swap instructions in loops",),
            remedy="Floating-point atomics have their own instructions: -munsafe-fp-atomics, or unsafeAtomicAdd.",
        )


def _large_loop(_kernel: Kernel, mix: Mix, _arch: str) -> Iterator[Finding]:
    largest = max((loop.tally.code_bytes for loop in mix.loops), default=0)
    if largest > _INSTRUCTION_CACHE:
        yield Finding(
            id="loop-larger-than-instruction-cache",
            severity="warning",
            title="a loop is larger than the instruction cache",
            evidence=(f"{format_bytes(largest)} of code in one loop",),
            remedy="Unroll less.",
        )


def _narrow(widths: Mapping[int, int]) -> tuple[int, int]:
    return sum(count for width, count in widths.items() if width <= _NARROW_BYTES), sum(widths.values())


def _loads(tally: Tally) -> int:
    return tally.classes.get("VMEM load", 0)


_LOOKS: tuple[Callable[[Kernel, Mix, str], Iterator[Finding]], ...] = (
    _spills, _no_matrix, _waits, _compare_and_swap, _large_loop, _double, _narrow_loads, _narrow_lds, _flat, _division,
    _transcendental,
)  # fmt: skip
