"""Captures in one folder with what replays them, told by their content."""

from __future__ import annotations

from pathlib import Path

from rocm_perf.ingest.load import load_path
from rocm_perf.model import bundle
from rocm_perf.model.trace import Trace
from tests.unit.graph_traces import capture, execution

LAYER = ["norm", "gemm", "attention"]


def both(captured: Trace, replayed: Trace) -> Trace:
    """A program that captures a graph and replays it."""
    return Trace(
        {name: (captured if captured.has(name) else replayed).table(name) for name in {*captured, *replayed}}
    )


def labels(folder: Path) -> list[str]:
    return [Path(run.label).name for run in load_path(folder)]


def test_a_capture_that_replayed_its_graph_belongs_to_the_execution_beside_it(tmp_path: Path) -> None:
    bundle.write(both(capture([LAYER]), execution([LAYER])), tmp_path / "capture")
    bundle.write(execution([LAYER] * 3), tmp_path / "execution")
    (run,) = load_path(tmp_path)
    assert run.trace is not None
    assert run.trace.run.adoption is not None
    assert run.trace.run.adoption.captures[0].replays == 3


def test_a_run_that_captured_something_else_stays_a_run(tmp_path: Path) -> None:
    bundle.write(both(capture([["scan"] * 5]), execution([["scan"] * 5])), tmp_path / "other")
    bundle.write(execution([LAYER] * 3), tmp_path / "execution")
    assert sorted(labels(tmp_path)) == ["execution", "other"]


def test_two_runs_that_captured_their_own_graphs_stay_two(tmp_path: Path) -> None:
    for name in ("first", "second"):
        bundle.write(both(capture([LAYER]), execution([LAYER] * 3)), tmp_path / name)
    assert sorted(labels(tmp_path)) == ["first", "second"]
