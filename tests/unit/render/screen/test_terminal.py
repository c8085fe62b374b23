"""The terminal view: the answer first, and never more than a screenful."""

from __future__ import annotations

import io
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from rocm_perf.analysis.overview import overview
from rocm_perf.model.document import Document
from rocm_perf.model.finding import Finding
from rocm_perf.render.screen.answer import start_up
from rocm_perf.render.screen.terminal import View, print_document, print_sections
from rocm_perf.render.sections.index import SECTIONS
from tests.recordings import answer, sampled
from tests.unit.analysis.traces import call, kernel, trace
from tests.unit.render.documents import H200, SPECIMENS, WORKLOADS, recorded, simulated
from tests.whole_answer import fits

WIDTHS = pytest.mark.parametrize("width", [80, 160])


def shown(document: Document, width: int = 80, view: View | None = None) -> str:
    out = io.StringIO()
    console = Console(file=out, width=width, highlight=False)
    print_document(document, console, view or View(width=width))
    return out.getvalue()


def shown_sections(document: Document, width: int) -> str:
    out = io.StringIO()
    print_sections(
        document, list(SECTIONS), Console(file=out, width=width, highlight=False), View(width=width)
    )
    return out.getvalue()


def check(document: Document, width: int) -> None:
    lines = shown(document, width).splitlines()
    assert 2 <= len(lines) <= 40
    assert all(fits(line, width) for line in lines)
    for line in shown_sections(document, width).splitlines():
        assert len(line) <= width


@WIDTHS
@pytest.mark.parametrize("name", WORKLOADS)
def test_simulated_runs_fit(name: str, width: int) -> None:
    check(simulated(name), width)


@WIDTHS
@pytest.mark.parametrize("name", sampled(H200))
@pytest.mark.whole
def test_recordings_fit(name: str, width: int) -> None:
    check(recorded(name), width)


@pytest.mark.thorough
@WIDTHS
@pytest.mark.parametrize("name", SPECIMENS)
def test_specimens_fit(specimens: Path, name: str, width: int) -> None:
    check(answer(specimens / name), width)


def crowded(words: int = 80) -> Document:
    kernels = [
        kernel(f"void family::kernel_{i}<float, {i}>(int)", 100 * i, 100 * i + 40, correlation_id=i)
        for i in range(60)
    ]
    waits = [call("hipStreamSynchronize", 100 * i, 100 * i + 60) for i in range(60)]
    launches = [call("hipLaunchKernel", 100 * i - 5, 100 * i, i + 7) for i in range(60)]
    copied = {"start_ns": 0, "end_ns": 9, "size_bytes": 64, "agent_id": 0}
    copies = [{"kind": kind, **copied} for kind in ("H2D", "D2H", "P2P")]
    document = overview(trace(dispatches=kernels, api_calls=waits + launches, copies=copies), "x")
    long = "word " * words
    many = tuple(
        Finding(
            f"f{place}", "warning", f"Finding number {place}", (long,), 1000, None, long, "rocm-perf doctor"
        )
        for place in range(9)
    )
    return msgspec.structs.replace(document, findings=many, sanity=many)


@WIDTHS
def test_a_crowded_recording_stays_within_forty_lines(width: int) -> None:
    text = shown(crowded(), width)
    lines = text.splitlines()
    assert len(lines) <= 40
    assert all(len(line) <= width for line in lines)
    assert "Finding number 0" in text
    assert "more findings (--show findings)" in text
    assert text.count("kernel_") >= 3


def test_three_findings_come_before_the_details_of_the_first() -> None:
    text = shown(crowded(words=50))
    places = [text.index(f"\n{number}  Finding number {number - 1}\n   worth  ") for number in (1, 2, 3)]
    assert places == sorted(places)
    assert text.index("\n3  Finding number 2") < text.index("\n1  why    word word")
    assert "\n4  " not in text
    assert text.count("\n1  why    ") == text.count("why    ") == 1


def test_one_finding_says_once_what_to_do() -> None:
    finding = Finding("x", "info", "It is slow", ("seen",), remedy="Do this, and that. Then measure.")
    text = shown(msgspec.structs.replace(simulated("sync_in_loop"), findings=(finding,)))
    assert "\n1  It is slow\n   why    seen\n   do     Do this, and that. Then measure.\n" in text


