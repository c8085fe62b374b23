"""Recordings of captures among other runs: found by their content, joined with the executions that they fit."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import polars as pl

from rocm_perf.errors import InputError
from rocm_perf.ingest.captures.adopt import adopt
from rocm_perf.ingest.captures.captured_tables import source_of
from rocm_perf.model.trace import Trace

_TELLING = {
    "captured_launches": ["launch_id", "kernel", "start_ns", "end_ns"],
    "ranges": ["name", "start_ns", "end_ns"],
}
_UNUSED = "a capture was given, and it replays no graph: the capture was not used"


def replays_graphs(trace: Trace) -> bool:
    """Whether kernels of graph replays are in the recording."""
    return bool(trace.lazy("dispatches").select(pl.col("graph_id").count()).collect().item())


def with_captures(execution: Trace, beside: Sequence[Trace], given: Sequence[Trace] = ()) -> Trace:
    """The execution joined with captures: those it holds itself, those that lie beside it and those that were given,
    of which one has to fit. One that replays nothing stays as it is."""
    if not replays_graphs(execution):
        return _noted(execution, _UNUSED) if given else execution
    joined_before = execution.run.adoption is not None  # when the bundle was written that it comes from
    own = [execution] if execution.has("captured_launches") and not joined_before else []
    named = _each_once(given)
    captures = _each_once([*named, *own, *beside])
    if not captures or (joined_before and not given):
        return execution
    adopted = adopt(execution, captures)
    if named:
        _require_use(adopted, len(named))
    return adopted


def _each_once(captures: Sequence[Trace]) -> list[Trace]:
    """The captures without copies of one another: a file may be named, and lie beside the execution too."""
    distinct: list[Trace] = []
    for capture in captures:
        if not any(_is_same(capture, other) for other in distinct):
            distinct.append(capture)
    return distinct


def _is_same(capture: Trace, other: Trace) -> bool:
    """Whether both captured the same at the same times."""
    return all(
        capture.table(name).select(columns).equals(other.table(name).select(columns))
        for name, columns in _TELLING.items()
    )


def is_use_of(capture: Trace, adopted: Trace) -> bool:
    """Whether the execution replays what was captured in the recording."""
    adoption = adopted.run.adoption
    return adoption is not None and any(
        use.source == source_of(capture) and use.replays for use in adoption.captures
    )


def _require_use(adopted: Trace, given: int) -> None:
    """Raise unless replays are of one of the first captures, which were given."""
    adoption = adopted.run.adoption
    uses = adoption.captures[:given] if adoption else ()
    if any(use.replays for use in uses) or not uses:
        return
    raise InputError(
        f"{uses[0].source} is not the capture of what {source_of(adopted)} replays",
        uses[0].refused or "no replay is of it",
        "Give the capture of the same run (same model, version and batch size), or leave out --capture.",
    )


def require_captures(captures: Sequence[Trace], source: str) -> None:
    """Raise unless a graph was captured in one of them."""
    if not any(capture.has("captured_launches") for capture in captures):
        damage = next((loss.what for capture in captures for loss in capture.run.losses), None)
        raise no_capture(
            source, damage or "no launch in it lies between the calls that begin and end a capture"
        )


def no_capture(source: str, why: str) -> InputError:
    """The error of a file that was given as a capture and is none."""
    return InputError(
        f"{source} holds no capture of a graph",
        why,
        "Record the program with torch.profiler while it captures its graphs (docs/graphs.md).",
    )


def _noted(trace: Trace, notice: str) -> Trace:
    run = msgspec.structs.replace(trace.run, notices=(*trace.run.notices, notice))
    return trace.described(run)
