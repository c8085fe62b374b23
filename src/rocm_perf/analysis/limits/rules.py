"""The causes that follow from a table of units: waste inside a full unit, a unit full of useful work, a GPU that is not
filled, waves that wait.

A unit is the limit from 80 % of the time, and likely from 60 %. Waste inside a full unit explains it before useful work
does. Where no unit is full, waits and the number of waves explain the time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

import msgspec
from msgspec.structs import replace

from rocm_perf.analysis.basis.names import short_name
from rocm_perf.analysis.limits.table import Table, unit_names
from rocm_perf.analysis.time.kernel_family import family
from rocm_perf.model.results.limits import Certainty
from rocm_perf.units import format_bytes, format_ns, format_share

FULL, SURE = 0.6, 0.8  # of the time: from here on a unit is likely the limit, and is the limit
_FULL = 0.9  # of the most that a unit was seen to reach: nothing is left to gain from it
NEVER = 0.35  # of the time: a unit that is busy less is no limit
_ACHIEVABLE = 0.93  # of the bandwidth of device memory: the most that was seen on an H200, MI100 and MI210
_START_NS = 3_000  # what starting and ending a dispatch takes
_SHORT_NS, _BRIEF_NS = (
    10_000,
    50_000,
)  # a dispatch is short; is short where the GPU was active for longer than it
_BEYOND = 1.15  # cycles for each cycle of a dispatch: from here on starting and ending it counts
_SETTLED_NS = 20_000  # from here on compute units that idle at the end of a dispatch are a finding
_ATOMIC_CYCLES = 1_000  # of an atomic on an MI300X: 1,937 where all meet, 382 where none do
_ARITHMETIC = ("issue", "vector", "f32", "integer", "f64", "special")
_MOVING = ("memory", "l2", "lds", "l1", "loads")
WEIGHTS: Mapping[Certainty, float] = {"proven": 1.0, "likely": 0.85, "hint": 0.5}
_PRODUCT = re.compile(
    r"gemm|matmul|mat_?mul|(?<![a-z])mm(?![a-z])|product|(?<![a-z])dot(?![a-z])|conv|attention", re.I
)


class Found(msgspec.Struct, frozen=True):
    """A cause that a rule found, before it has words for its remedy. `explains`: the units whose load it accounts for."""

    id: str
    share: float
    saves: float | None
    certainty: Certainty
    title: str
    evidence: tuple[str, ...]
    explains: tuple[str, ...] = ()

    @property
    def weight(self) -> float:
        """Return by what causes are ordered: the time that they explain, and how certain that is."""
        return self.share * WEIGHTS[self.certainty]


def causes(table: Table) -> list[Found]:
    """Return the causes of one kernel, the one that explains most of its time first."""
    wasted = [found for rule in _WASTE if (found := rule(table)) is not None]
    explained = {unit for found in wasted for unit in found.explains}
    useful = [*_roofs(table, explained)]
    sparse = [found for rule in _PARALLELISM if (found := rule(table)) is not None]
    waiting = [] if table.most >= FULL else [*_waits(table, explained)]
    found = [*wasted, *useful, *sparse, *waiting]
    if (short := _short(table)) is not None:
        found = [short, *(replace(_of_rest(one, 1 - short.share), certainty="hint") for one in found)]
    if (first := _first_touch(table)) is not None:
        found = [first, *(_of_rest(one, 1 - first.share) for one in found)]
    return _ordered(found)


def _of_rest(found: Found, rest: float) -> Found:
    """Return a cause that holds for a part of the kernel's time only."""
    return replace(found, share=found.share * rest, saves=None if found.saves is None else found.saves * rest)


def _ordered(found: list[Found]) -> list[Found]:
    """Return causes in their order, each once."""
    by_id: dict[str, Found] = {}
    for one in sorted(found, key=lambda one: -one.weight):
        by_id.setdefault(one.id, one)
    return list(by_id.values())


def _certain(busy: float) -> Certainty:
    return "proven" if busy >= SURE else "likely"


def _fullest(table: Table, among: tuple[str, ...]) -> str:
    return max(among, key=table.busy)


