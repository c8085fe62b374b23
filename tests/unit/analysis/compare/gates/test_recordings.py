"""Limits on runs of a program whose change is known."""

from __future__ import annotations

from functools import cache

import pytest

from rocm_perf.analysis.compare.gates.expressions import parse
from rocm_perf.analysis.compare.gates.recordings import judge, require_known
from rocm_perf.analysis.compare.populations import compare
from rocm_perf.analysis.compare.runs import Recording
from rocm_perf.errors import UsageError
from rocm_perf.model.finding import Finding
from rocm_perf.model.results.check import Check, Outcome
from rocm_perf.model.results.comparison import Comparison
from rocm_perf.model.trace import Trace
from tests.unit.analysis.compare.programs import MM, Op, program
from tests.unit.analysis.compare.sides import compared, loop, side
from tests.unit.analysis.traces import call, kernel, trace


@cache
def slower() -> Comparison:
    """Four runs of a loop beside four whose matrix product takes a tenth longer."""
    base, new = ([loop(seed + first, us) for seed in range(4)] for first, us in ((0, 100.0), (50, 110.0)))
    return compare(side(*base), side(*new))


def judged(text: str, comparison: Comparison | None = None) -> Check:
    expression = parse(text)
    require_known([expression])
    (check,) = judge(comparison or slower(), [expression])
    return check


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        ("wall>3%", "failed"),
        ("wall>20%", "passed"),
        ("wall>+5us", "failed"),
        ("wall>+50us", "passed"),
        ("wall>3% and +50us", "passed"),
        ("wall>50us", "failed"),
        ("wall>1s", "passed"),
        ("kernel:cijk*.median>5%", "failed"),
        ("kernel:GEMM.median>5%", "failed"),
        ("kernel:*norm*.median>5%", "passed"),
        ("kernel:*.total>50%", "passed"),
        ("kernel:*.calls>+0", "passed"),
        ("kernels>+0", "passed"),
        ("kernels>1", "failed"),
        ("findings>0", "passed"),
    ],
)
def test_a_known_change(limit: str, expected: Outcome) -> None:
    assert judged(limit).outcome == expected


def test_a_limit_within_the_interval_is_undecided() -> None:
    low, high = slower().wall.interval or (0, 0)
    check = judged(f"wall>{50 * (low + high) - 100:.4f}%")
    assert check.outcome == "undecided"
    assert "more runs narrow it" in check.details[0]


def test_an_unknown_kernel_fails_closed() -> None:
    check = judged("kernel:nothing*.median>5%")
    assert check.outcome == "undecided"
    assert check.details[0].startswith("no kernel matches 'nothing*'; there are Cijk_Alik")


def test_one_run_each_fails_closed() -> None:
    alone = compared(loop(0, 100.0), loop(0, 100.0), whole=False)
    for limit in ("wall>50%", "kernel:*.median>50%", "kernel:*.total>+1s"):
        check = judged(limit, alone)
        assert check.outcome == "undecided"
        assert "one run each: no interval" in check.details[0]
    assert judged("kernels>+0", alone).outcome == "passed"  # a count needs no interval


def test_walls_that_do_not_mean_the_same_fail_closed() -> None:
    whole = trace(dispatches=[kernel("k", 5, 10)], api_calls=[call("hipMalloc", 0, 5)])
    alone = trace(dispatches=[kernel("k", 5, 10)])
    check = judged("wall>3%", compare(side(whole, whole), side(alone, alone)))
    assert check.outcome == "undecided"
    assert "the walls span different things" in check.details[0]


def test_a_recording_without_times_fails_closed() -> None:
    summary = trace(
        summaries=[{"domain": "kernel", "name": "k", "calls": 2, "total_ns": 30.0, "mean_ns": 15.0}]
    )
    for limit in ("wall>3%", "kernel:k.median>3%"):
        assert judged(limit, compare(side(summary, summary), side(summary, summary))).outcome == "undecided"


def test_a_kernel_that_appeared() -> None:
    old, fresh = kernel("k", 0, 10), kernel("fresh", 20, 25)
    base, new = trace(dispatches=[old]), trace(dispatches=[old, fresh])
    comparison = compare(side(base, base), side(new, new))
    assert judged("kernel:fresh.total>+10ns", comparison).outcome == "passed"
    assert judged("kernel:fresh.total>+4ns", comparison).outcome == "failed"
    assert judged("kernel:fresh.total>90%", comparison).outcome == "failed"
    median = judged("kernel:fresh.median>5%", comparison)
    assert (median.outcome, "it appeared" in median.details[0]) == ("undecided", True)
    assert judged("kernel:fresh.total>5%", compare(side(new, new), side(base, base))).outcome == "passed"


