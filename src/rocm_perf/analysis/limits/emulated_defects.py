"""What stands out in the exact counts of a kernel: its share of the work, and what removing it saves at most."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from rocm_perf.analysis.limits.emulated_work import FULL, SPECIAL_TIMES, Counts, Loads
from rocm_perf.arch.gpu import Gpu
from rocm_perf.model.results.count import TallyName
from rocm_perf.units import format_bytes, format_share

CONFLICTS = 0.2  # of the LDS cycles
DENSE = 0.5  # of the lines that accesses touch: what dense ones would need
NARROW = 0.5  # of the accesses
F64_CONVERTED = 0.5  # conversions for each operation in f64
F64_TIME, SPECIAL_TIME, DIVISION_TIME = 0.2, 0.3, 0.3  # of the time of vector instructions
INTEGERS = 0.5  # of the vector instructions
IDLE = 0.25  # of the lanes
CONTENDED = 0.25  # of the atomic operations
ATOMIC_ACCESSES, ATOMIC_INSTRUCTIONS = 0.3, 0.05  # of the accesses, of the instructions
SPILLED = 0.1  # of the bytes of vector accesses
BARRIERS, BARRIER_INSTRUCTIONS = 16, 32  # a wave; instructions from one to the next
DEPENDENT = 0.5  # of the vector instructions
PRODUCTS, REUSE = 0.1, 4  # of the vector instructions; operations for each byte that has to move

_LINE_BYTES = 128
_LEAST_SHARE = 0.05  # of the lines: less waste is not worth a word
# Vector instructions of a division of 32-bit integers, as LLVM compiles it for gfx942 and gfx1100.
_DIVISION = 20
_WAVES_THAT_HIDE = {"gfx9": 2, "gfx1": 5}  # on a SIMD: as many hide the latency of an addition in f32
_MATRIX_TYPES = {"gfx9": ("f64", "f32", "f16"), "gfx1": ("f16",)}


class Defect(msgspec.Struct, frozen=True, kw_only=True):
    """A cause before it has its remedy. `unit`: the one that it fills; empty where it makes waves wait."""

    id: str
    share: float
    saves: float | None
    unit: str = ""
    title: str
    evidence: tuple[str, ...] = ()


Rule = Callable[[Counts, Gpu | None, Loads], Iterator[Defect]]


def defects(counts: Counts, gpu: Gpu | None, loads: Loads) -> list[Defect]:
    """Return everything that stands out, what explains most first."""
    found = [defect for rule in _RULES for defect in rule(counts, gpu, loads)]
    return sorted(found, key=lambda one: -round(one.share, 3))


def _bank_conflicts(counts: Counts, _gpu: Gpu | None, loads: Loads) -> Iterator[Defect]:
    conflicts = counts.share("lds conflicts", "lds cycles")
    if conflicts < CONFLICTS:
        return
    cycles, accesses = counts.of("lds cycles"), counts.of("lds")
    least = cycles * (1 - conflicts) / accesses
    yield Defect(
        id="bank-conflicts",
        share=loads.of("lds") * conflicts,
        saves=loads.saved({"lds": 1 - conflicts}),
        unit="lds",
        title=f"{format_share(conflicts)} of the LDS cycles are bank conflicts",
        evidence=(
            f"an LDS instruction takes {cycles / accesses:.3g} cycles instead of {least:.3g}",
            *counts.most_at("lds conflicts"),
        ),
    )


def _uncoalesced(counts: Counts, gpu: Gpu | None, loads: Loads) -> Iterator[Defect]:
    wasted, parts, evidence = 0.0, [], []
    for what, times, moved, lines, dense in _ACCESSES:
        touched, needed = counts.of(lines), counts.of(dense)
        if not touched or needed / touched >= DENSE:
            continue
        wasted += touched - needed
        parts.append(f"{what} touch {touched / needed:.3g} times the lines that their bytes would need")
        evidence.append(
            f"a {what.removesuffix('s')} of a wave asks for {touched / counts.of(times):.3g} lines to move "
            f"{counts.of(moved) / counts.of(times):,.0f} B, which would fit into {needed / counts.of(times):.3g}"
        )
        evidence.extend(counts.most_at(lines))
    whole = counts.of("load lines") + counts.of("store lines")
    if not parts or wasted < _LEAST_SHARE * whole:
        return
    asked = counts.of("load bytes") + counts.of("store bytes")
    compulsory = counts.of("compulsory bytes")
    relieved = {
        "l1": 1 - min(0.95, wasted / max(wasted, counts.of("l1 look-ups"))),
        "memory": min(1.0, asked / compulsory) if compulsory else 1.0,
    }
    # The least time has every line once. Where no cache serves the rest, memory moves all of them.
    moved_ns = whole * (gpu.l1_line_bytes or _LINE_BYTES) / gpu.memory_gbps if gpu else 0.0
    uncached = moved_ns / loads.whole_ns if loads.whole_ns else 0.0
    left = max((loads.of(unit) * relieved.get(unit, 1.0) for unit in loads.shares), default=0.0)
    saves = max(0.0, 1 - left / (1.0 if loads.is_timed else max(1.0, uncached)))
    share = wasted / whole
    yield Defect(
        id="uncoalesced",
        share=min(saves, share * uncached) if loads.is_timed else share,
        saves=saves,
        unit=max(relieved, key=lambda one: loads.of(one) * (1 - relieved[one])),
        title=f"its {' and its '.join(parts)}",
        evidence=(
            *evidence,
            f"{format_share(share)} of the lines that it asks for are asked for in vain, unless a cache keeps them for "
            "later accesses",
        ),
    )


_ACCESSES: tuple[tuple[str, TallyName, TallyName, TallyName, TallyName], ...] = (
    ("loads", "loads", "load bytes", "load lines", "dense load lines"),
    ("stores", "stores", "store bytes", "store lines", "dense store lines"),
)


def _narrow(counts: Counts, _gpu: Gpu | None, loads: Loads) -> Iterator[Defect]:
    narrow = counts.share("narrow accesses", "loads", "stores")
    if narrow < NARROW or loads.fullest in ("vector", "lds", "matrix", "scalar"):
        return
    yield Defect(
        id="narrow-accesses",
        share=narrow * (1 - loads.of("memory")) if loads.is_timed else narrow,
        saves=loads.idle if loads.is_timed else None,
        title=f"{format_share(narrow)} of its accesses to memory move one or two bytes a lane",
        evidence=(
            "a wave needs an instruction for each, and has little in flight",
            *counts.most_at("narrow accesses"),
        ),
    )


def _accidental_f64(counts: Counts, _gpu: Gpu | None, loads: Loads) -> Iterator[Defect]:
    f64, converted = counts.of("f64"), counts.of("f64 conversions")
    if not f64 or converted < F64_CONVERTED * f64:
        return
    turns = counts.vector_cycles / counts.turn
    taken = (f64 + converted) * counts.f64_times / turns
    if taken < F64_TIME:
        return
    left = 1 - taken + f64 / turns
    yield Defect(
        id="accidental-f64",
        share=loads.of("vector") * taken,
        saves=loads.saved({"vector": left}),
        unit="vector",
        title=f"{format_share(taken)} of the time of its vector instructions goes into f64 and into conversions to and "
        "from it, though its data is narrower",
        evidence=(
            f"{converted / f64:.2g} conversions for each operation in f64",
            *counts.most_at("f64"),
        ),
    )


def _special(counts: Counts, _gpu: Gpu | None, loads: Loads) -> Iterator[Defect]:
    special = counts.of("special") - counts.of("integer divisions")
    times = SPECIAL_TIMES
    taken = times * special / (counts.vector_cycles / counts.turn) if special > 0 else 0.0
    if taken < SPECIAL_TIME:
        return
    yield Defect(
        id="special-functions",
        share=loads.of("vector") * taken,
        saves=loads.saved({"vector": 1 - taken * (times - 1) / times}),
        unit="vector",
        title=f"special functions (exp, sin, sqrt, reciprocal) take {format_share(taken)} of the time of its vector "
        "instructions",
        evidence=(f"each takes {times} times as long as an addition", *counts.most_at("special")),
    )


def _integers(counts: Counts, _gpu: Gpu | None, loads: Loads) -> Iterator[Defect]:
    turns = counts.vector_cycles / counts.turn
    integers = counts.share("integer", "vector")
    divisions = counts.of("integer divisions")
    taken = min(1.0, divisions * _DIVISION / turns) if turns else 0.0
    if taken >= DIVISION_TIME:
        yield Defect(
            id="integer-division",
            share=loads.of("vector") * taken,
            saves=loads.saved({"vector": 1 - taken * (_DIVISION - 2) / _DIVISION}),
            unit="vector",
            title=f"divisions of integers take about {format_share(taken)} of the time of its vector instructions",
            evidence=(
                f"{divisions / counts.of('waves'):,.3g} for each wave, about {_DIVISION} instructions each",
                *counts.most_at("integer divisions"),
            ),
        )
    elif integers >= INTEGERS and loads.of("vector") >= FULL:
        floats = counts.of("f32") + counts.of("f16") + counts.of("f64")
        beside = (
            f"{counts.of('integer') / floats:.3g} for each floating-point one"
            if floats
            else "no floating-point ones"
        )
        yield Defect(
            id="integer-arithmetic",
            share=loads.of("vector") * integers,
            saves=loads.saved({"vector": 1 - integers}),
            unit="vector",
            title=f"{format_share(integers)} of its vector instructions compute with integers",
            evidence=(beside, *counts.most_at("integer")),
        )


def _barriers(counts: Counts, _gpu: Gpu | None, loads: Loads) -> Iterator[Defect]:
    waves, barriers, instructions = counts.of("waves"), counts.of("barriers"), counts.of("instructions")
    if waves <= counts.workgroups or not barriers:
        return  # a wave that is alone in its workgroup waits for none
    each, apart = barriers / waves, instructions / barriers
    if each < BARRIERS or apart > BARRIER_INSTRUCTIONS:
        return
    waiting = (barriers + counts.of("waits")) / instructions
    yield Defect(
        id="barriers",
        share=waiting,
        saves=loads.idle if loads.is_timed else None,
        title=f"each wave meets {each:,.0f} barriers, {apart:.2g} instructions apart",
        evidence=(
            f"{format_share(waiting)} of its instructions are barriers and waits",
            *counts.most_at("barriers"),
        ),
    )


def _idle_lanes(counts: Counts, _gpu: Gpu | None, loads: Loads) -> Iterator[Defect]:
    places, possible = counts.of("waves") * counts.wave_size, counts.of("vector") * counts.wave_size
    if not places or not possible:
        return
    filled, active = min(1.0, counts.of("work-items") / places), counts.of("vector lanes") / possible
    idle = 1 - min(1.0, active / filled) if filled else 0.0
    if idle >= IDLE:
        yield Defect(
            id="divergence",
            share=loads.of("vector") * idle,
            saves=loads.saved({"vector": 1 - idle, "scalar": 1 - idle}),
            unit="vector",
            title=f"{format_share(idle)} of its lanes stand idle in vector instructions",
            evidence=(
                f"{active * counts.wave_size:.1f} of {counts.wave_size} lanes work: those of a wave take "
                "different ways",
            ),
        )
    if filled <= 1 - IDLE:
        size = counts.of("work-items") / counts.workgroups
        yield Defect(
            id="workgroup-size",
            share=loads.of("vector") * (1 - filled),
            saves=loads.saved(dict.fromkeys(("vector", "scalar", "l1"), filled)),
            unit="vector",
            title=f"workgroups of {size:,.0f} leave {format_share(1 - filled)} of the lanes of their waves empty",
        )


def _atomics(counts: Counts, _gpu: Gpu | None, _loads: Loads) -> Iterator[Defect]:
    places: tuple[tuple[str, str, TallyName, TallyName], ...] = (
        ("contended-atomics", "atomics", "contended lanes", "atomic lanes"),
        ("contended-local-atomics", "atomics in LDS", "contended local lanes", "local atomic lanes"),
    )
    for cause, what, contended, lanes in places:
        share = counts.share(contended, lanes)
        if share >= CONTENDED:
            yield Defect(
                id=cause,
                share=share * min(1.0, counts.of(lanes) / counts.of("instructions")),  # a turn for each lane
                saves=None,
                title=f"{format_share(share)} of its {what} wait for another lane of their wave at the same address",
                evidence=(
                    f"{counts.of(lanes):,.0f} operations by lanes, {counts.of(contended):,.0f} of them at an address "
                    "that an earlier lane has",
                    *counts.most_at(contended),
                ),
            )
    accesses = counts.share("atomics", "loads", "stores", "atomics")
    issued = counts.share("atomics", "instructions")
    if (
        accesses >= ATOMIC_ACCESSES
        and issued >= ATOMIC_INSTRUCTIONS
        and counts.share("contended lanes", "atomic lanes") < CONTENDED
    ):
        yield Defect(
            id="many-atomics",
            share=accesses,
            saves=None,
            title=f"{format_share(accesses)} of its accesses to global memory are atomics",
            evidence=(
                f"{counts.of('atomics') / counts.of('waves'):,.3g} for each wave",
                *counts.most_at("atomics"),
            ),
        )


def _scratch(counts: Counts, _gpu: Gpu | None, loads: Loads) -> Iterator[Defect]:
    size = counts.of("scratch bytes")
    share = size / whole if (whole := size + counts.of("load bytes") + counts.of("store bytes")) else 0.0
    if share < SPILLED:
        return
    is_array = counts.share("indexed scratch accesses", "scratch accesses") >= 0.5 or not counts.of(
        "spilled registers"
    )
    lines = counts.share("scratch lines", "scratch lines", "load lines", "store lines")
    yield Defect(
        id="private-array" if is_array else "spills",
        share=max(loads.of("l1"), loads.of("memory")) * lines,
        saves=loads.saved({"l1": 1 - lines}) if loads.of("l1") >= FULL else None,
        unit="l1",
        title=f"{format_share(share)} of the bytes of its vector accesses are scratch ({format_bytes(size)}): "
        + ("an array that is indexed by a value" if is_array else "registers are spilled"),
        evidence=(
            *(() if is_array else (f"the compiler spilled {counts.of('spilled registers'):,.0f} registers",)),
            f"{format_share(lines)} of the lines that it asks for are scratch",
            *counts.most_at("scratch bytes"),
        ),
    )


def _dependent(counts: Counts, gpu: Gpu | None, loads: Loads) -> Iterator[Defect]:
    dependent, vector = counts.share("dependent", "vector"), counts.share("vector", "instructions")
    if gpu is None or dependent < DEPENDENT or vector < 0.5:
        return
    waves = counts.of("waves") / (gpu.simds_per_cu * min(gpu.compute_units, counts.workgroups))
    hidden = next((most for family, most in _WAVES_THAT_HIDE.items() if counts.gfx.startswith(family)), 0)
    if waves >= hidden:
        return
    yield Defect(
        id="dependent-arithmetic",
        share=dependent * vector,
        saves=loads.idle if loads.is_timed else None,
        title=f"{format_share(dependent)} of its vector instructions need the result of the one before, and a SIMD has "
        f"{max(1.0, waves):.2g} {'wave' if waves <= 1 else 'waves'} to hide that",
        evidence=counts.most_at("dependent"),
    )


def _no_matrix_units(counts: Counts, _gpu: Gpu | None, loads: Loads) -> Iterator[Defect]:
    share = counts.share("products of loads", "vector")
    family = next((name for name in _MATRIX_TYPES if counts.gfx.startswith(name)), "")
    is_narrow = bool(counts.of("conversions") or counts.of("f16"))
    if not family or counts.of("matrix") or share < PRODUCTS:
        return
    if "f32" not in _MATRIX_TYPES[family] and not is_narrow:
        return
    moved = counts.of("compulsory bytes")
    if not moved or 2 * counts.of("products of loads") * counts.wave_size / moved < REUSE:
        return
    busy = max(loads.of("vector"), loads.of("lds"))
    yield Defect(
        id="matrix-units-unused",
        share=busy,
        saves=loads.saved(dict.fromkeys(("vector", "lds", "scalar", "l1"), 0.05)),
        unit="vector",
        title="it multiplies loaded numbers by loaded numbers without the matrix units",
        evidence=(
            f"{format_share(share)} of its vector instructions multiply two values that were loaded",
            *(("its data is converted to f32 first",) if counts.of("conversions") else ()),
            *counts.most_at("products of loads"),
        ),
    )


_RULES: tuple[Rule, ...] = (
    _bank_conflicts, _uncoalesced, _narrow, _accidental_f64, _special, _integers, _barriers, _idle_lanes, _atomics,
    _scratch, _dependent, _no_matrix_units,
)  # fmt: skip
