"""What the counts point to, in the words of somebody who tunes kernels: each with its numbers and a remedy.

How much a defect costs is not known here, because nothing was timed. So the order is that of the list below, and the
thresholds say from where on something is worth a look.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rocm_perf.analysis.emulated.rows import Counted, Row, kind_of, space_of, what_of
from rocm_perf.model.finding import Finding
from rocm_perf.model.results.count import Accesses, Bound, Totals
from rocm_perf.units import format_bytes, format_share

CONFLICTS = 0.2  # of the LDS cycles
UNCOALESCED = 0.5  # of the bytes of the lines that are asked for
ACTIVE = 0.75  # of the lanes
CONTENDED = 0.25  # of the atomic operations
SPILLED = 0.1  # of the bytes of vector accesses
INTEGERS = 0.5  # of the lane-instructions of the vector unit
ASKED_AGAIN = 8  # times that a byte is asked for
_NO_CACHES = "whether the caches hide it is not known here"

Rule = Callable[[Totals, Counted], Iterator[Finding]]


def count_findings(totals: Totals, counted: Counted, bound: Bound | None) -> tuple[Finding, ...]:
    """Every rule's findings, in the order of the rules. Where memory is the roof, what keeps the units busy does not
    count."""
    rules = _RULES if bound == "memory" else (*_RULES, _integers)
    return tuple(finding for rule in rules for finding in rule(totals, counted))


def _bank_conflicts(totals: Totals, counted: Counted) -> Iterator[Finding]:
    lds = totals.lds
    if lds is None or not lds.conflict_share or lds.conflict_share < CONFLICTS:
        return
    cycles, least = lds.cycles / lds.executions, (lds.cycles - lds.conflict_cycles) / lds.executions
    yield Finding(
        id="bank-conflicts",
        severity="warning",
        title=f"{format_share(lds.conflict_share)} of the LDS cycles are bank conflicts",
        evidence=(
            f"an LDS instruction takes {cycles:.3g} cycles instead of {least:.3g}, by the rule of {lds.banks} banks",
            *_worst(counted, lambda row: row.lds_conflicts, "cycles of conflicts"),
        ),
        remedy="Pad each row of the array in LDS by one element (float tile[32][33]), or permute its columns "
        "(column ^ row), so that the lanes of a wave meet different banks.",
        kind="lds-or-cache",
    )


def _uncoalesced(totals: Totals, counted: Counted) -> Iterator[Finding]:
    for access in totals.accesses:
        if access.space != "global" or access.efficiency is None or access.efficiency >= UNCOALESCED:
            continue
        if access.what == "atomic":
            continue
        yield Finding(
            id=f"uncoalesced-{access.what}s",
            severity="warning",
            title=f"Global {access.what}s use {format_share(access.efficiency)} of the lines that they ask for",
            evidence=(_lines_per_access(access), *_worst_lines(counted, access)),
            remedy="Let neighbouring lanes access neighbouring addresses: make the index that varies with the "
            "work-item the fastest one, keep structures of arrays, or go through LDS to transpose.",
            kind="kernel-memory",
        )


def _lines_per_access(access: Accesses) -> str:
    asked = access.lines / access.executions
    needed = max(1.0, access.bytes / access.executions / access.line_bytes)
    return (
        f"an access of a wave asks for {asked:.3g} lines of {access.line_bytes} B, where its "
        f"{access.bytes / access.executions:,.0f} B would fit into {needed:.3g}; {_NO_CACHES}"
    )


def _divergence(totals: Totals, counted: Counted) -> Iterator[Finding]:
    if totals.active_lanes is None or totals.active_lanes >= ACTIVE:
        return

    def idle(row: Row) -> int:
        possible = counted.executed.wave_size * row.executions
        return possible - row.lanes if kind_of(row) == "VALU" else 0

    yield Finding(
        id="divergence",
        severity="warning",
        title=f"{format_share(1 - totals.active_lanes)} of the lanes stand idle in vector instructions",
        evidence=_worst(counted, idle, "idle lanes, over all executions"),
        remedy="Lanes of a wave that branch differently run both sides one after the other: branch by whole waves, "
        "sort or compact the work-items by what they do, or replace short branches by selections.",
        kind="kernel-compute",
    )


def _atomics(totals: Totals, counted: Counted) -> Iterator[Finding]:
    same = totals.contended_atomics
    if not totals.atomics or same / totals.atomics < CONTENDED:
        return
    yield Finding(
        id="contended-atomics",
        severity="warning",
        title=f"{format_share(same / totals.atomics)} of the atomic operations wait for another lane of their wave",
        evidence=(
            f"{totals.atomics:,} operations by lanes, {same:,} of them at an address that an earlier lane has",
            *_worst(counted, lambda row: row.same_address, "operations at an address of another lane"),
        ),
        remedy="Such operations run one after the other: add up within the wave first (DPP or shuffles), then within "
        "the workgroup in LDS, and send one atomic per workgroup; give a histogram a private copy per wave.",
        kind="kernel-latency-or-occupancy",
    )


def _scratch(totals: Totals, counted: Counted) -> Iterator[Finding]:
    spilled = sum(one.bytes for one in totals.accesses if one.space == "scratch")
    whole = sum(one.bytes for one in totals.accesses if one.space != "scalar")
    if not whole or spilled / whole < SPILLED:
        return
    yield Finding(
        id="scratch-traffic",
        severity="warning",
        title=f"{format_share(spilled / whole)} of the bytes of vector accesses are scratch ({format_bytes(spilled)})",
        evidence=_worst(
            counted, lambda row: row.bytes if space_of(row) == "scratch" else 0, "bytes", render=format_bytes
        ),
        remedy="Registers spill, or an array is indexed by a value that the compiler does not know: unroll less, raise "
        "__launch_bounds__, index arrays by constants, or keep them in LDS.",
        kind="kernel-memory",
    )


def _integers(totals: Totals, _counted: Counted) -> Iterator[Finding]:
    share = totals.integer_lanes / totals.vector_lanes if totals.vector_lanes else 0
    if not totals.float_lanes or share < INTEGERS:
        return
    ratio = totals.integer_lanes / totals.float_lanes
    yield Finding(
        id="integer-overhead",
        severity="warning",
        title=f"{format_share(share)} of the vector unit's work is integer arithmetic",
        evidence=(f"{ratio:.3g} integer instructions for each floating-point one, by lanes",),
        remedy="Addresses and indices cost more than the arithmetic: move what does not change out of the loop, index "
        "by 32 bits, replace divisions by shifts or by a reciprocal that the host computes, and handle several "
        "elements per work-item.",
        kind="kernel-compute",
    )


def _asked_again(totals: Totals, _counted: Counted) -> Iterator[Finding]:
    footprint = totals.footprint
    if footprint is None or not footprint.compulsory_bytes:
        return
    asked = sum(one.bytes for one in totals.accesses if one.space == "global")
    times = asked / footprint.compulsory_bytes
    if times < ASKED_AGAIN:
        return
    yield Finding(
        id="reuse-left-to-caches",
        severity="info",
        title=f"Each byte is asked for {times:.3g} times: the caches have to serve all but the first",
        evidence=(
            f"{format_bytes(asked)} are asked for, {format_bytes(footprint.compulsory_bytes)} have to move; how much "
            "the caches serve is not known here",
        ),
        remedy="Keep what is reused in registers or LDS: tile the loops, or let a work-item compute more.",
        kind="kernel-memory",
    )


def _worst_lines(counted: Counted, access: Accesses) -> tuple[str, ...]:
    def wasted(row: Row) -> int:
        if space_of(row) != access.space or what_of(row) != access.what:
            return 0
        return counted.lines_of(row) * counted.line_bytes - row.bytes

    return _worst(counted, wasted, "that are fetched and not asked for", render=format_bytes)


def _worst(
    counted: Counted, cost: Callable[[Row], int], of_what: str, render: Callable[[int], str] = "{:,}".format
) -> tuple[str, ...]:
    """The instruction that has the most of it, in a sentence; nothing where none has any."""
    worst = max(counted.rows, key=cost, default=None)
    if worst is None or cost(worst) <= 0:
        return ()
    where = f"{worst.file}:{worst.line}, " if worst.file else ""
    return (f"most at {where}`{worst.text}`: {render(counted.scaled(cost(worst)))} {of_what}",)


_RULES: tuple[Rule, ...] = (
    _bank_conflicts,
    _uncoalesced,
    _divergence,
    _atomics,
    _scratch,
    _asked_again,
)