@pytest.mark.parametrize("runs", [1, 3])
def test_a_kernel_that_vanished_takes_no_longer(runs: int) -> None:
    base, new = (
        trace(dispatches=[kernel("k", 0, 10), kernel("old", 20, 25)]),
        trace(dispatches=[kernel("k", 0, 10)]),
    )
    comparison = compare(side(*[base] * runs), side(*[new] * runs))
    for limit in (
        "kernel:old.median>5%",
        "kernel:old.total>5%",
        "kernel:old.total>+1ns",
        "kernel:old.calls>+0",
    ):
        assert judged(limit, comparison).outcome == "passed"


def test_counts_that_vary_between_runs() -> None:
    one, two = [kernel("k", 0, 10)], [kernel("k", 0, 10), kernel("k", 20, 30)]
    comparison = compare(side(trace(dispatches=one)), side(trace(dispatches=one), trace(dispatches=two)))
    assert judged("kernels>+0", comparison).outcome == "undecided"
    assert judged("kernels>+1", comparison).outcome == "passed"


def test_findings_that_came() -> None:
    run = trace(dispatches=[kernel("k", 0, 10)])
    came = Recording("new", run, (Finding("sync", "warning", "waits"),))
    comparison = compare(side(run), [came])
    assert judged("findings>0", comparison).outcome == "failed"
    assert judged("findings>1", comparison).outcome == "passed"
    assert judged("findings>+1", comparison).outcome == "undecided"


@pytest.mark.parametrize("limit", ["step>3%", "median>3%", "kernel:*.wall>3%", "wall>5", "findings>3us"])
def test_unknown_quantities_are_refused(limit: str) -> None:
    with pytest.raises(UsageError):
        require_known([parse(limit)])


def test_an_empty_comparison_passes_nothing() -> None:
    empty = compared(Trace({}), Trace({}))
    assert judged("wall>3%", empty).outcome == "undecided"
    assert judged("kernel:*.total>3%", empty).outcome == "undecided"


ATTENTION = Op("aten::_flash_attention", 90, inside="aten::sdpa", module="Net_0/Layer_1/Attention_1")


@cache
def of_models(*, gpu_us: int = 90, module: str = ATTENTION.module) -> Comparison:
    """Models whose attention takes that long after the change; three runs each."""
    after = ATTENTION._replace(gpu_us=gpu_us, module=module)
    base, new = (
        side(*(program(MM, one._replace(gpu_us=one.gpu_us + run)) for run in range(3)))
        for one in (ATTENTION, after)
    )
    return compare(base, new)


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        ("operator:aten::mm*.total>5%", "passed"),
        ("operator:*flash*.total>5%", "failed"),
        ("operator:attention.total>5%", "failed"),
        ("operator:*.calls>+0", "passed"),
        ("operator:aten::_flash_attention.host>5%", "passed"),
        ("module:*Attention.total>5%", "failed"),
        ("module:Attention.total>5%", "failed"),
        ("module:Net.total>5%", "failed"),
        ("module:Net/Layer/Attention.calls>+0", "passed"),
        ("module:Net.host>5%", "passed"),
        ("operator:aten::bmm.total>5%", "undecided"),
        ("module:Linear.total>5%", "undecided"),
    ],
)
def test_a_known_change_of_a_model(limit: str, expected: Outcome) -> None:
    assert judged(limit, of_models(gpu_us=120)).outcome == expected


def test_what_was_not_recorded_is_undecided_and_says_why() -> None:
    silent = of_models(module="")
    assert judged("module:*.total>5%", silent).details == (
        "no module can be compared: no nn.Module was recorded (torch.profiler: with_stack=True) in run 0, run 1, run 2",
    )
    bare = trace(dispatches=[kernel("k", 0, 10)])
    assert judged("operator:*.total>5%", compared(bare, bare)).details == (
        "no framework operator was recorded (torch.profiler records them)",
    )


@pytest.mark.parametrize(
    "limit", ["operator:aten::mm.median>5%", "module:Net.spills>5%", "operator:aten::mm>5%"]
)
def test_operators_and_modules_have_quantities_of_their_own(limit: str) -> None:
    with pytest.raises(UsageError, match="cannot judge"):
        judged(limit)
