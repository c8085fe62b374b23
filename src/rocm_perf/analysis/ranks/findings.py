"""Findings about ranks that the others wait for: which, why, and what it is worth."""

from __future__ import annotations

from shlex import quote
from statistics import median

from rocm_perf.analysis.basis.stakes import bound
from rocm_perf.analysis.remedies.setting import setting_of
from rocm_perf.analysis.remedies.table import remedy
from rocm_perf.model.document import Document
from rocm_perf.model.finding import Finding
from rocm_perf.model.results.ranks import Cause, Straggler
from rocm_perf.units import format_count, format_list, format_ns

_SHOWN = 3
_WHY: dict[Cause | None, str] = {
    "compute": "{their} kernels take longer",
    "data loader": "{their} data loader is late",
    "host": "{their} host launches late",
    "copies": "{their} copies take longer",
    "slow link": "the bytes reach {them} last, over a slow link",
    None: "{they} late to collectives, and why was not recorded",
}
_REMEDIES: dict[Cause, str] = {
    "compute": "Look at the GPU of {who}: its clocks, temperature and power limit, and who else uses it; if it runs "
    "more kernels than the others, share the work out evenly.",
    "data loader": "Let the data loader of {who} run ahead (more workers, prefetching, pinned memory), and look at the "
    "storage and processors that it reads with: the others are not late.",
    "host": "Find out what the host of {who} does between launches: another process on its processors, their pinning, "
    "a logger or checkpoint that only it writes, garbage collection.",
    "copies": "Compare the copies of {who} with those of another rank: pinned memory, the NUMA node of its process, "
    "the PCIe link of its GPU.",
}


def rank_findings(document: Document) -> list[Finding]:
    """One finding for each cause that makes ranks late."""
    wall_ns = document.wall_ns or 0
    return [_finding(straggler, document, wall_ns) for straggler in document.ranks.stragglers if wall_ns]


def _finding(straggler: Straggler, document: Document, wall_ns: int) -> Finding:
    who = _named(straggler, document)
    repair = straggler.repair
    stake = min(repair.saved_ns if repair else straggler.delayed_ns, wall_ns)
    return Finding(
        id="late-rank" if straggler.cause != "slow link" else "slow-link",
        severity="warning",
        kind="communication",
        title=f"The other ranks wait for {who}: {_why(straggler)}",
        evidence=(
            _often(straggler),
            *_unknown(straggler),
            *straggler.evidence,
            _waits(straggler, document, wall_ns),
        ),
        time_at_stake_ns=stake,
        projected_speedup=repair.speedup if repair else bound(wall_ns, stake),
        remedy=_remedy(straggler, document, who),
        next_command=f"rocm-perf whatif {quote(document.label)} {straggler.command}"
        if straggler.command
        else "",
    )


def _remedy(straggler: Straggler, document: Document, who: str) -> str:
    """Return what to do about the ranks; about those whose cause was not recorded, how to record it."""
    setting = setting_of(document)
    if straggler.cause == "slow link":
        return remedy("slow-link", setting, who=who)
    if straggler.cause is None:
        return remedy("waiting-for-rank" if setting.host_recorded else "record-host", setting, who=who)
    return _REMEDIES[straggler.cause].format(who=who)


def _named(straggler: Straggler, document: Document) -> str:
    """The ranks, or their node where they are all that it has."""
    nodes = {row.node for row in document.ranks.rows if row.rank in straggler.ranks}
    others = {row.node for row in document.ranks.rows if row.rank not in straggler.ranks}
    if len(straggler.ranks) > 1 and len(nodes) == 1 and not nodes & others:
        return f"the {len(straggler.ranks)} ranks of node {nodes.pop()}"
    return format_list(straggler.ranks, _SHOWN)


def _why(straggler: Straggler) -> str:
    one = len(straggler.ranks) == 1
    return _WHY[straggler.cause].format(
        their="its" if one else "their", them="it" if one else "them", they="it comes" if one else "they come"
    )


def _often(straggler: Straggler) -> str:
    does = "leave" if straggler.cause == "slow link" else "enter"
    name = straggler.ranks[0] if len(straggler.ranks) == 1 else "one of them"
    return f"{name} is the last to {does} {straggler.last_in:,} of {format_count(straggler.collectives, 'collective')}"


def _waits(straggler: Straggler, document: Document, wall_ns: int) -> str:
    others = [row.waiting_ns for row in document.ranks.rows if row.rank not in straggler.ranks]
    whose = "its" if len(straggler.ranks) == 1 else "their"
    return (
        f"the others wait in collectives for {format_ns(median(others or [0]))} of {format_ns(wall_ns)} (median); "
        f"{whose} late arrivals delay them by {format_ns(straggler.delayed_ns)}"
    )


def _unknown(straggler: Straggler) -> tuple[str, ...]:
    return (f"why it is late cannot be told: {straggler.reason}",) if straggler.reason else ()
