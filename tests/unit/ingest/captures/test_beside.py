"""Captures in one folder with what replays them, told by their content."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocm_perf.errors import InputError
from rocm_perf.ingest.captures.adopt import adopt
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


def test_a_capture_that_lies_there_and_is_named_too_counts_once(tmp_path: Path) -> None:
    bundle.write(capture([LAYER], size=32), tmp_path / "capture")
    bundle.write(execution([LAYER] * 3, size=32), tmp_path / "execution")
    copy = tmp_path / "elsewhere" / "copy"
    bundle.write(capture([LAYER], size=32), copy)
    for named in ([tmp_path / "capture"], [copy, copy], [copy, tmp_path / "capture"]):
        (run,) = load_path(tmp_path / "execution", captures=named)
        assert run.trace
        assert run.trace.run.adoption
        assert [use.refused for use in run.trace.run.adoption.captures] == [None]


def test_an_empty_capture_is_the_error_of_that_file(tmp_path: Path) -> None:
    bundle.write(execution([LAYER]), tmp_path / "execution")
    (tmp_path / "empty.json").write_text('{"schemaVersion": 1, "deviceProperties": [], "traceEvents": []}')
    with pytest.raises(
        InputError, match=r"empty\.json holds no capture of a graph: nothing is recorded in it"
    ):
        load_path(tmp_path / "execution", captures=[tmp_path / "empty.json"])


def test_a_capture_that_fits_as_well_as_another_is_said_so() -> None:
    both = [capture([LAYER], size=32), capture([LAYER], size=32)]
    adoption = adopt(execution([LAYER], size=32), both).run.adoption
    assert adoption
    refused = [use.refused for use in adoption.captures if use.refused]
    assert refused == ["another capture with the same kernels was taken"]
