"""The Markdown report and the side-by-side view."""

from __future__ import annotations

from rocm_perf.analysis.overview import overview
from rocm_perf.render.markdown import markdown
from rocm_perf.render.side_by_side import as_markdown, rows
from tests.unit.analysis.traces import call, kernel, trace


def test_a_report_has_the_numbers_and_their_formulas() -> None:
    recording = trace(
        dispatches=[
            kernel("void scale<float>(float*)", 0, 60, correlation_id=1),
            kernel("pipe|name", 100, 140, correlation_id=2),
        ],
        api_calls=[call("hipLaunchKernel", 0, 5, 1), call("hipLaunchKernel", 5, 9, 2)],
    )
    text = markdown(overview(recording, "runs/x"))
    assert text.startswith("# x\n")
    assert "| 71.4 % | 140 ns | 100 ns |" in text
    assert "| 60.0 % | 60 ns | 1 |" in text
    assert "`pipe\\|name`" in text
    assert "2 launches, 2 kernels, 2 of them paired" in text
    assert "last end - first start of any kernel or copy on the GPU" in text
    for line in text.splitlines():
        if line.startswith("|"):
            assert line.endswith("|")


def test_a_recording_without_kernels_says_so() -> None:
    assert "None: the recording holds no kernels." in markdown(overview(trace(), "empty"))


def test_side_by_side_shows_ratios_and_its_limits() -> None:
    slow = overview(trace(dispatches=[kernel("k", 0, 50), kernel("k", 150, 200)]), "a")
    fast = overview(trace(dispatches=[kernel("k", 0, 50), kernel("k", 50, 100)]), "b")
    compared = {name: cells for name, *cells in rows(slow, fast)}
    assert compared["wall"] == ["200 ns", "100 ns", "0.5"]
    assert compared["GPU idle"] == ["100 ns", "0 ns", "0"]
    assert compared["synchronising calls"] == ["0", "0", "-"]
    assert "cannot be said" in as_markdown(slow, fast)