def _saved(table: Table, relieved: Mapping[str, float], beyond: float = 0.0) -> float:
    """Return the share of the time that is saved at most when units have only these shares of their work: another unit
    is the limit then. `beyond`: a share that stays whatever happens."""
    left = max((table.busy(unit) * relieved.get(unit, 1.0) for unit in table.units), default=0.0)
    return max(0.0, 1 - max(left, beyond))


def _says(table: Table, unit: str) -> str:
    use = table.units[unit]
    return f"{use.title}: busy {format_share(table.busy(unit))} of the time"


def _is(title: str) -> str:
    return "are" if title.partition(" (")[0].endswith("s") else "is"


def _is_busy(table: Table, unit: str) -> str:
    title = table.title(unit)
    return f"{title} {_is(title)} busy {format_share(table.busy(unit))} of the time"


def _wave(table: Table) -> str:
    return "warp" if table.nvidia else "wave"


def _wave_size(table: Table) -> int:
    return 32 if table.nvidia or not table.gfx.startswith("gfx9") else 64


# A dispatch that does something else than the others, or ends before the units of the GPU count.


def _first_touch(table: Table) -> Found | None:
    """Find a first dispatch that took many times as long as the others."""
    times, share = table.value("first_dispatch"), table.value("first_share")
    if times is None or share is None or share < 0.1:
        return None
    misses = table.value("first_translation_misses")
    evidence = [
        f"that one dispatch is {format_share(share)} of the kernel's time; the other causes are those of the others"
    ]
    if misses is not None and misses >= 2:
        evidence.append(
            f"it misses {misses:.0f} times as many address translations: memory is touched for the first time"
        )
    return Found(
        "first-call-slow",
        share,
        share,
        "proven" if misses is not None and misses >= 2 else "likely",
        f"its first dispatch takes {times:,.0f} times as long as the others",
        tuple(evidence),
    )


def _is_short(table: Table) -> bool:
    """Return whether starting and ending a dispatch is much of its time."""
    if table.nvidia or table.mean_ns is None:
        return False
    return table.mean_ns < (_BRIEF_NS if table.share("active_beyond") > _BEYOND + 0.15 else _SHORT_NS)


def _short(table: Table) -> Found | None:
    """Find dispatches that end before any unit can be full."""
    if not _is_short(table) or table.mean_ns is None:
        return None
    beyond = table.share("active_beyond", 1.0)
    share = max(1 - 1 / beyond if beyond > 1 else 0.0, min(1.0, _START_NS / table.mean_ns))
    evidence = ["shares of so short a time say little: counts of instructions and bytes hold, rates do not"]
    if beyond > _BEYOND:
        evidence.insert(0, f"the GPU was active for {format_share(beyond - 1)} longer than that")
    return Found(
        "short-launch",
        share,
        None,
        "likely",
        f"a dispatch takes {format_ns(table.mean_ns)}: starting and ending it is much of that",
        (*evidence, *_busiest(table)),
    )


def _local(table: Table) -> str:
    return "shared memory" if table.nvidia else "LDS"


# Waste inside a unit that is full, or that everybody waits for.


def _host_memory(table: Table) -> Found | None:
    host = table.share("host_accesses")
    if host < 0.1 or table.most >= FULL:
        return None
    return Found(
        "host-memory",
        1 - table.most,
        _saved(table, {}),
        "proven",
        f"{format_share(host)} of what it asks L2 for lies in the host's memory",
        (
            "every such access crosses the link to the host, which is tens of times slower than device memory",
            *_busiest(table),
        ),
    )


def _contended_atomics(table: Table) -> Found | None:
    hottest, mean = table.share("hottest_atomics"), table.busy("atomics")
    if hottest < 0.25 or hottest < 8 * mean:
        return None
    share = max(hottest, 1 - _most_but(table, ("atomics", "l2")) if table.most < FULL else hottest)
    return Found(
        "contended-atomics",
        share,
        _saved(table, {"atomics": 0.0, "l2": 0.0, "memory": 0.0}),
        _certain(hottest),
        f"one part of L2 is busy with atomics {format_share(hottest)} of the time, all together {format_share(mean)}: "
        "its atomics meet at few addresses",
        (*_waited(table, "wait_drain", "wait_memory", "wait_local"), *_busiest(table)),
        ("atomics", "l2"),
    )


