from __future__ import annotations

import io
from collections.abc import Sequence

import pytest
from msgspec.structs import replace
from rich.console import Console

from rocm_perf.analysis.compare.populations import compare
from rocm_perf.analysis.compare.runs import Recording
from rocm_perf.model.finding import Finding
from rocm_perf.model.results.check import Check
from rocm_perf.model.results.comparison import Comparison
from rocm_perf.render.screen.comparison import print_comparison
from tests.unit.analysis.compare.programs import MM, RELU, Op, program
from tests.unit.analysis.compare.sides import loop, side
from tests.unit.analysis.traces import Row, call, kernel, trace

US = 1000


def shown(comparison: Comparison, width: int = 80, top: int = 10) -> list[str]:
    console = Console(width=width, file=io.StringIO(), highlight=False)
    print_comparison(comparison, console, top)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]  # type: ignore[attr-defined]


def compared(base: Sequence[Row], new: Sequence[Row]) -> Comparison:
    gone = Finding("sync", "warning", "Synchronises [often]", time_at_stake_ns=9 * US)
    came = Finding("copy", "warning", "Copies too much")
    calls = [call("hipMalloc", 0, US)]
    sides = trace(dispatches=base, api_calls=calls), trace(dispatches=new, api_calls=calls)
    return compare(
        [Recording("a.db", sides[0], (gone,))], [Recording("b.csv", sides[1], (came,))], ("a.db", "b.csv")
    )


LONG = "void " + "very_" * 40 + "long_kernel(int)"
BASE = [kernel("gemm", 2 * US, 12 * US), kernel("old [x]", 20 * US, 24 * US), kernel(LONG, 30 * US, 31 * US)]
NEW = [kernel("gemm", 2 * US, 7 * US), kernel("fresh", 8 * US, 9 * US), kernel(LONG, 10 * US, 12 * US)]


def test_what_is_said() -> None:
    lines = shown(compared(BASE, NEW))
    assert lines[0] == "a.db -> b.csv"
    assert lines[1] == "Wall of a run: 31.0 us -> 12.0 us, 2.58x faster; one run each: no interval"
    text = "\n".join(lines)
    assert "-7.00 us  15.0 us  8.00 us" in text
    assert "kernels running" in text
    assert "-19.0 us  31.0 us  12.0 us" in text
    assert "sum: the wall" in text
    assert "-5.00 us  10.0 us -> 5.00 us      1   -50.0 %  gemm" in text
    assert "Appeared: fresh (1.00 us)" in text
    assert "Vanished: old [x] (4.00 us)" in text
    assert "+ new: Copies too much" in text
    assert "- gone: Synchronises [often] (9.00 us of a run at stake)" in text
    assert "Without an interval, a difference may be noise." in text


def test_one_kernel_is_one_kernel() -> None:
    assert "1 kernel of a run. " in "\n".join(shown(compared(BASE[:1], NEW[:1])))


@pytest.mark.parametrize("width", [80, 160])
@pytest.mark.parametrize("runs", [1, 3])
@pytest.mark.whole
def test_lines_fit(width: int, runs: int) -> None:
    checks = (Check("kernel:" + "x" * 300 + ".median>5%", "failed", ("y" * 300, "z " * 300)),)
    many = compare(
        side(*(loop(seed, 100.0) for seed in range(runs))), side(*(loop(seed, 110.0) for seed in range(runs)))
    )
    for comparison in (compared(BASE, NEW), many, replace(many, checks=checks)):
        lines = shown(comparison, width)
        assert max(map(len, lines)) <= width
        assert len(lines) <= 60


def test_a_slower_run_is_called_slower() -> None:
    assert "2.58x slower" in shown(compared(NEW, BASE))[1]


def test_several_runs_have_intervals() -> None:
    base, new = (
        [loop(seed + shift, length) for seed in range(4)] for shift, length in ((0, 100.0), (50, 115.0))
    )
    comparison = compare(side(*base), side(*new))
    lines = shown(comparison, 160)
    assert lines[0] == "before (4 runs) -> after (4 runs)"
    assert lines[1].startswith("Wall of a step: ")
    assert lines[1].endswith(" at 95 %)")
    assert "2 kernels of a step. Compared: 12 steady steps of each run (ranges named 'step')." in lines
    (gemm,) = (line for line in lines if line.endswith("Cijk_Alik_Bljk_BBS_BH MT64x32x128"))
    assert "slower" in gemm
    assert gemm.count("%") == 3  # the change, and its interval
    assert gemm.count("+1") >= 3
    assert "slower" in "\n".join(shown(comparison, 80))


def test_no_difference_that_several_runs_show() -> None:
    runs = side(*(loop(seed, 100.0) for seed in range(6)))
    lines = shown(compare(runs[:3], runs[3:]))
    assert "no difference shown: " in lines[1]
    assert any("The runs show no kernel to be faster or slower" in line for line in lines)


