"""How a recording of our own is described: with what, how often, at which cost, and what is missing."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from rocm_perf import analyze, simulate
from rocm_perf.analysis.trust.overhead import overhead
from rocm_perf.model.collection import CollectionRecord, OverheadRecord, PassRecord
from rocm_perf.model.document import Document
from rocm_perf.model.run import RunInfo
from rocm_perf.model.trace import Trace
from rocm_perf.render.screen.terminal import View, print_document
from rocm_perf.render.sections.recording import ended, recording_section

WORKLOADS = Path(__file__).parents[4] / "examples" / "workloads"
TRACED = PassRecord(
    number=1, profiler="rocprofv3", purpose="trace", argv=("rocprofv3", "--", "./app"), wall_ns=2_000_000,
    exit_status=0, outcome="recorded",
)  # fmt: skip


def record(**facts: object) -> CollectionRecord:
    known: dict[str, object] = {
        "run_id": "r", "host": "h", "pid": 1, "command": ("./app",), "folder": ".", "started_at": "",
        "profiler": "rocprofv3", "asked": ("kernel", "hip"), "why": "it is here", "passes": (TRACED,),
    }  # fmt: skip
    return msgspec.convert({**known, **facts}, CollectionRecord)


@pytest.fixture(scope="module")
def simulated() -> Document:
    return analyze(simulate(WORKLOADS / "softmax.toml"))


def recorded(document: Document, made: CollectionRecord) -> Document:
    run = msgspec.structs.replace(document.run, collection=made)
    return msgspec.structs.replace(document, run=run, overhead=overhead(Trace({}, run)))


def shown(document: Document, width: int = 100) -> str:
    console = Console(width=width, highlight=False)
    with console.capture() as capture:
        print_document(document, console, View(width=width))
    return capture.get()


def test_two_lines_say_what_was_done_and_what_could_not(simulated: Document) -> None:
    text = shown(recorded(simulated, record(could_not=("counters: none on this chip", "scratch: not here"))))
    assert "Recorded  rocprofv3: kernel, hip; 1 run of the program; times include the profiler's cost" in text
    assert "Could not  counters: none on this chip (and 1 more: --show recording)" in text
    assert len(text.splitlines()) <= 40


def test_what_could_not_be_recorded_is_not_among_what_was(simulated: Document) -> None:
    lost = {
        "asked": ("kernel", "hip", "scratch", "counters"),
        "could_not": ("counters: none here", "scratch trace: x"),
    }
    text = shown(recorded(simulated, record(**lost)))
    assert "Recorded  rocprofv3: kernel, hip; 1 run of the program" in text
    counted = msgspec.structs.replace(TRACED, purpose="counters")
    partly = shown(recorded(simulated, record(**lost, passes=(TRACED, counted))))
    assert "Recorded  rocprofv3: kernel, hip, counters; 2 runs of the program" in partly


def test_the_measured_overhead_is_shown(simulated: Document) -> None:
    text = shown(recorded(simulated, record(overhead=OverheadRecord((100,), (125,)))))
    assert "it takes 1.25x as long under the profiler" in text


def test_other_recordings_have_no_such_line(simulated: Document) -> None:
    assert "Recorded" not in shown(simulated)
    assert "times as profiled" not in shown(simulated)
    elsewhere = msgspec.structs.replace(simulated.run, tool="rocprofv3")
    assert "rocprofv3" in (first := shown(msgspec.structs.replace(simulated, run=elsewhere)).splitlines()[0])
    assert first.endswith(", times as profiled")
    assert recording_section(simulated, 10).unavailable is not None


def test_timing_alone_is_the_wall_time_and_nothing_else() -> None:
    timed = PassRecord(number=1, profiler="timing", purpose="timing", argv=("./app",), wall_ns=1_500_000)
    run = RunInfo(
        tool="timing",
        asked=("kernel",),
        collection=record(profiler="timing", passes=(timed,), could_not=("no GPU",)),
    )
    text = shown(analyze(Trace({}, run)))
    assert "wall time of the program, without a profiler: 1.50 ms" in text
    assert "cost" not in text
    assert "asked for and nothing" not in text


def test_every_run_is_listed(simulated: Document) -> None:
    failed = PassRecord(
        number=2,
        profiler="rocprofv3",
        purpose="counters",
        argv=("x",),
        exit_status=-6,
        outcome="failed",
        explanation="refused",
    )
    section = recording_section(recorded(simulated, record(passes=(TRACED, failed))), 10)
    (grid,) = section.grids
    cells = {column.heading: list(column.cells) for column in grid.columns}
    assert cells["outcome"] == ["recorded", "failed"]
    assert cells["ended"] == ["0", "signal 6"]
    assert [item.title for item in section.items] == ["run 2, rocprofv3: failed"]
    assert ended(None) == "-"
