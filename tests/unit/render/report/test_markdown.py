"""The Markdown report and the side-by-side view."""

from __future__ import annotations

import msgspec
import pytest

from rocm_perf.analysis.overview import overview
from rocm_perf.model.finding import Finding
from rocm_perf.render.figures.files import picture_files
from rocm_perf.render.report.markdown import markdown
from rocm_perf.render.report.side_by_side import as_markdown, rows
from tests.recordings import sampled
from tests.unit.analysis.traces import call, kernel, trace
from tests.unit.render.documents import H200, WORKLOADS, recorded, simulated

pytestmark = pytest.mark.whole


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
    assert "2 launches, 2 kernels recorded, 2 paired" in text
    assert "last end - first start of any kernel or copy on the GPU" in text


def check_tables(text: str) -> None:
    """Every row of a table has as many cells as its heading."""
    cells = None
    for line in text.splitlines():
        if not line.startswith("|"):
            cells = None
            continue
        assert line.endswith("|")
        now = line.replace("\\|", "").count("|")
        assert cells in (None, now), line
        cells = now


@pytest.mark.parametrize("name", WORKLOADS)
def test_reports_of_simulated_runs(name: str) -> None:
    text = markdown(simulated(name))
    check_tables(text)
    assert "## Critical path" in text
    assert "## Scorecard" in text
    assert "## How the numbers are computed" in text


@pytest.mark.parametrize("name", sampled(H200))
def test_reports_of_recordings(name: str) -> None:
    check_tables(markdown(recorded(name)))


def test_findings_come_first_with_gain_remedy_and_command() -> None:
    text = markdown(simulated("sync_in_loop"))
    first = text.index("## Findings")
    assert first < text.index("## Idle time of the GPU") < text.index("## How the numbers are computed")
    assert (
        "- **The host waits for the GPU 360 times, in hipStreamSynchronize, and launches late because of it**\n"
        "  - 4.14 ms at stake, projected 2.43x" in text
    )
    assert "Wait once" in text


def test_names_in_sentences_mean_nothing_to_markdown() -> None:
    finding = Finding("x", "info", "scale<float> is slow", ("2 * 3 bytes",))
    document = msgspec.structs.replace(overview(trace(), "x"), findings=(finding,))
    text = markdown(document)
    assert "**scale&lt;float> is slow**" in text
    assert "2 \\* 3 bytes" in text


def test_what_is_missing_is_said_once_at_the_end() -> None:
    text = markdown(overview(trace(), "empty"))
    assert "- Kernels: the recording holds no kernels." in text
    assert "- Energy: no power was read" in text


def test_side_by_side_shows_ratios_and_its_limits() -> None:
    slow = overview(trace(dispatches=[kernel("k", 0, 50), kernel("k", 150, 200)]), "a")
    fast = overview(trace(dispatches=[kernel("k", 0, 50), kernel("k", 50, 100)]), "b")
    compared = {name: cells for name, *cells in rows(slow, fast)}
    assert compared["wall"] == ["200 ns", "100 ns", "0.5"]
    assert compared["GPU idle"] == ["100 ns", "0 ns", "0"]
    assert compared["synchronising calls"] == ["0", "0", "-"]
    assert "cannot tell a difference from noise" in as_markdown(slow, fast)


def test_pictures_lie_beside_the_report_and_under_their_headings() -> None:
    document = simulated("straggler")
    pictures = picture_files(document, "my report")
    text = markdown(document, pictures)
    assert pictures["gaps"].name == "my report-gaps.svg"
    assert pictures["gaps"].content.startswith("<svg ")
    lines = text.splitlines()
    assert lines[lines.index("## Idle time of the GPU") + 1].endswith("](my%20report-gaps.svg)")
    assert text.count("](my%20report-") == len(pictures)
    assert "](" not in markdown(document).partition("## How the numbers")[0]