def _many_atomics(table: Table) -> Found | None:
    atomics, cycles = table.share("atomic_accesses"), table.share("atomic_latency")
    waits = (
        table.share("wait_drain") + table.share("wait_memory") + table.share("wait_local")
        if table.nvidia
        else table.share("wait_share")
    )
    if atomics < 0.3 or waits < 0.5 or _is_short(table) or _contended_atomics(table) is not None:
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
        _saved(table, {"atomics": 0.0, "l2": 0.0, "memory": 0.0, "l1": 0.0, "lds": 0.0}),
        "likely",
        f"{format_share(atomics)} of its {'accesses to global memory' if table.nvidia else 'requests to L2'} are atomics",
        (*how, *_waited(table, "wait_drain", "wait_local", "wait_memory", "wait_share"), *_busiest(table)),
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
        f"{format_share(atomics)} of its instructions are atomics in {_local(table)}, and {_wave(table)}s wait "
        f"{format_share(table.share('wait_local'))} of their time for it",
        (*_says_busy(table, "lds"), *_busiest(table)),
        ("lds", "loads", "issue", "l1"),
    )


def _private_memory(table: Table) -> Found | None:
    local = table.share("local_accesses")
    busy = max(map(table.busy, _MOVING))
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
    relieved = dict.fromkeys(_MOVING, (1 - local) / 2) | dict.fromkeys(_ARITHMETIC, 1 - 0.6 * local)
    return Found(
        cause,
        local * max(busy, min(1.0, waits)),
        _saved(table, relieved),
        "proven" if local >= 0.5 else "likely",
        f"{format_share(local)} of its memory instructions go to {which}",
        (*_waited(table, "wait_memory", "wait_memory_queue"), *_busiest(table)),
        _MOVING,
    )


def _scratch(table: Table) -> Found | None:
    """Find private memory in use on AMD, where nothing counts it: all that is read from it was written before, and writes
    pass L1."""
    scratch, sent = table.share("scratch_bytes"), table.value("l2_writes_per_wave")
    waits = table.share("wait_share")
    if scratch < 64 or sent is None or max(table.most, waits) < 0.5:
        return None
    written = sent / _wave_size(table)
    if written < 0.5 * scratch:
        return None
    return Found(
        "scratch",
        max(waits, table.most),
        max(0.0, 1 - _most_but(table, _MOVING)),
        "likely",
        f"each work-item has {format_bytes(scratch)} of private memory (scratch), and writes {format_bytes(written)}",
        (
            "no counter tells private from global memory here: its code does (rocm-perf kernels FILE)",
            *_lanes(table),
            *_kept_out(table),
            *_waited(table, "wait_share"),
            *_busiest(table),
        ),
        _MOVING,
    )


def _lanes(table: Table) -> Iterator[str]:
    lanes, wave = table.value("active_lanes"), _wave_size(table)
    if lanes is not None and lanes < 0.7:
        yield f"{lanes * wave:.0f} of {wave} lanes work in a vector instruction"


