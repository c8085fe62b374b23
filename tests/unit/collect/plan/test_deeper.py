"""Which kernels matter, which of their launches are counted, and what the further runs are about to cost."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from msgspec.structs import replace

from rocm_perf.backends.base import Wish
from rocm_perf.backends.machine import Machine
from rocm_perf.collect.plan.deeper import (
    KernelTime,
    Traced,
    account,
    announcement,
    further,
    kernels_that_matter,
    launches_to_count,
    pattern,
    prospect,
)
from rocm_perf.collect.plan.plan import plans
from rocm_perf.collect.request.request import Depth, Request
from tests.unit.backends.machines import amd, nvidia

HERE = Path("/out")
MS = 1_000_000


def request(deep: Depth = "asked") -> Request:
    return Request(command=("./app",), preset="auto", wish=Wish(domains=("kernel", "hip")), deep=deep)


def dispatches(*launches: tuple[str, int]) -> pl.DataFrame:
    """Kernels one after the other, each with its time in milliseconds."""
    starts = [100 * MS * at for at in range(len(launches))]
    return pl.DataFrame(
        {
            "kernel": [name for name, _ in launches],
            "start_ns": starts,
            "end_ns": [start + ms * MS for start, (_, ms) in zip(starts, launches, strict=True)],
        }
    )


def test_kernels_that_hold_nine_tenths_of_the_time_matter() -> None:
    found = kernels_that_matter(dispatches(("b", 30), ("a", 40), ("b", 25), ("c", 4), ("d", 1)))
    assert [(kernel.name, kernel.share, kernel.launches_ns) for kernel in found] == [
        ("b", 0.55, (30 * MS, 25 * MS)),
        ("a", 0.4, (40 * MS,)),
    ]


def test_ten_of_many_equal_kernels_are_enough() -> None:
    found = kernels_that_matter(dispatches(*((f"k{number:02}", 5) for number in range(40))))
    assert [kernel.name for kernel in found] == [f"k{number:02}" for number in range(10)]
    assert kernels_that_matter(dispatches()) == ()


@pytest.mark.parametrize(
    ("launches", "numbers"),
    [
        ([(5,)], (1,)),
        ([(5, 5)], (2,)),
        ([(9, 5, 5, 5, 5)], (2, 3)),
        ([(5,), (3, 3, 3)], (1, 2, 3)),
        ([(1, 1, 1, 1, 1, 1, 7, 1)], (2, 3, 7)),
    ],
)
def test_warm_launches_are_counted_and_the_longest_where_they_differ(
    launches: list[tuple[int, ...]], numbers: tuple[int, ...]
) -> None:
    kernels = [KernelTime(f"k{at}", 0.5, times) for at, times in enumerate(launches)]
    assert launches_to_count(kernels) == numbers


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("saxpy", "saxpy"),
        ("void tmpl<3, float>(T2 *, int)", "tmpl"),
        ("bank(float*, int)", "bank"),
        ("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>(float)", "reduce_kernel"),
        ("_ZN2ns3fooEPf", "foo"),
        ("Cijk_Ailk_Bljk_HHS_BH_MT128x128x32.kd", r"Cijk_Ailk_Bljk_HHS_BH_MT128x128x32\.kd"),
    ],
)
def test_kernels_are_found_however_their_parameters_are_spelled(name: str, found: str) -> None:
    assert pattern([name, name]) == found


def test_on_amd_the_program_runs_once_for_each_pass() -> None:
    machine = amd(tools=("rocprofv3",))
    (plan, *_) = plans(request(), machine, HERE)
    traced = Traced(dispatches(("foo(int)", 60), ("bar(int)", 35), ("rest", 5)), 2_000 * MS)
    more = further(plan, request(), machine, HERE, traced)
    assert more.plan is not None
    assert more.record is not None
    assert [run.folder for run in more.plan.runs] == ["pass_2", "pass_3", "pass_4"]
    assert (more.record.runs, more.record.estimated_ns, more.record.launches) == (3, 6_000 * MS, ())
    assert announcement(more.record) == (
        "counters that tell why kernels take their time, of 2 kernels with 95.0 % of the kernel time (foo, bar): the "
        "program runs 3 more times, about 6.00 s"
    )
    for run in more.plan.runs:
        at = run.command.argv.index("--kernel-include-regex")
        assert run.command.argv[at + 1] == "foo|bar"


def test_on_nvidia_a_few_launches_are_replayed_in_one_run() -> None:
    machine = nvidia_with_ncu()
    (plan, *_) = plans(request(), machine, HERE)
    launches = [("void ns::foo<3>(int)", 10)] * 9 + [("bar(int)", 5)]
    more = further(plan, request(), machine, HERE, Traced(dispatches(*launches), 2_000 * MS))
    assert more.plan is not None
    assert more.record is not None
    (run,) = more.plan.runs
    assert run.command.argv[run.command.argv.index("--kernel-id") + 1] == "::regex:foo:^(2|3)$"
    assert "--launch-count" not in run.command.argv
    assert more.record.launches == (2, 3)
    # The program, the start of ncu, and eight replays of two launches of 10 ms with 30 ms each for memory.
    assert more.record.estimated_ns == (2_000 + 3_000 + 8 * (2 * 30 + 20)) * MS


def test_kernels_that_the_user_chose_are_counted_whatever_their_share() -> None:
    machine = nvidia_with_ncu()
    asked = replace(request(), wish=replace(request().wish, kernel_include="^(?!fill)"))
    (plan, *_) = plans(asked, machine, HERE)
    launches = [("fill(float*)", 50)] * 9 + [("a(int)", 1), ("b(int)", 1)]
    more = further(plan, asked, machine, HERE, Traced(dispatches(*launches), 2_000 * MS))
    assert more.plan is not None
    assert more.record is not None
    assert more.record.kernels == ("a(int)", "b(int)")
    (run,) = more.plan.runs
    assert run.command.argv[run.command.argv.index("--kernel-id") + 1] == "::regex:^(?!fill):1"


def nvidia_with_ncu() -> Machine:
    return nvidia(tools=("cupti", "cupti.h", "c++", "ncu"))


@pytest.mark.parametrize(("seconds", "sets"), [(15, ("limits",)), (40, ("limits_first",)), (61, None)])
def test_unasked_the_runs_take_less_than_a_minute(seconds: int, sets: tuple[str, ...] | None) -> None:
    machine = amd(tools=("rocprofv3",))
    (plan, *_) = plans(request("short"), machine, HERE)
    traced = Traced(dispatches(("foo(int)", 60)), seconds * 1_000 * MS)
    more = further(plan, request("short"), machine, HERE, traced)
    assert (more.record.counters if more.record else None) == sets
    if sets is None:
        assert more.refusal == "3 more times would take about 183 s; --deep records them all the same"


def test_with_a_decoder_the_longest_kernel_is_traced_thread_by_thread() -> None:
    machine = amd(tools=("rocprofv3", "att-decoder"))
    (plan, *_) = plans(request(), machine, HERE)
    traced = Traced(dispatches(("foo(int)", 60), ("bar(int)", 35)), 2_000 * MS)
    more = further(plan, request(), machine, HERE, traced)
    assert more.plan is not None
    *counted, last = more.plan.runs
    assert [run.purpose for run in counted] == ["counters"] * 3
    assert last.purpose == "thread trace"
    assert last.command.argv[last.command.argv.index("--kernel-include-regex") + 1] == "foo"


def test_what_may_follow_is_said_only_where_it_may() -> None:
    machine = amd(tools=("rocprofv3",))
    (plan, *_) = plans(request(), machine, HERE)
    assert prospect(plan, request("no"), machine, HERE) == ""
    assert prospect(plan, request("asked"), machine, HERE).startswith("afterwards: counters (the set limits)")
    assert "less than a minute" in prospect(plan, request("short"), machine, HERE)


def test_afterwards_the_cost_is_said_beside_what_was_expected() -> None:
    machine = amd(tools=("rocprofv3",))
    (plan, *_) = plans(request(), machine, HERE)
    more = further(plan, request(), machine, HERE, Traced(dispatches(("foo(int)", 60)), 1_000 * MS))
    assert more.record is not None
    assert account(more.record) == "the counters took 0 ns (3 more times; about 3.00 s was expected)"
