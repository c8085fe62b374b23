"""The document of all ranks, from the sums of their contributions. What sums cannot tell is left open, with the
reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec
import polars as pl
from msgspec.structs import replace

from rocm_perf.analysis.collectives.build import communication
from rocm_perf.analysis.graph.build import build
from rocm_perf.analysis.overview import overview
from rocm_perf.analysis.ranks.work import Work
from rocm_perf.analysis.reduction import idle, times
from rocm_perf.analysis.reduction.contribution import COUNTED
from rocm_perf.analysis.reduction.counted import Counts
from rocm_perf.analysis.reduction.ranks import late_ranks
from rocm_perf.analysis.reduction.runs import one_run
from rocm_perf.analysis.reduction.stretches import gathered_work, laid_out
from rocm_perf.analysis.reduction.tables import GATHERED, Tables
from rocm_perf.analysis.remedies.setting import Setting
from rocm_perf.analysis.time.busy import gpus
from rocm_perf.analysis.time.hotspots import Grouping
from rocm_perf.analysis.trust.coverage import lost_records, unpaired
from rocm_perf.analysis.verdict.findings import Beside, concluded
from rocm_perf.analysis.verdict.ranking import KERNEL_KINDS
from rocm_perf.analysis.verdict.themes import Run
from rocm_perf.model.coverage import Coverage
from rocm_perf.model.document import Document
from rocm_perf.model.finding import Finding
from rocm_perf.model.quantity import ratio
from rocm_perf.model.results.communication import Communication
from rocm_perf.model.run import Loss, RunInfo
from rocm_perf.model.trace import Trace
from rocm_perf.units import format_count

Answer = TypeVar("Answer", bound=msgspec.Struct)

# Said where an answer would take the recordings of all ranks at once.
NOT_REDUCED = "it is not computed across ranks; analyze the recording of one rank by itself to see its own"
_NOTICE = (
    "whole recordings, start-up included, each analysed by itself and added up: medians, the critical path across "
    "ranks and what changes would save are not computed"
)


def reduced(
    tables: Tables, label: str, grouping: Grouping = "full", *, aligned: Callable[[Trace], Trace]
) -> Document:
    """One document of the ranks whose contributions were added up. `aligned` brings the collectives that were gathered
    of all ranks onto one clock, and says which are the same."""
    counts = Counts(tables)
    nodes = times.nodes_of(tables["machines"])
    recording = aligned(job_trace(tables, nodes))
    job = Trace({name: recording.table(name) for name in GATHERED}, recording.run)
    blank = _blank(label)
    document = replace(
        blank,
        run=replace(job.run, notices=(*job.run.notices, *_shared_gpus(tables["gpus"], nodes))),
        tables=_rows(counts, job),
        agents=gpus(job),
        wall_ns=times.wall_ns(tables["machines"], nodes),
        devices=times.device_times(tables["gpus"], "gpu", nodes),
        queues=times.device_times(tables["gpus"], "queue", nodes),
        hotspots=times.hotspots(
            tables["kernels"],
            grouping,
            dispatches=counts.sum("dispatches"),
            basis=counts.fact("hotspots") or "none",
        ),
        families=times.families(tables["kernels"], counts),
        domains=times.domains(tables),
        copies=times.copies(tables),
        gaps=idle.gaps(tables, counts, nodes, blank.gaps),
        ledger=idle.ledgers(tables, counts, nodes),
        sync=idle.sync(tables["waits"], counts, blank.sync),
        communication=_communication(job, counts, tables["gpus"]),
        ranks=late_ranks(recording, _work(tables, nodes), blank.ranks),
        sanity=_doubts(tables, "sanity"),
        coverage=_coverage(counts, job.run),
    )
    return _with_findings(document, job, counts, _doubts(tables, "recording"))


def job_trace(tables: Tables, nodes: Mapping[int, int]) -> Trace:
    """What was gathered of all ranks as one Trace: who took part, on which machines, their collectives, and what they
    did between these."""
    gathered = {name: _placed(tables[name], nodes) for name in GATHERED}
    for name, key in (("agents", ("node", "agent_id")), ("nodes", ("node",))):
        gathered[name] = gathered[name].unique(key, keep="first", maintain_order=True)
    between = laid_out(_placed(tables["stretches"], nodes), gathered["collectives"])
    return Trace({**gathered, **between}, _run(tables))


def _work(tables: Tables, nodes: Mapping[int, int]) -> Work:
    return gathered_work(_placed(tables["rank_sums"], nodes), _placed(tables["rank_names"], nodes))


def _placed(rows: pl.DataFrame, nodes: Mapping[int, int]) -> pl.DataFrame:
    """Rows of all ranks in the order of ranks, with the numbers of their hosts."""
    node = pl.col("node").replace_strict(nodes, return_dtype=pl.Int32)
    return rows.sort("node", maintain_order=True).with_columns(node)


def _run(tables: Tables) -> RunInfo:
    ranks = tables["runs"].sort("place")["run"]
    run = one_run([msgspec.json.decode(rank, type=RunInfo) for rank in ranks])
    failures = tables["failures"].sort("place")
    lost = failures.filter("is_loss").select("label", "reason").iter_rows()
    foreign = failures.filter(~pl.col("is_loss"))["label"]
    beside = (f"{format_count(len(foreign), 'file')} beside it not read",) if len(foreign) else ()
    return replace(
        run,
        losses=(*run.losses, *(Loss(label, reason) for label, reason in lost)),
        notices=(_NOTICE, *run.notices, *beside),
    )


def _shared_gpus(gpu_times: pl.DataFrame, nodes: Mapping[int, int]) -> tuple[str, ...]:
    """That ranks call their GPUs by one number, or use one together: each is counted as its own."""
    shared = times.shared_gpus(gpu_times, nodes)
    if not shared:
        return ()
    return (
        f"{format_count(shared, 'GPU number')} of a host in several ranks: each counts as a GPU of its own",
    )


def _blank(label: str) -> Document:
    """A document in which nothing is known, because it is not computed across ranks."""
    empty = overview(Trace({}), label)
    answers = {
        name: _left_open(answer)
        for name in empty.__struct_fields__
        if isinstance(answer := getattr(empty, name), msgspec.Struct)
    }
    open_path = replace(empty.path, missing=(NOT_REDUCED,))
    return replace(empty, **(answers | {"path": open_path, "scorecard": (), "findings": ()}))


def _left_open(answer: Answer) -> Answer:
    """The answer, with that reason wherever it says why it is not known."""
    changes: dict[str, Any] = {}
    for name in answer.__struct_fields__:
        value = getattr(answer, name)
        if name == "unavailable" and value is not None:
            changes[name] = NOT_REDUCED
        elif isinstance(value, msgspec.Struct):
            changes[name] = _left_open(value)
    return replace(answer, **changes)


def _rows(counts: Counts, job: Trace) -> dict[str, int]:
    """The rows of tables that ranks do not share; of those they share, each once."""
    shared = {name: job.rows(name) for name in ("agents", "nodes", "processes") if job.has(name)}
    return {name: rows for name, rows in (counts.rows() | shared).items() if rows}


def _communication(job: Trace, counts: Counts, gpu_times: pl.DataFrame) -> Communication:
    """What the collectives of all ranks say together, and the sums over the kernels that communicate."""
    window = int(gpu_times.filter(pl.col("level") == "gpu")["window_ns"].sum())
    exposed, kernels = counts.sum("exposed_ns"), counts.sum("communicating_kernels")
    together = communication(job)
    if not kernels:
        return together
    return replace(
        together,
        kernels=kernels,
        busy_ns=counts.sum("communicating_ns"),
        exposed_ns=exposed,
        exposed_share=ratio(exposed, window, "exposed_ns / window_ns", "exposed_ns", "window_ns"),
        unavailable=None,
    )


def _coverage(counts: Counts, run: RunInfo) -> Coverage:
    known: dict[str, Any] = {name: counts.known(name) for name in COUNTED}
    lost = [loss.records for loss in run.losses]
    return Coverage(
        asked=run.asked,
        recorded=counts.rows(),
        **{**known, "dispatched": counts.sum("dispatched"), "replayed": counts.sum("replayed")},
        lost_records=None if None in lost else sum(records or 0 for records in lost),
        holes=(
            *lost_records(run.losses),
            *unpaired(counts.sum("dispatched"), known["paired"], known["launches_without_kernels"]),
        ),
    )


def _doubts(tables: Tables, about: str) -> tuple[Finding, ...]:
    """What is doubtful in some ranks: each kind once, as the first of them says it, with how many they are."""
    labels = dict(tables["runs"].select("place", "label").iter_rows())
    by_id: dict[str, list[tuple[int, Finding]]] = {}
    rows = tables["doubts"].filter(pl.col("about") == about).sort("place").select("place", "finding")
    for place, encoded in rows.iter_rows():
        finding = msgspec.json.decode(encoded, type=Finding)
        by_id.setdefault(finding.id, []).append((place, finding))
    return tuple(_of_some(found, labels) for found in by_id.values())


def _of_some(found: list[tuple[int, Finding]], labels: Mapping[int, str]) -> Finding:
    place, first = found[0]
    places = {place for place, _ in found}
    where = f"in {labels[place]}" + (f", the first of {len(places):,} ranks" if len(places) > 1 else "")
    return replace(first, evidence=(where, *first.evidence))


def _with_findings(document: Document, job: Trace, counts: Counts, doubtful: tuple[Finding, ...]) -> Document:
    """The document with what follows from it; changes are not re-timed, for no graph spans the ranks."""
    settings = (counts.fact_of_most("setting") or "{}").encode()
    run = Run(document, build(Trace({})), job, msgspec.json.decode(settings, type=Setting))
    _, findings = concluded(run, Beside(doubts=doubtful), idle_is_told=document.gaps.doubt is None)
    return replace(document, findings=findings)


def led_to_one_rank(document: Document, rank: str) -> Document:
    """The document, whose findings about kernels lead to the recording of one rank, named as on a command line: it can
    tell why a kernel takes so long, and kernels are the same on all ranks."""
    findings = tuple(
        _seen_on_one_rank(finding, rank) if finding.kind in KERNEL_KINDS else finding
        for finding in document.findings
    )
    return replace(document, findings=findings)


def _seen_on_one_rank(finding: Finding, rank: str) -> Finding:
    return replace(
        finding,
        title=finding.title.partition(": ")[0],
        evidence=finding.evidence[:1],
        remedy="See what limits it in the recording of one rank, which is analysed in full.",
        next_command=f"rocm-perf analyze {rank}",
    )
