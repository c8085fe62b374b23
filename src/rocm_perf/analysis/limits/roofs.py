"""Rules for units that are full of useful work: nothing is wasted in them."""

from __future__ import annotations

from collections.abc import Iterator

from rocm_perf.analysis.limits.judging import (
    FULL,
    SURE,
    Found,
    certainty_of,
    f64_is_as_fast,
    is_or_are,
    is_short,
    saved_by,
    says_busiest,
)
from rocm_perf.analysis.limits.table import Table, unit_names
from rocm_perf.units import format_share

_FULL = 0.9  # of the most that a unit was seen to reach: nothing is left to gain from it
_ACHIEVABLE = 0.93  # of the bandwidth of device memory: the most that was seen on an H200, MI100 and MI210


def full_units(table: Table, explained: set[str]) -> Iterator[Found]:
    """Yield the units that are full of useful work: nothing is wasted in them."""
    for unit in table.units:
        busy, load = table.busy(unit), table.load(unit)
        if unit in explained or load < (SURE if is_short(table) else FULL):
            continue
        if feeds_memory(table, unit):
            if table.load("memory") < FULL:
                yield fullest_unit(table, "memory")
            continue
        if unit in _SHADOWS and _has_pipe(table, busy):
            continue
        if unit == "l1" and table.nvidia and table.share("lds_of_l1") >= 0.5:
            continue  # requests to shared memory are counted there too
        cause = _roof_of(table, unit)
        yield Found(
            cause,
            busy,
            _to_roof(table, unit, busy),
            "hint" if unit != "memory" and _is_of_parts(table, unit) else certainty_of(load),
            _fills(table, unit),
            (*_use(table, unit), *_reaches(table, unit), *_doubt(table, unit), *says_busiest(table)),
            (unit,),
        )


def _fills(table: Table, unit: str) -> str:
    title, busy = table.units[unit].title, format_share(table.busy(unit))
    degree = "full" if _is_full(table, unit) else "busy"
    if unit == "memory":
        return f"{title} is {degree}: it moves {busy} of its peak rate"
    return f"{title} {is_or_are(title)} {degree}: {busy} of the time"


def _reaches(table: Table, unit: str) -> Iterator[str]:
    most = unit_names()[unit].most_on(table.gfx)
    if most < 1:
        yield f"the most that {table.units[unit].title} was seen to reach is {format_share(most)}"


def _doubt(table: Table, unit: str) -> Iterator[str]:
    doubt = table.units[unit].busy.doubt
    if unit == "memory" and doubt and not table.nvidia:
        yield f"its rate is uncertain: {doubt}"


def feeds_memory(table: Table, unit: str) -> bool:
    """Return whether a cache is about as full as the memory behind it.

    AMD's caches have computed peaks, that of the memory is measured; NVIDIA's throughput of L2 is that of its fullest
    part, the way to the memory among them."""
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
        if table.share("f64_instructions") >= 0.3 and not f64_is_as_fast(table)
        else "vector-arithmetic",
        "integer": "integer-arithmetic",
        "f64": "f64-arithmetic",
        "special": "special-functions",
        "address": "constant-cache" if table.busy("constants") >= 0.5 else "barriers",
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
        return saved_by(table, {"lds": 0.0, "loads": 0.0, "l1": 0.0})
    if unit == "l2":  # so do tiles nearer to the compute units
        return saved_by(table, {"l2": 0.0, "lds": 0.3, "l1": 0.3, "loads": 0.3, "issue": 0.5})
    return 0.0 if _is_full(table, unit) else max(0.0, 1 - busy / _reachable(table, unit))


def _is_full(table: Table, unit: str) -> bool:
    """Return whether a unit gives about all that it can."""
    return table.load(unit) >= (SURE if unit_names()[unit].most_on(table.gfx) == 1 else _FULL)


def _reachable(table: Table, unit: str) -> float:
    if table.nvidia:
        return _ACHIEVABLE if unit == "memory" else 1.0
    return unit_names()[unit].most_on(table.gfx)


def _use(table: Table, unit: str) -> Iterator[str]:
    if unit == "memory" and not _is_full(table, unit):
        yield "that is all that it can gain at this number of bytes; fewer bytes gain more"
    useful = table.units[unit].useful
    if useful is not None and useful.value is not None and unit in ("memory", "l2", "lds"):
        yield f"{format_share(min(1.0, float(useful.value)))} of its work is useful"
    if unit == "vector" and (counted := float(table.units[unit].busy.value or 0)) > 1.02:
        yield f"{format_share(counted)} were counted: two vector instructions can start in one cycle"


def fullest_unit(table: Table, unit: str) -> Found:
    busy = table.busy(unit)
    waits = not table.nvidia and table.share("wait_share") >= 0.5
    of_what = "at its peak rate" if unit == "memory" else "busy"
    return Found(
        _roof_of(table, unit),
        busy,
        _to_roof(table, unit, busy),
        "likely" if table.load(unit) >= 0.5 and not waits else "hint",
        f"the fullest unit is {table.units[unit].title}: {of_what} {format_share(busy)} of the time",
        (*_use(table, unit), *_doubt(table, unit), *says_busiest(table)),
    )
