"""What an optimisation did, in a terminal and as a page."""

from __future__ import annotations

import io

import pytest
from msgspec.structs import replace
from rich.console import Console

from rocm_perf.model.results.optimize import Attempt, GatePassage, Optimization, Resources, Speedup
from rocm_perf.render.page.optimization import optimization_page
from rocm_perf.render.screen.optimization import attempt_line, print_optimization

PATCH = (
    "--- a/k.hip\n+++ b/k.hip\n@@ -1 +1,2 @@\n+#pragma unroll 4  // <script>alert(1)</script>\n for (;;) {}\n"
)


def speedup(value: float) -> Speedup:
    return Speedup(
        base_ns=80_000, new_ns=80_000 / value, value=value, interval=(value - 0.01, value + 0.01), how="toy"
    )


def attempt(number: int, **other: object) -> Attempt:
    made = {"round": 0, "key": str(number), "by": "unroll", "patch": PATCH, **other}
    return Attempt(number=number, **made)  # type: ignore[arg-type]


PASSED = GatePassage(gate="text", passed=True, words="only k differs")
SPILLS = GatePassage(gate="resources", passed=False, words="it spills 12 registers")
RESULT = Optimization(
    source="k.hip",
    kernel="k",
    arch="gfx942",
    compiler="hipcc 6.4",
    cause="memory: of 5.3 TB/s it reaches 4.1",
    conclusion="improved",
    reason="1 of 3 candidates accepted; nothing of yours was changed.",
    share=0.87,
    best_case=1.9,
    best_case_basis="with the kernel at its roof",
    attempts=(
        attempt(1, name="unroll by 4: loop in line 3", verdict="accepted", reason="", passages=(PASSED,),
                replay=speedup(1.25)),
        attempt(2, name="unroll by 8: loop in line 3", verdict="rejected", reason="resources: it spills 12 registers",
                passages=(PASSED, SPILLS), before=Resources(vgprs=32, spills=0), after=Resources(vgprs=64, spills=12)),
        attempt(3, name="restrict", verdict="no gain", reason="1.000x, in a first look", replay=speedup(1.0)),
        attempt(4, name="unroll: loop in line 9", verdict="not proposed", reason="it holds a barrier", patch=""),
    ),
    gain=speedup(1.25),
    kernels_gain=speedup(1.2),
    program_gain=speedup(1.05),
    diff=PATCH,
)  # fmt: skip


def printed(width: int) -> str:
    out = io.StringIO()
    print_optimization(RESULT, Console(file=out, width=width), "rocm-perf optimize k.hip --apply")
    return out.getvalue()


@pytest.mark.parametrize("width", [80, 160])
def test_the_answer_comes_first_and_fits(width: int) -> None:
    text = printed(width)
    assert text.startswith("Improved: 1.250x [1.240, 1.260] in replay.")
    assert max(map(len, text.splitlines())) <= width
    assert "20.0 % less time" in text
    assert "3 candidates: 1 accepted, 1 rejected, 1 no gain" in text
    assert "2: resources: it spills 12 registers" in text
    assert "first look" not in text  # the time in the table says it
    assert "32 -> 64" in text
    assert "unroll: loop in line 9: it holds a barrier" in text
    assert text.rstrip().endswith("Next  rocm-perf optimize k.hip --apply")


def test_a_line_for_each_attempt_as_it_ends() -> None:
    assert attempt_line(RESULT.attempts[1]).startswith("2. unroll by 8: loop in line 3: rejected; resources:")


def test_the_time_is_told_once() -> None:
    told = attempt(5, name="restrict", verdict="no gain", reason="1.000x [0.990, 1.010], in a first look",
                   replay=speedup(1.0))  # fmt: skip
    assert attempt_line(told) == "5. restrict: no gain; 1.000x [0.990, 1.010], in a first look"


def test_a_line_of_the_change_is_never_cut() -> None:
    out, long = io.StringIO(), f"+{'x' * 300};"
    print_optimization(replace(RESULT, diff=f"{PATCH}{long}\n"), Console(file=out, width=80), "")
    assert long in out.getvalue().splitlines()


def test_lines_of_a_changed_text_are_told_from_those_of_the_source() -> None:
    later = attempt(5, name="restrict", verdict="no gain", reason="", replay=speedup(1.0), round=1)
    unproposed = attempt(
        6, name="unroll: loop in line 99", verdict="not proposed", reason="", patch="", round=1
    )
    out = io.StringIO()
    both = replace(RESULT, attempts=(*RESULT.attempts, later, unproposed))
    print_optimization(both, Console(file=out, width=80), "")
    assert "round" in out.getvalue()
    assert "round" not in printed(80)
    assert "line 99" not in out.getvalue()


def test_the_page_has_everything_and_runs_nothing_of_it() -> None:
    page = optimization_page(RESULT)
    assert "Improved: 1.250x" in page
    assert "#pragma unroll 4" in page
    assert "<script>alert" not in page
    for one in RESULT.attempts:
        assert one.name in page
