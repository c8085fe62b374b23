"""Rules for a GPU that is not filled, and for waves that wait where no unit is full."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rocm_perf.analysis.limits.judging import (
    ARITHMETIC,
    FULL,
    MOVING,
    NEVER,
    Found,
    is_short,
    local_memory,
    saved_by,
    says_busiest,
    says_waits,
    wave_word,
)
from rocm_perf.analysis.limits.roofs import feeds_memory, fullest_unit
from rocm_perf.analysis.limits.table import Table
from rocm_perf.units import format_share

_HARDLY = (
    0.02  # memory instructions for each vector instruction: a kernel with fewer does not wait for memory
)
_SETTLED_NS = 20_000  # from here on compute units that idle at the end of a dispatch are a finding


def _unfilled(table: Table) -> Found | None:
    """Find compute units without work: the grid is too small for the GPU, or its last workgroups run alone."""
    filled, waves = table.value("filled"), table.value("waves_of_grid")
    if filled is None or filled >= 0.8:
        return None
    if not table.nvidia and (table.mean_ns or 0) < _SETTLED_NS:
        return None
    usual = table.share("workgroups_per_unit")
    enough = min(
        1.0, table.share("least_workgroups_per_unit", usual)
    )  # of launches of several sizes, the smallest
    if filled < 0.5 * enough:
        return Found(
            "imbalance",
            1 - filled,
            max(0.0, 1 - filled / enough * max(0.3, table.share("achieved_occupancy", 1.0))),
            "proven",
            f"compute units have work {format_share(filled)} of the time, though there are workgroups for "
            f"{format_share(enough)} of them: some workgroups take much longer than others",
            says_busiest(table),
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
        (*waves_say, *says_busiest(table)),
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
        "local memory": ("occupancy-local-memory", f"{local_memory(table)} leaves room for no more"),
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
        f"{format_share(occupancy)} of the places for {wave_word(table)}s are taken: {why}",
        (*says_waits(table, "wait_memory", "wait_share"), *says_busiest(table)),
    )


PARALLELISM: tuple[Callable[[Table], Found | None], ...] = (_unfilled, _resources)


def waits(table: Table, explained: set[str]) -> Iterator[Found]:
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
            f"its {wave_word(table)}s wait {format_share(local)} of their time for {local_memory(table)} or special "
            "functions",
            says_busiest(table),
        )
    unit = max(table.units, key=table.load, default="")
    if feeds_memory(table, unit) and table.busy("memory") >= NEVER:
        unit = "memory"
    if unit and unit not in explained and table.busy(unit) >= NEVER and not is_short(table):
        yield fullest_unit(table, unit)


def _narrow(table: Table, memory: float) -> Found | None:
    narrow, sectors = table.value("narrow_accesses"), table.value("sectors_per_load")
    if memory < 0.5 or table.busy("memory") >= FULL:
        return None
    if narrow is None and sectors is not None and sectors <= 2 and table.share("used_load_bytes") >= 0.9:
        how = (
            f"a load instruction of a {wave_word(table)} asks for {sectors * 32:.0f} bytes, where 128 to 512 would "
            "be one as well"
        )
    elif narrow is not None and narrow >= 0.5:
        how = f"{format_share(narrow)} of its memory instructions move one or two bytes a lane"
    else:
        return None
    per_instruction = dict.fromkeys((*ARITHMETIC, "address", "loads", "l1"), 0.2)
    return Found(
        "narrow-accesses",
        max(memory, 1 - table.most),
        saved_by(table, {**per_instruction, "lds": 0.3, "l2": 0.5}),
        "likely" if narrow is None or narrow < 0.8 else "proven",
        how,
        (*says_waits(table, "wait_memory"), *says_busiest(table)),
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
        f"its {wave_word(table)}s wait {format_share(fetch)} of their time for instructions to be fetched",
        says_busiest(table),
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
        f"its {wave_word(table)}s wait {format_share(result)} of their time for the result of the instruction before",
        says_busiest(table),
    )


def _latency(table: Table, waits: float) -> Found:
    """Say that waves wait for memory; that no unit is full only where the units were counted."""
    if not table.nvidia and table.share("vmem_per_valu", 1.0) < _HARDLY:
        return Found(
            "dependent-arithmetic",
            waits * (1 - table.most / 2),
            None,
            "hint",
            f"its waves wait {format_share(waits)} of their time and hardly access memory: for results of the "
            "instruction before, or at barriers",
            (*_occupied(table), *says_busiest(table)),
        )
    knows = {"memory", "issue" if table.nvidia else "vector"} <= table.units.keys()
    what = "for memory" if table.nvidia else "for something, most often memory"
    return Found(
        "memory-latency",
        waits * (1 - table.most / (1 if table.nvidia else 2)),
        saved_by(table, dict.fromkeys(MOVING, table.share("used_load_bytes", 1.0)), 0.02) if knows else None,
        "likely" if knows else "hint",
        f"its {wave_word(table)}s wait {format_share(waits)} of their time {what}"
        + (", and no unit is full" if knows else ""),
        (*_in_flight(table), *_occupied(table), *says_busiest(table)),
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
        yield f"{format_share(occupancy)} of the places for {wave_word(table)}s are taken"