@WIDTHS
def test_nothing_on_the_screen_is_longer_than_a_reader_reads(width: int) -> None:
    long = "Do one thing after the other, and measure what it brings each time. " * 9
    command = "rocm-perf analyze " + "a_very_long_folder/" * 20 + "run --show gaps"
    finding = Finding("x", "info", "It is slow", ("seen",), remedy=long, next_command=command)
    document = msgspec.structs.replace(simulated("sync_in_loop"), findings=(finding, finding))
    text = shown(document, width)
    told = " ".join(text.partition("1  why")[2].partition("do ")[2].partition("\n\n")[0].split())
    assert told == " ".join(["Do one thing after the other, and measure what it brings each time."] * 3)
    assert "a_very_long_folder" not in text
    assert "a_very_long_folder" in shown_sections(document, 500)


@WIDTHS
def test_a_long_name_leaves_room_for_what_is_said_of_it(width: int) -> None:
    name = "gemm_" + "x" * 300 + "_end"
    finding = Finding("x", "info", f"{name} takes half of the kernel time", (f"{name} is slow",))
    text = shown(msgspec.structs.replace(simulated("sync_in_loop"), findings=(finding,)), width)
    said = " ".join(text.split())
    assert "x_end takes half of the kernel time why gemm_x" in said
    assert "x_end is slow" in said


def test_the_answer_names_cause_gain_remedy_and_verdict() -> None:
    text = " ".join(shown(simulated("sync_in_loop")).split())
    for text_part in (
        "before the first GPU work 23.9 us | steady 7.01 ms: 60 steps of 117 us",
        "Of 7.03 ms the GPU computes 2.32 ms (33.0 %) and is idle for 4.71 ms (66.9 %): the host's waiting is the",
        "Idle host launches 35.9 %, host waits for the GPU 30.6 %",
        "1 The host waits for the GPU 360 times, in hipStreamSynchronize, and launches late because of it",
        "1 why the host prepares and launches kernels after a wait: 2.52 ms in 359 gaps",
        "worth 4.14 ms of 7.03 ms (2.4 times as fast), re-timed",
        "do Wait once, before the host reads a result",
        "share total calls mean path",
        "360 launches, 360 kernels recorded, 360 paired (100.0 %)",
        "More --show any of projections, scorecard, ledger, gaps, sync, launches, host",
    ):
        assert text_part in text


def test_a_long_command_is_continued_as_a_shell_reads_it() -> None:
    command = f"rocm-perf analyze {'folder/' * 9}run --show sync,gaps"
    finding = Finding("x", "info", "Something", ("seen",), next_command=command)
    document = msgspec.structs.replace(simulated("sync_in_loop"), findings=(finding,))
    lines = shown(document).splitlines()
    start = next(place for place, text in enumerate(lines) if text.startswith("   see"))
    said = " ".join(lines[start : start + 3]).replace("\\", " ").split()
    assert " ".join(said[1:]).startswith(command)


def test_top_and_full_names() -> None:
    name = "void family::kernel<float, " + "x" * 120 + ">(int)"
    document = overview(trace(dispatches=[kernel(name, 0, 5), kernel("other", 9, 11)]), "x")
    text = shown(document, view=View(top=1, full_names=True))
    assert name.replace(" ", "") in "".join(text.split())
    assert "1 more kernel" in text


def test_one_of_several_runs_is_brief() -> None:
    text = shown(simulated("sync_in_loop"), view=View(brief=True))
    assert len(text.splitlines()) <= 25
    assert "Scorecard" not in text


def test_markup_and_control_characters_in_a_recording_are_text() -> None:
    text = shown(overview(trace(dispatches=[kernel("[red]k[/]", 0, 5)]), "[bold]x[/]\x1b[31m"))
    assert "[red]k[/]" in text
    assert "\x1b" not in text


def test_a_section_with_nothing_says_why() -> None:
    out = io.StringIO()
    console = Console(file=out, width=100, highlight=False)
    print_sections(overview(trace(), "x"), ["energy"], console, View(width=100))
    assert "Energy  unavailable: no power was read" in out.getvalue()


@pytest.mark.parametrize("width", [80, 100, 120, 160])
def test_the_line_about_the_start_up_ends_with_a_whole_clause(width: int) -> None:
    said = (
        "90.9 % of the recording happens once: 431 ms of 474 ms; 5.04 ms before the steady state are steps as well; "
        "until the steps the GPU works 8.46 ms of 313 ms, in 151 kernels, and for 178 ms the host is in no recorded "
        "call (it may compile or prepare input)"
    )
    rows = start_up(said, width)
    shown = " ".join(row.plain.strip() for row in rows).removeprefix("Start-up  ")
    assert len(rows) <= 2
    assert said.startswith(shown)
    assert said[len(shown) :][:2] in ("", "; ", ", ", " (")
