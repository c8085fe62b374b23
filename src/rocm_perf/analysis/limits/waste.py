"""Rules that find waste inside a unit that is full, or that everybody waits for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from rocm_perf.analysis.basis.names import short_name
from rocm_perf.analysis.limits.judging import (
    ARITHMETIC,
    FULL,
    MOVING,
    NEVER,
    Found,
    certainty_of,
    f64_is_as_fast,
    fullest_of,
    is_busy,
    is_short,
    local_memory,
    most_but,
    saved_by,
    says_busiest,
    says_busy,
    says_share,
    says_waits,
    wave_size,
    wave_word,
)
from rocm_perf.analysis.limits.table import Table
from rocm_perf.analysis.time.kernel_family import family
from rocm_perf.model.results.limits import Certainty
from rocm_perf.units import format_bytes, format_share

_ATOMIC_CYCLES = 1_000  # of an atomic on an MI300X: 1,937 where all meet, 382 where none do
_CONVERSIONS = "conversions between types"
_SPECIAL = "special functions (exp, sin, sqrt, reciprocal)"
_PRODUCT = re.compile(
    r"gemm|matmul|mat_?mul|(?<![a-z])mm(?![a-z])|product|(?<![a-z])dot(?![a-z])|conv|attention", re.I
)


def _host_memory(table: Table) -> Found | None:
    host = table.share("host_accesses")
    if host < 0.1 or table.most >= FULL:
        return None
    return Found(
        "host-memory",
        1 - table.most,
        saved_by(table, {}),
        "proven",
        f"{format_share(host)} of what it asks L2 for lies in the host's memory",
        (
            "every such access crosses the link to the host, which is tens of times slower than device memory",
            *says_busiest(table),
        ),
    )


def _contended_atomics(table: Table) -> Found | None:
    hottest, mean = table.share("hottest_atomics"), table.busy("atomics")
    if hottest < 0.25 or hottest < 8 * mean:
        return None
    share = max(hottest, 1 - most_but(table, ("atomics", "l2")) if table.most < FULL else hottest)
    return Found(
        "contended-atomics",
        share,
        saved_by(table, {"atomics": 0.0, "l2": 0.0, "memory": 0.0}),
        certainty_of(hottest),
        f"one part of L2 is busy with atomics {format_share(hottest)} of the time, all together {format_share(mean)}: "
        "its atomics meet at few addresses",
        (*says_waits(table, "wait_drain", "wait_memory", "wait_local"), *says_busiest(table)),
        ("atomics", "l2"),
    )


def _many_atomics(table: Table) -> Found | None:
    atomics, cycles = table.share("atomic_accesses"), table.share("atomic_latency")
    waits = (
        table.share("wait_drain") + table.share("wait_memory") + table.share("wait_local")
        if table.nvidia
        else table.share("wait_share")
    )
    if atomics < 0.3 or waits < 0.5 or is_short(table) or _contended_atomics(table) is not None:
        return None
    contended = cycles >= _ATOMIC_CYCLES
    how = (
        (f"an atomic takes {cycles:,.0f} cycles, several times as long as one that meets no other",)
        if contended
        else ()
    )
    return Found(
        "contended-atomics" if contended else "many-atomics",
        min(1.0, waits),
        saved_by(table, {"atomics": 0.0, "l2": 0.0, "memory": 0.0, "l1": 0.0, "lds": 0.0}),
        "likely",
        f"{format_share(atomics)} of its {'global accesses' if table.nvidia else 'requests to L2'} are atomics",
        (
            *how,
            *says_waits(table, "wait_drain", "wait_local", "wait_memory", "wait_share"),
            *says_busiest(table),
        ),
        ("atomics", "l2", "memory"),
    )


def _local_atomics(table: Table) -> Found | None:
    atomics = table.share("local_atomics")
    busy = max(table.busy("lds"), table.share("wait_local") + table.share("wait_local_queue"))
    if atomics < 0.01 or busy < FULL or table.share("wait_local") < 0.3:
        return None
    return Found(
        "contended-local-atomics",
        busy,
        None,
        "likely",
        f"{format_share(atomics)} of its instructions are atomics in {local_memory(table)}, and {wave_word(table)}s "
        f"wait {format_share(table.share('wait_local'))} of their time for it",
        (*says_busy(table, "lds"), *says_busiest(table)),
        ("lds", "loads", "issue", "l1"),
    )


def _private_memory(table: Table) -> Found | None:
    local = table.share("local_accesses")
    busy = max(map(table.busy, MOVING))
    waits = table.share("wait_memory") + table.share("wait_memory_queue")
    if local < 0.2 or max(busy, waits) < 0.5:
        return None
    spills = table.value("spill_instructions")
    cause = "scratch" if spills is None else "spills" if spills >= 0.5 else "private-array"
    which = {
        "spills": "spilled registers",
        "private-array": "arrays that each lane keeps for itself and indexes at run time",
        "scratch": "the private memory of a lane: spilled registers, or arrays that are indexed at run time",
    }[cause]
    relieved = dict.fromkeys(MOVING, (1 - local) / 2) | dict.fromkeys(ARITHMETIC, 1 - 0.6 * local)
    return Found(
        cause,
        local * max(busy, min(1.0, waits)),
        saved_by(table, relieved),
        "proven" if local >= 0.5 else "likely",
        f"{format_share(local)} of its memory instructions go to {which}",
        (*says_waits(table, "wait_memory", "wait_memory_queue"), *says_busiest(table)),
        MOVING,
    )


def _scratch(table: Table) -> Found | None:
    """Find private memory in use on AMD, where nothing counts it: all that is read from it was written before, and
    writes pass L1."""
    scratch, sent = table.share("scratch_bytes"), table.value("l2_writes_per_wave")
    waits = table.share("wait_share")
    if scratch < 64 or sent is None or max(table.most, waits) < 0.5:
        return None
    written = sent / wave_size(table)
    if written < 0.5 * scratch:
        return None
    return Found(
        "scratch",
        max(waits, table.most),
        max(0.0, 1 - most_but(table, MOVING)),
        "likely",
        f"each work-item has {format_bytes(scratch)} of private memory (scratch), and writes {format_bytes(written)}",
        (
            "no counter tells private from global memory here: its code does (rocm-perf kernels FILE)",
            *_lanes(table),
            *_kept_out(table),
            *says_waits(table, "wait_share"),
            *says_busiest(table),
        ),
        MOVING,
    )


def _lanes(table: Table) -> Iterator[str]:
    lanes, wave = table.value("active_lanes"), wave_size(table)
    if lanes is not None and lanes < 0.7:
        yield f"{lanes * wave:.0f} of {wave} lanes work in a vector instruction"


def _kept_out(table: Table) -> Iterator[str]:
    for name, what in (("registers_keep_out", "registers"), ("lds_keeps_out", "LDS")):
        if (share := table.share(name)) >= 0.1:
            yield f"{what} keep {wave_word(table)}s out {format_share(min(1.0, share))} of the time"


def _bank_conflicts(table: Table) -> Found | None:
    conflicts = table.share("conflict_share")
    of_unit = table.share("lds_of_l1", 1.0)
    unit = "lds" if "lds" in table.units else "l1"
    lost = table.busy(unit) * of_unit * conflicts
    if conflicts < 0.2 or lost < 0.1:
        return None
    ways = f", {1 / (1 - conflicts):.0f} cycles for what one would do" if conflicts < 0.99 else ""
    return Found(
        "bank-conflicts",
        lost,
        min(lost, saved_by(table, {unit: 1 - of_unit * conflicts})),
        "proven" if table.busy("lds") >= FULL else "likely",
        f"{format_share(conflicts)} of the cycles of {local_memory(table)} are bank conflicts{ways}",
        (says_share(table, unit), *says_waits(table, "wait_local_queue", "wait_local", "lds_wait_share")),
        ("lds", unit) if lost >= 0.3 else (),
    )


def _used(table: Table) -> float | None:
    """Return the share of the bytes that global accesses touch which lanes asked for."""
    loads, stores = table.value("used_load_bytes"), table.value("used_store_bytes")
    if loads is None and stores is None:
        excess, reads = table.value("excess_sectors"), table.value("l2_reads_per_load")
        if excess is not None:
            return 1 - excess
        return None if reads is None or reads <= 8 else 8 / reads
    of_loads = table.share("load_share", 1.0 if not stores else 0.0 if not loads else 0.5)
    return (loads or 0.0) * of_loads + (stores or 0.0) * (1 - of_loads)


def _uncoalesced(table: Table) -> Found | None:
    used = _used(table)
    unit = fullest_of(table, ("memory", "l2", "lds", "l1"))
    busy = table.busy(unit)
    if used is None or used > 0.5 or busy < NEVER or table.load(unit) < 0.9 * table.most:
        return None
    if unit == "lds" and table.share("lds_of_l1") > 0.5:
        return None  # the same unit, busy with shared memory
    relieved = {
        "lds": used,
        "l1": used,
        "l2": used if table.nvidia else 1.0,
        "memory": table.share("used_memory_bytes", used),
        "loads": 1.0,
    }
    reads = table.value("l2_reads_per_load")
    how = (
        f"{reads:.0f} lines for each load instruction, 8 would do"
        if reads is not None and not table.nvidia
        else _which_access(table)
    )
    return Found(
        "uncoalesced",
        busy * (1 - used),
        saved_by(table, relieved),
        "proven" if busy >= FULL else "likely",
        f"its lanes use {format_share(used)} of the bytes that they fetch and touch: {is_busy(table, unit)}",
        (how, *says_waits(table, "wait_memory", "wait_memory_queue", "wait_drain"), *says_busiest(table)),
        MOVING,
    )


def _which_access(table: Table) -> str:
    loads, stores = table.value("used_load_bytes"), table.value("used_store_bytes")
    if loads is None and stores is None:
        return f"{format_share(table.share('excess_sectors'))} of the sectors of global memory would not be needed"
    parts = [
        f"{what} use {share * 32:.0f} of the 32 bytes of a sector"
        for what, share in (("loads", loads), ("stores", stores))
        if share
    ]
    return " and ".join(parts)


def _accidental_f64(table: Table) -> Found | None:
    """Find f64 arithmetic in a program whose data is narrower."""
    f64, converts = table.value("f64_instructions"), table.share("conversion_instructions")
    if f64 is None and not table.nvidia:
        return None
    unit = fullest_of(table, ("f64", "special", "vector"))
    busy = table.busy(unit)
    if busy < FULL:
        return None
    if f64 is None:  # NVIDIA without counts by type: the pipes tell
        if table.busy("f64") < 0.05 or table.busy("special") < 0.3:
            return None
        certainty: Certainty = "likely"
        evidence = [
            "the pipe of special functions and conversions is busy beside that of f64: values are converted there and "
            "back"
        ]
    else:
        narrow_data = table.value("wide_accesses") == 0.0
        if f64 < 0.02 or not (narrow_data or converts >= (0.2 if table.nvidia else 0.5) * f64):
            return None
        certainty = "proven" if narrow_data else "likely"
        evidence = [
            f"{format_share(f64)} of its instructions compute in f64, {format_share(converts)} convert between types"
        ]
        if narrow_data:
            evidence.append("no lane reads or writes 8 bytes at once: its data is not f64")
    left = max(0.05, 1 - (0.0 if f64_is_as_fast(table) else f64 or 0.0) - converts)
    return Found(
        "accidental-f64",
        busy,
        saved_by(table, {"f64": 0.0, "special": 0.0, "issue": left, "vector": left, "f32": left}),
        certainty,
        f"it computes in f64 though its data is narrower: {is_busy(table, unit)}",
        (*evidence, *says_waits(table, "wait_local_queue", "wait_pipe")),
        ("f64", "special", "issue", "vector", "f32"),
    )


def _few_lanes(table: Table) -> Found | None:
    """Find instructions that most lanes sit out: the waves diverge, or the workgroup does not fill them."""
    lanes = table.value("active_lanes")
    unit = fullest_of(table, ARITHMETIC)
    if lanes is None or lanes > 0.6 or table.busy(unit) < FULL:
        return None
    relieved = dict.fromkeys((*ARITHMETIC, "loads", "address", "branch", "scalar"), lanes)
    items, wave = table.value("workgroup_items"), wave_size(table)
    of_size = items / (wave * -(-items // wave)) if items else 1.0
    by_size = of_size < 0.8 and abs(of_size - lanes) < 0.1
    busy = table.busy(unit)
    title = (
        f"workgroups of {items:.0f} leave {format_share(1 - of_size)} of the lanes of their {wave_word(table)}s empty"
        if by_size
        else f"{lanes * wave:.1f} of {wave} lanes work in an instruction: the lanes of a {wave_word(table)} take "
        "different ways"
    )
    return Found(
        "workgroup-size" if by_size else "divergence",
        busy * (1 - lanes),
        saved_by(table, relieved, 0.0 if not by_size else of_size * 0.95),
        certainty_of(busy),
        title,
        (says_share(table, unit),),
        ARITHMETIC,
    )


def _integers(table: Table) -> Found | None:
    integers = table.value("integer_instructions")
    unit = fullest_of(table, ("issue", "vector", "integer", "special"))
    busy = table.busy(unit)
    if busy < FULL or table.share("f64_instructions") >= 0.02:
        return None
    if integers is None:
        if not (table.nvidia and table.busy("integer") >= 0.4 and table.busy("special") >= 0.3):
            return None
        divides, certainty = True, "hint"
    else:
        if integers < 0.45 or integers < 2 * table.share("f32_instructions") + 2 * table.share(
            "f16_instructions"
        ):
            return None
        divides = max(table.busy("special"), table.share("special_instructions")) >= 0.02
        certainty = certainty_of(busy)
    share = (
        f"{format_share(integers)} of its instructions are"
        if integers is not None
        else "most of its instructions seem to be"
    )
    what = (
        "integer arithmetic with conversions and reciprocals, as divisions are made of"
        if divides
        else "integer arithmetic"
    )
    return Found(
        "integer-division" if divides else "integer-arithmetic",
        busy,
        saved_by(table, dict.fromkeys(ARITHMETIC, 1 - (integers or 0.5))),
        certainty,  # type: ignore[arg-type]
        f"{share} {what}: {is_busy(table, unit)}",
        says_busiest(table),
        ARITHMETIC,
    )


def _special(table: Table) -> Found | None:
    """Find special functions, or conversions, that fill their pipe."""
    if not table.nvidia:
        return _special_of_vector(table)
    busy, conversions = table.busy("special"), table.value("conversions_of_special")
    if busy < FULL or table.busy("f64") >= 0.05:
        return None
    converts = (conversions or 0.0) >= 0.5
    fewer = (
        1 - table.share("conversion_instructions") if converts else 0.5
    )  # other ways to compute a function are shorter
    left = {"special": 0.1, "issue": fewer}
    name = f"{_CONVERSIONS if converts else _SPECIAL}{' or conversions' if conversions is None else ''}"
    return Found(
        "conversions" if converts else "special-functions",
        busy,
        saved_by(table, left),
        certainty_of(busy),
        f"{name} fill {table.title('special')}: {format_share(busy)} of the time",
        (*says_waits(table, "wait_local_queue", "wait_local"), *says_busiest(table)),
        ("special",),
    )


def _special_of_vector(table: Table) -> Found | None:
    """Find them on AMD, where the vector units compute them: a special function takes four times as long as others."""
    busy = table.busy("vector")
    special, converted = table.share("special_instructions"), table.share("conversion_instructions")
    most = max(special, converted)
    if busy < FULL or most < 0.3 or table.share("f64_instructions") >= 0.02:
        return None
    converts = converted > special
    return Found(
        "conversions" if converts else "special-functions",
        busy * most,
        saved_by(table, {"vector": 1 - most}),
        certainty_of(busy),
        f"{_CONVERSIONS if converts else _SPECIAL} take {format_share(most)} of the time of the vector units",
        says_busiest(table),
        ("vector", "issue"),
    )


def _constants(table: Table) -> Found | None:
    busy = min(table.busy("address"), table.busy("constants"))
    if busy < FULL or table.busy("lds") >= FULL:
        return None
    return Found(
        "constant-cache",
        busy,
        saved_by(table, {"address": 0.0, "constants": 0.0}),
        certainty_of(busy),
        f"its lanes read different constants, one after another: {is_busy(table, 'constants')}",
        says_waits(table, "wait_local_queue"),
        ("address", "constants"),
    )


def _barriers(table: Table) -> Found | None:
    waits = table.share("wait_barrier")
    if waits < (0.3 if table.nvidia else 0.2) or table.busy("memory") >= FULL:
        return None
    untouched = ("f32", "integer", "f64", "matrix", "memory", "l2", "vector", "special")
    left = max(map(table.busy, untouched))
    return Found(
        "barriers",
        max(waits, table.busy("address")),
        1 - left,
        "proven" if waits >= 0.4 else "likely",
        f"its {wave_word(table)}s wait {format_share(waits)} of their time at barriers",
        says_busiest(table),
        ("address", "lds", "l1", "loads", "issue"),
    )


def _products_without_matrix_units(table: Table) -> Found | None:
    """Find a product that is computed by the vector units."""
    multiplies = table.share("f32_instructions") + table.share("f16_instructions")
    unit = fullest_of(table, ("f32", "vector", "issue", "lds", "loads"))
    named = bool(_PRODUCT.search(short_name(table.kernel))) or family(table.kernel).name in (
        "gemm",
        "attention",
        "convolution",
    )
    if "matrix" not in table.units or table.busy("matrix") >= 0.02 or table.busy(unit) < 0.5:
        return None
    fed = (
        max(table.busy("lds"), table.busy("loads")) >= 0.4
    )  # each multiply-add reads its numbers from a tile
    if (multiplies < 0.3 and (multiplies or not named)) or not (named or fed):
        return None
    converts = table.share("conversion_instructions") >= 0.05
    return Found(
        "matrix-units-unused",
        table.busy(unit),
        1 - max(table.busy("memory"), table.busy("l2"), 0.05),
        "likely" if named else "hint",
        f"it multiplies without {table.title('matrix')}: {is_busy(table, unit)}",
        (
            *(
                (f"{format_share(multiplies)} of its instructions are multiply-adds of single numbers",)
                if multiplies
                else ()
            ),
            *(("its data is converted first",) if converts else ()),
            *says_busiest(table),
        ),
        (*ARITHMETIC, "lds", "loads", "l1") if named else (),
    )


WASTE: tuple[Callable[[Table], Found | None], ...] = (
    _host_memory,
    _contended_atomics,
    _many_atomics,
    _local_atomics,
    _private_memory,
    _scratch,
    _bank_conflicts,
    _uncoalesced,
    _accidental_f64,
    _few_lanes,
    _integers,
    _special,
    _constants,
    _barriers,
    _products_without_matrix_units,
)
