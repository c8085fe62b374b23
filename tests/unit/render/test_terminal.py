"""The terminal view: names that fit, and never more than a screenful."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from rocm_perf.analysis.overview import overview
from rocm_perf.render.terminal import View, _squeezed, print_document
from tests.unit.analysis.traces import call, kernel, trace


@given(st.text(st.characters(codec="ascii"), max_size=80), st.integers(5, 60))
def test_squeezed_names_fit_and_keep_both_ends(name: str, room: int) -> None:
    short = _squeezed(name, room)
    assert len(short) <= room
    if len(name) > room:
        assert short[0] == name[0]
        assert short[-1] == name[-1]
    else:
        assert short == name


@pytest.mark.parametrize("width", [80, 160])
def test_a_crowded_recording_stays_within_forty_lines(width: int) -> None:
    kernels = [
        kernel(f"void family::kernel_{i}<float, {i}>(int)", 100 * i, 100 * i + 40, correlation_id=i)
        for i in range(60)
    ]
    waits = [call("hipStreamSynchronize", 100 * i, 100 * i + 60) for i in range(60)]
    launches = [call("hipLaunchKernel", 100 * i - 5, 100 * i, i + 7) for i in range(60)]
    copied = {"start_ns": 0, "end_ns": 9, "size_bytes": 64, "agent_id": 0}
    copies = [{"kind": kind, **copied} for kind in ("H2D", "D2H", "P2P")]
    recording = trace(dispatches=kernels, api_calls=waits + launches, copies=copies)
    out = io.StringIO()
    console = Console(file=out, width=width, highlight=False)
    print_document(overview(recording, "x"), console, View(width=width))
    lines = out.getvalue().splitlines()
    assert len(lines) <= 40
    assert all(len(line) <= width for line in lines)
    assert "synchronises after nearly every kernel" in " ".join(out.getvalue().split())
    assert "kernel_1" in out.getvalue()


def test_markup_in_a_recording_is_text() -> None:
    out = io.StringIO()
    console = Console(file=out, width=100, highlight=False)
    print_document(
        overview(trace(dispatches=[kernel("[red]k[/]", 0, 5)]), "[bold]x[/]"), console, View(width=100)
    )
    assert "[red]k[/]" in out.getvalue()
