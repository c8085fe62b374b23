"""What one rank contributes: its answers as small tables, in which only sums, extremes and names are left."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
import polars as pl
from msgspec.structs import asdict, replace

from rocm_perf.analysis.collectives.build import communication
from rocm_perf.analysis.idle.gaps import gaps
from rocm_perf.analysis.idle.sync import waiting
from rocm_perf.analysis.ledger.entries import ledger
from rocm_perf.analysis.phases.coverage import coverage
from rocm_perf.analysis.reduction.stretches import activity
from rocm_perf.analysis.reduction.tables import GATHERED, LEDGER_TEXTS, Tables, frame, machine_number, nothing
from rocm_perf.analysis.remedies.setting import setting
from rocm_perf.analysis.time.busy import device_times, node_spans, queue_times, users_of_gpus
from rocm_perf.analysis.time.families import family_totals
from rocm_perf.analysis.time.hotspots import hotspots
from rocm_perf.analysis.time.totals import call_totals, copy_totals, domain_totals
from rocm_perf.analysis.trust.sanity import sanity
from rocm_perf.analysis.verdict.doubts import doubts
from rocm_perf.model import schema
from rocm_perf.model.quantity import Quantity
from rocm_perf.model.results.gaps import Gaps
from rocm_perf.model.results.kernels import AttentionByHand
from rocm_perf.model.run import RunInfo
from rocm_perf.model.time_window import moment_of
from rocm_perf.model.trace import Trace

Row = dict[str, Any]
COUNTED = (
    "launched",
    "dispatched",
    "paired",
    "launches_without_kernels",
    "kernels_without_launches",
    "missing",
    "replayed",
    "captured",
)
_WAITED_BY = ("scopes", "functions", "operators")


def contribution(trace: Trace, place: int, label: str) -> Tables:
    """What the rank at this place of the list of ranks adds to the answers about all of them."""
    idle, machines = gaps(trace), _machines(trace)
    numbered = {
        "gpus": _gpus(trace),
        "idle_places": ({**asdict(row), "causes": _json(row.causes)} for row in idle.places),
        "ledger": _ledger_rows(trace),
        "worst_gaps": (
            {
                "gap": _json(gap).encode(),
                "node": gap.node,
                "length_ns": gap.duration_ns,
                "start_ns": gap.start_ns,
            }
            for gap in idle.worst
        ),
        "machines": machines.join(node_spans(trace), on="node", how="left").iter_rows(named=True),
    }
    rows: dict[str, Iterable[Row]] = {
        "kernels": (asdict(row) for row in hotspots(trace).rows),
        "calls": call_totals(trace).iter_rows(named=True),
        "domains": (asdict(row) for row in domain_totals(trace)),
        "copies": ({**asdict(row), "sized_ns": _input(row.bandwidth, 1)} for row in copy_totals(trace)),
        "causes": (asdict(row) for row in idle.causes),
        "idle_calls": _idle_calls(idle),
        "gap_lengths": (asdict(row) for row in idle.histogram),
        "waits": _waits(trace),
        "counts": ({"name": name, "value": value} for name, value in _counts(trace, idle).items()),
        "facts": (
            {"fact": fact, "value": value, "ranks": 1, "place": place} for fact, value in _facts(trace, idle)
        ),
        "doubts": (
            {"about": about, "finding": msgspec.json.encode(doubt), "place": place}
            for about, found in (("recording", doubts(trace)), ("sanity", sanity(trace)))
            for doubt in found
        ),
        "runs": [{"place": place, "label": label, "run": msgspec.json.encode(_brief(trace.run))}],
    }
    own = machine_number(place, pl.col("node"))
    return {
        **nothing(),
        **{name: frame(name, made) for name, made in rows.items()},
        **{name: frame(name, made).with_columns(own) for name, made in numbered.items()},
        **{name: trace.table(name).with_columns(own) for name in GATHERED},
        "nodes": machines.with_columns(own),
        **{name: table.with_columns(own) for name, table in activity(trace).items()},
    }


def failure(place: int, label: str, reason: str, *, is_loss: bool = True) -> Tables:
    """The contribution of a rank that could not be analysed; nothing is lost where its files hold no recording."""
    row = {"place": place, "label": label, "reason": reason, "is_loss": is_loss}
    return {**nothing(), "failures": frame("failures", [row])}


def _brief(run: RunInfo) -> RunInfo:
    """The run without the record of how it was collected, unless it is that of the first rank: one describes all."""
    first = run.collection is not None and not run.collection.rank
    return run if first else replace(run, collection=None)


def _machines(trace: Trace) -> pl.DataFrame:
    """The table `nodes`, with a row for each machine that others refer to and it does not list: a recording may come
    without it, and the sums of all ranks need to know whose clock each row is on."""
    listed, hosts = trace.table("nodes"), trace.run.hosts
    used = [trace.table(name).select("node") for name in GATHERED]
    unlisted = pl.concat([*used, node_spans(trace).select("node")]).unique().sort("node")
    described = unlisted.join(listed, on="node", how="anti", maintain_order="left").with_columns(
        host=pl.lit(hosts[0] if len(hosts) == 1 else None, pl.String), clock=pl.lit(trace.run.clock)
    )
    return pl.concat([listed, schema.conform("nodes", described)])


def _gpus(trace: Trace) -> Iterator[Row]:
    ranks = users_of_gpus(trace)
    for level, times in (("gpu", device_times(trace)), ("queue", queue_times(trace))):
        for row in times:
            yield {**asdict(row), "level": level, "rank": ranks.get((row.node, row.agent_id))}


def _ledger_rows(trace: Trace) -> Iterator[Row]:
    for gpu in ledger(trace).gpus:
        for entry in gpu.entries:
            texts = {name: getattr(entry, name) for name in LEDGER_TEXTS}
            yield {
                "node": gpu.node,
                "agent_id": gpu.agent_id,
                **texts,
                "total_ns": entry.total_ns,
                "count": entry.count,
            }


def _idle_calls(idle: Gaps) -> Iterator[Row]:
    for first_use, calls in ((False, idle.calls), (True, idle.first_uses)):
        yield from ({**asdict(row), "first_use": first_use} for row in calls)


def _waits(trace: Trace) -> Iterator[Row]:
    sync = waiting(trace)
    yield {**asdict(sync.total), "by": "total"}
    yield {**asdict(sync.blocking_copies), "by": "blocking_copies"}
    for by in _WAITED_BY:
        yield from ({**asdict(row), "by": by} for row in getattr(sync, by))


def _counts(trace: Trace, idle: Gaps) -> dict[str, int | None]:
    """Single numbers; null where this rank cannot tell."""
    covered, talk, families = coverage(trace), communication(trace), family_totals(trace)
    by_hand = families.attention_by_hand
    timed = {f"rows of {name}": trace.rows(name) for name in trace if moment_of(name)}
    return {
        **timed,
        **{name: getattr(covered, name) for name in COUNTED},
        "dispatches": hotspots(trace).dispatches,
        "idle_ns": idle.idle_ns,
        "gaps": idle.gaps,
        "gaps_with_sync": _input(idle.sync_between, 0),
        "gaps_with_launch": _input(idle.sync_between, 1),
        "fused_saving_ns": families.fused_saving_ns,
        "attention_calls": by_hand.calls if by_hand else None,
        "attention_between_ns": by_hand.between_ns if by_hand else None,
        **_attention_products(by_hand),
        "communicating_kernels": talk.kernels,
        "communicating_ns": talk.busy_ns,
        "exposed_ns": talk.exposed_ns,
    }


def _attention_products(by_hand: AttentionByHand | None) -> dict[str, int | None]:
    """The calls and the time of each product of attention, by names that hold the kernel."""
    return {
        f"attention_product_{name} {product.kernel}": value
        for product in (by_hand.products if by_hand else ())
        for name, value in (("calls", product.calls), ("ns", product.total_ns))
    }


def _facts(trace: Trace, idle: Gaps) -> Iterator[tuple[str, str]]:
    """What can be said in words, each fact once."""
    yield "hotspots", hotspots(trace).basis
    yield "busy_is", waiting(trace).busy_is
    if idle.doubt:
        yield "idle_doubt", idle.doubt
    if idle.unavailable:
        yield "no_gaps", idle.unavailable
    if by_hand := family_totals(trace).attention_by_hand:
        yield from (("attention_kernel", kernel) for kernel in by_hand.kernels)
        yield from (("attention_product", product.kernel) for product in by_hand.products)
    yield "setting", _json(setting(trace))


def _input(share: Quantity, position: int) -> int | None:
    """The first or second number that a share is made of."""
    return int(list(share.inputs.values())[position]) if share.known else None


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