def _kept_out(table: Table) -> Iterator[str]:
    for name, what in (("registers_keep_out", "registers"), ("lds_keeps_out", "LDS")):
        if (share := table.share(name)) >= 0.1:
            yield f"{what} keep {_wave(table)}s out {format_share(min(1.0, share))} of the time"


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
        min(lost, _saved(table, {unit: 1 - of_unit * conflicts})),
        "proven" if table.busy("lds") >= FULL else "likely",
        f"{format_share(conflicts)} of the cycles of {_local(table)} are bank conflicts{ways}",
        (_says(table, unit), *_waited(table, "wait_local_queue", "wait_local", "lds_wait_share")),
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
    unit = _fullest(table, ("memory", "l2", "lds", "l1"))
    busy = table.busy(unit)
    if used is None or used > 0.5 or busy < NEVER or table.load(unit) < 0.9 * table.most:
        return None
    if unit == "lds" and table.share("lds_of_l1") > 0.5:
        return None  # the same unit, busy with shared memory
    relieved = {
        "lds": used,
        "l1": used,
        "l2": used if table.nvidia else 1.0,
        "memory": max(used, table.share("used_memory_bytes", used)),
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
        _saved(table, relieved),
        "proven" if busy >= FULL else "likely",
        f"its lanes use {format_share(used)} of the bytes that they fetch and touch: {_is_busy(table, unit)}",
        (how, *_waited(table, "wait_memory", "wait_memory_queue", "wait_drain"), *_busiest(table)),
        _MOVING,
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
    unit = _fullest(table, ("f64", "special", "vector"))
    busy = table.busy(unit)
    if busy < FULL:
        return None
    if f64 is None:  # NVIDIA without counts by type: the pipes tell
        if table.busy("f64") < 0.05 or table.busy("special") < 0.3:
            return None
        certainty: Certainty = "likely"
        evidence = [
            "the pipe of special functions and conversions is busy beside that of f64: values are converted there and back"
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
    left = max(0.05, 1 - (0.0 if _f64_is_as_fast(table) else f64 or 0.0) - converts)
    return Found(
        "accidental-f64",
        busy,
        _saved(table, {"f64": 0.0, "special": 0.0, "issue": left, "vector": left, "f32": left}),
        certainty,
        f"it computes in f64 though its data is narrower: {_is_busy(table, unit)}",
        (*evidence, *_waited(table, "wait_local_queue", "wait_pipe")),
        ("f64", "special", "issue", "vector", "f32"),
    )


def _f64_is_as_fast(table: Table) -> bool:
    """Return whether vectors of f64 run at the rate of f32 that is not packed."""
    return table.gfx == "gfx90a"


def _few_lanes(table: Table) -> Found | None:
    """Find instructions that most lanes sit out: the waves diverge, or the workgroup does not fill them."""
    lanes = table.value("active_lanes")
    unit = _fullest(table, _ARITHMETIC)
    if lanes is None or lanes > 0.6 or table.busy(unit) < FULL:
        return None
    relieved = dict.fromkeys((*_ARITHMETIC, "loads", "address", "branch", "scalar"), lanes)
    items, wave = table.value("workgroup_items"), _wave_size(table)
    of_size = items / (wave * -(-items // wave)) if items else 1.0
    by_size = of_size < 0.8 and abs(of_size - lanes) < 0.1
    busy = table.busy(unit)
    title = (
        f"workgroups of {items:.0f} leave {format_share(1 - of_size)} of the lanes of their {_wave(table)}s empty"
        if by_size
        else f"{lanes * wave:.1f} of {wave} lanes work in an instruction: the lanes of a {_wave(table)} take different ways"
    )
    return Found(
        "workgroup-size" if by_size else "divergence",
        busy * (1 - lanes),
        _saved(table, relieved, 0.0 if not by_size else of_size * 0.95),
        _certain(busy),
        title,
        (_says(table, unit),),
        _ARITHMETIC,
    )


def _integers(table: Table) -> Found | None:
    integers = table.value("integer_instructions")
    unit = _fullest(table, ("issue", "vector", "integer", "special"))
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
        certainty = _certain(busy)
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
        _saved(table, dict.fromkeys(_ARITHMETIC, 1 - (integers or 0.5))),
        certainty,  # type: ignore[arg-type]
        f"{share} {what}: {_is_busy(table, unit)}",
        _busiest(table),
        _ARITHMETIC,
    )


def _special(table: Table) -> Found | None:
    """Find special functions, or conversions, that fill their pipe."""
    if table.nvidia:
        busy, conversions = table.busy("special"), table.share("conversions_of_special")
        if busy < FULL or table.busy("f64") >= 0.05:
            return None
        converts = conversions >= 0.5
        told = table.value("conversions_of_special") is not None
        left = {"special": 0.1, "issue": 1 - (table.share("conversion_instructions") if converts else 0.0)}
        unit = "special"
    else:
        unit, busy = "vector", table.busy("vector")
        taken, converted = table.share("special_instructions"), table.share("conversion_instructions")
        if busy < FULL or max(taken, converted) < 0.3 or table.share("f64_instructions") >= 0.02:
            return None
        converts, told = converted > taken, True
        left = {"vector": 1 - max(taken, converted), "issue": 1.0}
    name = "conversions between types" if converts else "special functions (exp, sin, sqrt, reciprocal)"
    if not told:
        name += " or conversions"
    return Found(
        "conversions" if converts else "special-functions",
        busy
        if table.nvidia
        else busy * max(table.share("special_instructions"), table.share("conversion_instructions")),
        _saved(table, left),
        _certain(busy),
        f"{name} fill {table.title(unit)}: {format_share(busy)} of the time"
        if table.nvidia
        else f"{name} take {format_share(max(table.share('special_instructions'), table.share('conversion_instructions')))} of the time of the vector units",
        (*_waited(table, "wait_local_queue", "wait_local"), *_busiest(table)),
        ("special",) if table.nvidia else ("vector", "issue"),
    )


def _constants(table: Table) -> Found | None:
    busy = min(table.busy("address"), table.busy("constants"))
    if busy < FULL or table.busy("lds") >= FULL:
        return None
    return Found(
        "constant-cache",
        busy,
        _saved(table, {"address": 0.0, "constants": 0.0}),
        _certain(busy),
        f"its lanes read different constants, one after another: {table.title('constants')} is busy {format_share(busy)} of the time",
        _waited(table, "wait_local_queue"),
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
        f"its {_wave(table)}s wait {format_share(waits)} of their time at barriers",
        _busiest(table),
        ("address", "lds", "loads", "issue"),
    )


def _products_without_matrix_units(table: Table) -> Found | None:
    """Find a product that is computed by the vector units."""
    multiplies = table.share("f32_instructions") + table.share("f16_instructions")
    unit = _fullest(table, ("f32", "vector", "issue", "lds", "loads"))
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
        f"it multiplies without {table.title('matrix')}: {table.title(unit)} is busy {format_share(table.busy(unit))} of the time",
        (
            *(
                (f"{format_share(multiplies)} of its instructions are multiply-adds of single numbers",)
                if multiplies
                else ()
            ),
            *(("its data is converted first",) if converts else ()),
            *_busiest(table),
        ),
        (*_ARITHMETIC, "lds", "loads", "l1") if named else (),
    )


_WASTE: tuple[Callable[[Table], Found | None], ...] = (
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


# Units full of useful work.


def _roofs(table: Table, explained: set[str]) -> Iterator[Found]:
    """Yield the units that are full of useful work: nothing is wasted in them."""
    for unit in table.units:
        busy, load = table.busy(unit), table.load(unit)
        if unit in explained or load < (SURE if _is_short(table) else FULL):
            continue
        if _feeds_memory(table, unit):
            if table.load("memory") < FULL:
                yield _fullest_unit(table, "memory")
            continue
        if unit in _SHADOWS and _has_pipe(table, busy):
            continue
        cause = _roof_of(table, unit)
        yield Found(
            cause,
            busy,
            _to_roof(table, unit, busy),
            "hint" if unit != "memory" and _is_of_parts(table, unit) else _certain(load),
            _fills(table, unit),
            (*_use(table, unit), *_reaches(table, unit), *_doubt(table, unit), *_busiest(table)),
            (unit,),
        )


def _fills(table: Table, unit: str) -> str:
    title, busy = table.units[unit].title, format_share(table.busy(unit))
    degree = "full" if _is_full(table, unit) else "busy"
    if unit == "memory":
        return f"{title} is {degree}: it moves {busy} of its peak rate"
    return f"{title} {_is(title)} {degree}: {busy} of the time"


def _reaches(table: Table, unit: str) -> Iterator[str]:
    most = unit_names()[unit].most_on(table.gfx)
    if most < 1:
        yield f"the most that {table.units[unit].title} was seen to reach is {format_share(most)}"


def _doubt(table: Table, unit: str) -> Iterator[str]:
    doubt = table.units[unit].busy.doubt
    if unit == "memory" and doubt and not table.nvidia:
        yield f"its rate is uncertain: {doubt}"


def _feeds_memory(table: Table, unit: str) -> bool:
    """Return whether a cache is about as full as the memory behind it. AMD's caches have computed peaks, that of the memory
    is measured; NVIDIA's throughput of L2 is that of its fullest part, the way to the memory among them."""
    if unit not in ("l1", "l2") or (table.nvidia and not (unit == "l2" and _is_of_parts(table, unit))):
        return False
    return table.load("memory") >= (0.65 if table.nvidia else 0.8) * table.load(unit)


def _is_of_parts(table: Table, unit: str) -> bool:
    """Return whether the share of a unit is that of the fullest of its parts, which is not named."""
    return unit in table.units and "__throughput" in table.units[unit].busy.formula


_SHADOWS = ("issue", "loads", "address")  # full because another unit is


def _has_pipe(table: Table, busy: float) -> bool:
    """Return whether a pipe is about as full as a unit that only feeds it."""
    return max(map(table.busy, ("vector", "f32", "integer", "f64", "special", "matrix", "lds"))) >= busy - 0.2


def _roof_of(table: Table, unit: str) -> str:
    if unit == "f32":
        return (
            "f16-arithmetic"
            if table.share("f16_instructions") > table.share("f32_instructions")
            else "f32-arithmetic"
        )
    if unit == "lds":
        return "lds-bandwidth" if table.share("lds_of_l1", 1.0) >= 0.5 else "l1-bandwidth"
    return {
        "issue": "issue",
        "vector": "f64-arithmetic"
        if table.share("f64_instructions") >= 0.3 and not _f64_is_as_fast(table)
        else "vector-arithmetic",
        "integer": "integer-arithmetic",
        "f64": "f64-arithmetic",
        "special": "special-functions",
        "address": "barriers",
        "constants": "constant-cache",
        "matrix": "matrix-units",
        "scalar": "scalar-unit",
        "branch": "branches",
        "loads": "lds-bandwidth",
        "l1": "l1-bandwidth",
        "l2": "l2-bandwidth",
        "memory": "memory-bandwidth",
        "atomics": "many-atomics",
    }[unit]


def _to_roof(table: Table, unit: str, busy: float) -> float:
    """Return what is saved where the unit gives all that it can; more only with less work."""
    if unit in ("lds", "loads", "l1"):  # tiles in registers ask for less of the same
        return _saved(table, {"lds": 0.0, "loads": 0.0, "l1": 0.0})
    return 0.0 if _is_full(table, unit) else max(0.0, 1 - busy / _reachable(table, unit))


def _is_full(table: Table, unit: str) -> bool:
    """Return whether a unit gives about all that it can."""
    return table.load(unit) >= (SURE if unit_names()[unit].most_on(table.gfx) == 1 else _FULL)


def _reachable(table: Table, unit: str) -> float:
    if table.nvidia:
        return _ACHIEVABLE if unit == "memory" else 1.0
    return unit_names()[unit].most_on(table.gfx)


def _use(table: Table, unit: str) -> Iterator[str]:
    useful = table.units[unit].useful
    if useful is not None and useful.value is not None and unit in ("memory", "l2", "lds"):
        yield f"{format_share(min(1.0, float(useful.value)))} of its work is useful"
    if unit == "vector" and (counted := float(table.units[unit].busy.value or 0)) > 1.02:
        yield f"{format_share(counted)} were counted: two vector instructions can start in one cycle"


# A GPU that is not filled.


def _unfilled(table: Table) -> Found | None:
    """Find compute units without work: the grid is too small for the GPU, or its last workgroups run alone."""
    filled, waves = table.value("filled"), table.value("waves_of_grid")
    if filled is None or filled >= 0.8:
        return None
    if not table.nvidia and (table.mean_ns or 0) < _SETTLED_NS:
        return None
    enough = min(1.0, table.share("workgroups_per_unit"))
    if filled < 0.5 * enough:
        return Found(
            "imbalance",
            1 - filled,
            max(0.0, 1 - filled / enough),
            "proven",
            f"compute units have work {format_share(filled)} of the time, though there are workgroups for "
            f"{format_share(enough)} of them: some workgroups take much longer than others",
            _busiest(table),
        )
    small = waves is not None and waves < 1
    occupancy = table.share("achieved_occupancy", 1.0)
    left = filled * max(occupancy, 0.02) if small else filled
    saves = max(
        0.0,
        1 - max(table.most if small else table.most / max(filled, 0.01) * filled, left if small else 0.0),
    )
    waves_say = (
        (f"the grid has {waves:.2g} times the workgroups that fit at once",) if waves is not None else ()
    )
    return Found(
        "grid-too-small" if small else "tail",
        1 - filled,
        saves,
        "proven" if filled < 0.6 else "likely",
        f"compute units have work {format_share(filled)} of the time",
        (*waves_say, *_busiest(table)),
    )


def _resources(table: Table) -> Found | None:
    """Find what keeps waves few where the grid has enough of them."""
    occupancy = table.value("achieved_occupancy")
    if occupancy is None or occupancy > 0.25 or table.most >= FULL or table.share("waves_of_grid", 2.0) < 1:
        return None
    limits = {  # of equal ones the first: what a kernel does not use limits it no more than the slots do
        "workgroup": table.value("fits_by_workgroup"),
        "slots": table.value("fits_by_slots"),
        "registers": table.value("fits_by_registers"),
        "local memory": table.value("fits_by_local_memory"),
    }
    known = {name: value for name, value in limits.items() if value is not None}
    if table.share("registers_keep_out") >= 0.2:
        first = "registers"
    elif table.share("lds_keeps_out") >= 0.2:
        first = "local memory"
    elif known:
        first = min(known, key=lambda name: known[name])
    else:
        return None
    cause, why = {
        "registers": ("occupancy-registers", "registers leave room for no more"),
        "local memory": ("occupancy-local-memory", f"{_local(table)} leaves room for no more"),
        "workgroup": ("few-waves", "they end about as fast as they start"),
        "slots": (
            "small-workgroups",
            f"workgroups are small, and a compute unit holds only {known.get('slots', 0):.0f}",
        ),
    }[first]
    waits = 0.0 if table.nvidia else table.share("wait_share") * (1 - table.most / 2)
    return Found(
        cause,
        max(1 - occupancy - table.most, waits, 0.1),
        max(0.0, 1 - max(table.most, occupancy * 0.9)),
        "proven" if table.share("wait_memory") + table.share("wait_share") >= 0.4 else "likely",
        f"{format_share(occupancy)} of the places for {_wave(table)}s are taken: {why}",
        (*_waited(table, "wait_memory", "wait_share"), *_busiest(table)),
    )


_PARALLELISM: tuple[Callable[[Table], Found | None], ...] = (_unfilled, _resources)


# Waves that wait where no unit is full.


def _waits(table: Table, explained: set[str]) -> Iterator[Found]:
    """Yield what waves wait for, and what makes them wait."""
    memory = table.share("wait_memory") + table.share("wait_memory_queue")
    yield from filter(None, (_narrow(table, memory), _fetch(table), _dependent(table)))
    if not table.nvidia:  # all waits, less those that are counted apart
        memory = table.share("wait_share") - table.share("wait_barrier") - table.share("wait_instruction")
    if memory >= 0.5 and not ("memory" in explained and table.most >= 0.5):
        yield _latency(table, memory)
    local = table.share("wait_local") + table.share("wait_local_queue") + table.share("lds_wait_share")
    if local >= 0.4 and "atomics" not in explained:
        yield Found(
            "local-latency",
            local,
            max(0.0, 1 - table.most),
            "likely",
            f"its {_wave(table)}s wait {format_share(local)} of their time for {_local(table)} or special functions",
            _busiest(table),
        )
    unit = max(table.units, key=table.load, default="")
    if _feeds_memory(table, unit) and table.busy("memory") >= NEVER:
        unit = "memory"
    if unit and unit not in explained and table.busy(unit) >= NEVER and not _is_short(table):
        yield _fullest_unit(table, unit)


def _fullest_unit(table: Table, unit: str) -> Found:
    busy = table.busy(unit)
    waits = not table.nvidia and table.share("wait_share") >= 0.5
    of_what = "at its peak rate" if unit == "memory" else "busy"
    return Found(
        _roof_of(table, unit),
        busy,
        max(0.0, 1 - busy / (_ACHIEVABLE if table.nvidia else _reachable(table, unit))),
        "likely" if table.load(unit) >= 0.5 and not waits else "hint",
        f"the fullest unit is {table.units[unit].title}: {of_what} {format_share(busy)} of the time",
        (*_use(table, unit), *_doubt(table, unit), *_busiest(table)),
    )


def _narrow(table: Table, memory: float) -> Found | None:
    narrow, sectors = table.value("narrow_accesses"), table.value("sectors_per_load")
    if memory < 0.5 or table.busy("memory") >= FULL:
        return None
    if narrow is None and sectors is not None and sectors <= 2 and table.share("used_load_bytes") >= 0.9:
        how = f"a load instruction of a {_wave(table)} asks for {sectors * 32:.0f} bytes, where 128 to 512 would be one as well"
    elif narrow is not None and narrow >= 0.5:
        how = f"{format_share(narrow)} of its memory instructions move one or two bytes a lane"
    else:
        return None
    per_instruction = dict.fromkeys((*_ARITHMETIC, "address", "loads", "l1"), 0.2)
    return Found(
        "narrow-accesses",
        max(memory, 1 - table.most),
        _saved(table, {**per_instruction, "lds": 0.3, "l2": 0.5}),
        "likely" if narrow is None or narrow < 0.8 else "proven",
        how,
        (*_waited(table, "wait_memory"), *_busiest(table)),
    )


def _fetch(table: Table) -> Found | None:
    fetch = table.share("wait_instruction")
    if fetch < 0.15:
        return None
    return Found(
        "instruction-fetch",
        max(fetch, FULL) if fetch >= 0.3 else fetch,
        fetch,
        "likely",
        f"its {_wave(table)}s wait {format_share(fetch)} of their time for instructions to be fetched",
        _busiest(table),
    )


def _dependent(table: Table) -> Found | None:
    result = table.share("wait_result")
    if result < 0.4 or table.share("wait_instruction") >= 0.3:
        return None
    return Found(
        "dependent-arithmetic",
        result,
        max(0.0, 1 - max(table.most, 0.05)),
        "proven" if result >= FULL else "likely",
        f"its {_wave(table)}s wait {format_share(result)} of their time for the result of the instruction before",
        _busiest(table),
    )


def _latency(table: Table, waits: float) -> Found:
    """Say that waves wait for memory; that no unit is full only where the units were counted."""
    knows = {"memory", "issue" if table.nvidia else "vector"} <= table.units.keys()
    what = "for memory" if table.nvidia else "for something, most often memory"
    return Found(
        "memory-latency",
        waits * (1 - table.most / (1 if table.nvidia else 2)),
        max(0.0, 1 - max(table.most, 0.02)) if knows else None,
        "likely" if knows else "hint",
        f"its {_wave(table)}s wait {format_share(waits)} of their time {what}"
        + (", and no unit is full" if knows else ""),
        (*_in_flight(table), *_occupied(table), *_busiest(table)),
    )


def _in_flight(table: Table) -> Iterator[str]:
    cycles, lines = table.value("vmem_latency"), table.value("l1_lookups_per_access")
    if cycles is not None:
        yield f"a vector memory instruction takes {cycles:,.0f} cycles"
    if lines is not None and lines > 4:
        yield f"L1 looks up {lines:.0f} lines for each of them, 4 for dense values of 4 bytes"


def _occupied(table: Table) -> Iterator[str]:
    occupancy = table.value("achieved_occupancy")
    if occupancy is not None:
        yield f"{format_share(occupancy)} of the places for {_wave(table)}s are taken"


# Words.


def _most_but(table: Table, left_out: tuple[str, ...]) -> float:
    return max((table.busy(unit) for unit in table.units if unit not in left_out), default=0.0)


def _busiest(table: Table) -> tuple[str, ...]:
    """Return a sentence on the fullest units."""
    ordered = sorted(table.units, key=lambda unit: -table.busy(unit))[:3]
    listed = [
        f"{table.units[unit].title} {format_share(table.busy(unit))}"
        for unit in ordered
        if table.busy(unit) >= 0.01
    ]
    return (f"fullest units: {', '.join(listed)}",) if listed else ()


def _says_busy(table: Table, unit: str) -> tuple[str, ...]:
    return (_says(table, unit),) if unit in table.units else ()


_WAITS = {
    "wait_memory": "for memory",
    "wait_memory_queue": "for room in the queue to memory",
    "wait_local": "for local memory, special functions or conversions",
    "wait_local_queue": "for room in the queue to local memory and special functions",
    "wait_drain": "for stores and atomics when they end",
    "wait_pipe": "for a pipe of arithmetic",
    "wait_share": "for anything",
    "lds_wait_share": "for LDS",
}


def _waited(table: Table, *names: str) -> tuple[str, ...]:
    """Return a sentence on what waves wait for, of these."""
    known = [(table.share(name), _WAITS[name]) for name in names if table.share(name) >= 0.1]
    if not known:
        return ()
    listed = ", ".join(f"{format_share(share)} {what}" for share, what in sorted(known, reverse=True))
    return (f"{_wave(table)}s wait {listed}",)