def test_no_difference() -> None:
    same = shown(compared(BASE, BASE))
    assert same[1] == "Wall of a run: 31.0 us -> 31.0 us, 0 %; one run each: no interval"
    assert "No difference in 3 kernels." in same


def test_a_renamed_kernel_has_both_names() -> None:
    base = [kernel("norm", 0, US), kernel("flash_fwd_kernel_v2", 2 * US, 3 * US)]
    new = [kernel("norm", 0, US), kernel("fmha_fwd_d128", 2 * US, 4 * US)]
    lines = shown(compared(base, new), 120)
    assert any(line.endswith("~ flash_fwd_kernel_v2 -> fmha_fwd_d128") for line in lines)


def test_checks_come_before_the_rest_and_failures_first() -> None:
    checks = (
        Check("wall>9%", "passed", ("fine", "unsaid")),
        Check("wall>3%", "undecided", ("one", "two")),
        Check("wall>1%", "failed", ("more",)),
    )
    lines = shown(replace(compared(BASE, NEW), checks=checks))
    start = lines.index("Checks")
    assert lines[start + 1 : start + 8] == [
        "✗ failed: wall>1%",
        "    more",
        "! undecided: wall>3%",
        "    one",
        "    two",
        "i passed: wall>9%",
        "    fine",
    ]
    assert start < lines.index("Where the difference comes from")


def test_top_limits_the_kernels() -> None:
    assert "and 1 more (--top N shows more)" in shown(compared(BASE, NEW), top=1)


def test_several_gpus() -> None:
    two = [*BASE, *({**row, "agent_id": 1} for row in BASE)]
    shorter = [*BASE, *({**row, "agent_id": 1} for row in BASE[:2])]
    lines = shown(compared(two, shorter))
    heading = lines.index("By GPU")
    assert lines[heading + 2].split() == ["0", "0", "0", "0", "0", "GPU", "0"]
    assert lines[heading + 3].split() == ["0", "-1.00", "us", "0", "-6.00", "us", "+7.00", "us", "GPU", "1"]


def test_operators() -> None:
    attention = Op("aten::_flash_attention", 90, inside="aten::attention")
    other = attention._replace(name="aten::_efficient_attention", gpu_us=30)
    lines = shown(compare(side(program(attention, RELU)), side(program(other, MM))), 100)
    start = lines.index("Operators")
    assert lines[start + 1] == (
        "Of a run, operators own 110 us -> 130 us (+20.0 us) on the GPU and 15.0 us -> 20.0 us (+5.00 us) on"
    )
    text = "\n".join(lines[start:])
    assert "Only before: aten::relu (20.0 us on the GPU)." in text
    assert "Only after: aten::mm (100 us on the GPU)." in text
    assert "-60.0 us  90.0 us -> 30.0 us  -66.7 %" in text
    assert "~ aten::_flash_atte…_efficient_attention" in text


def test_operators_of_several_runs_have_intervals() -> None:
    base, new = ([program(MM._replace(gpu_us=us + run), RELU) for run in range(5)] for us in (100, 50))
    lines = shown(compare(side(*base), side(*new)), 160)
    (product,) = (line for line in lines[lines.index("Operators") :] if line.endswith("aten::mm"))
    assert "faster" in product
    assert product.count("%") == 3  # the change, and its interval


@pytest.mark.parametrize(("width", "before_and_after"), [(80, False), (120, True)])
def test_what_became_of_the_work_fits_a_narrow_terminal(width: int, before_and_after: bool) -> None:
    eager = program(MM, Op("aten::silu", 20), Op("aten::mul", 20), Op("aten::sum", 5))
    compiled = program(MM._replace(kernel="k"), Op("triton_poi_fused_mul_silu_0", 25))
    lines = shown(compare(side(eager), side(compiled)), width)
    rows = lines[: lines.index("Three views of the difference") - 1][-4:]
    assert ("before" in rows[0]) == before_and_after
    fused, gone, other = rows[1:]
    assert fused.endswith("_poi_fused_mul_silu")
    assert (gone.split()[-2:], other.split()[-1]) == (["went", "aten::sum"], "k")


def test_operators_that_did_not_change() -> None:
    same = program(MM, RELU)
    assert "No difference in 2 operators." in shown(compare(side(same), side(same)))


def test_recordings_without_operators() -> None:
    assert "no framework operator was recorded" in "\n".join(shown(compared(BASE, NEW), 160))


def test_without_times() -> None:
    summary = [{"domain": "kernel", "name": "k", "calls": 2, "total_ns": 30.0, "mean_ns": 15.0}]
    sides = (side(trace(summaries=summary)), side(trace(summaries=summary)))
    assert shown(compare(*sides))[1] == "Wall unavailable: run 0, run 0: no event with a time"
