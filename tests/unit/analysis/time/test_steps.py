"""Steps: from ranges, or from the sequence of kernels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.analysis.time.sequence import FEWEST_STEPS
from rocm_perf.analysis.time.steps import steps
from rocm_perf.model.trace import Trace
from rocm_perf.sim.workload import read_workload
from tests.sim.recorded import recorded
from tests.unit.analysis.traces import Row, call, kernel, trace

EXAMPLES = Path(__file__).parents[4] / "examples" / "workloads"


def sequence(names: list[str], ranges: Sequence[Row] = ()) -> Trace:
    dispatches = [kernel(name, 10 * i, 10 * i + 4) for i, name in enumerate(names)]
    return trace(dispatches=dispatches, ranges=ranges) if ranges else trace(dispatches=dispatches)


def mark(name: str, start: int, end: int) -> Row:
    return {"name": name, "source": "record_function", "start_ns": start, "end_ns": end}


@pytest.mark.parametrize(("name", "count", "kernels"), [("slivers", 100, 6), ("copy_in_loop", 30, 3)])
def test_ranges_of_one_name_that_hold_the_kernels(name: str, count: int, kernels: int) -> None:
    loop = steps(recorded(read_workload(EXAMPLES / f"{name}.toml")))
    assert len(loop.steps) == count
    assert loop.kernels_per_step.value == kernels
    assert loop.found_by.startswith("ranges named")


def test_profiler_steps_come_first() -> None:
    marks = [mark(f"ProfilerStep#{i}", 40 * i, 40 * i + 40) for i in range(3)]
    loops = [mark("inner", 20 * i, 20 * i + 20) for i in range(6)]
    loop = steps(sequence(list("abcd") * 3, ranges=marks + loops))
    assert (loop.found_by, len(loop.steps), loop.kernels_per_step.value) == ("ProfilerStep ranges", 3, 4)
    assert loop.duration_ns.value == 40
    assert [step.kernel_ns for step in loop.steps] == [16, 16, 16]


def test_a_kernel_belongs_to_the_step_that_launched_it() -> None:
    late = [kernel("k", 100 * i + 60, 100 * i + 90, correlation_id=i) for i in range(4)]
    launches = [call("hipLaunchKernel", 50 * i + 10, 50 * i + 12, i) for i in range(4)]
    marks = [mark("step", 50 * i, 50 * i + 50) for i in range(4)]
    loop = steps(trace(dispatches=late, api_calls=launches, ranges=marks))
    assert [step.kernels for step in loop.steps] == [1, 1, 1, 1]


def test_ranges_around_a_few_kernels_are_no_steps() -> None:
    marks = [mark("log", 40 * i, 40 * i + 5) for i in range(6)]
    loop = steps(sequence(list("abcd") * 6, ranges=marks))
    assert loop.found_by == "the sequence of kernels repeats"
    assert loop.kernels_per_step.value == 4


def test_ranges_that_launch_next_to_nothing_are_no_steps() -> None:
    """A compiler marks what it compiles, and tries some of it."""
    marks = [mark(f"compile {i}", 100 * i, 100 * i + 90) for i in range(8)]
    tried = [kernel(f"try {i}", 210 + 2 * i, 211 + 2 * i) for i in range(30)]
    work = [kernel(name, 1000 + 10 * i, 1004 + 10 * i) for i, name in enumerate("abc" * 4)]
    assert steps(trace(dispatches=[*tried, *work], ranges=marks)).steps == ()


def shaped(times: int, *, parts: int = 3) -> Trace:
    """Steps of products and activations. Every product is another kernel, and before some of them memory is cleared."""
    order, rows, at = Random(times), list[Row](), 0
    for _ in range(times):
        names = ["draw"]
        for part in range(parts):
            tile = f"Cijk_Ailk_Bljk_MT{order.randrange(8, 64)}x{order.randrange(8, 64)}"
            names += ["__amd_rocclr_fillBufferAligned"] * order.randrange(2) + [tile, f"gelu_kernel_{part}"]
        for name in names:
            rows.append(kernel(name, at, at + 8))
            at += 10
    return trace(dispatches=rows)


def test_steps_whose_shapes_differ() -> None:
    loop = steps(shaped(30))
    assert loop.found_by == "the sequence of kernels repeats, whatever their shapes"
    assert 29 <= len(loop.steps) <= 30
    assert sum(step.kernels for step in loop.steps) == pytest.approx(30 * 8.5, abs=15)  # with what is cleared


def test_a_few_that_are_alike_may_be_chance() -> None:
    assert steps(shaped(8)).steps == ()


def tuned(*, tries: int, times: int, every: int = 1000, step: Sequence[str] = ("a", "b", "c")) -> Trace:
    """Kernels are tried in any order, one of 10 ns at a time; then there are steps, of kernels of 8 ns each 10 ns."""
    order = Random(tries)
    tried = [kernel(f"try {order.randrange(20)}", every * i, every * i + 10) for i in range(tries)]
    begin = every * tries
    loop = [kernel(name, begin + 10 * i, begin + 10 * i + 8) for i, name in enumerate([*step] * times)]
    return trace(dispatches=[*tried, *loop])


@pytest.mark.parametrize("tries", [60, 300, 5000])
def test_a_loop_after_much_that_is_tried(tries: int) -> None:
    loop = steps(tuned(tries=tries, times=20))
    assert loop.found_by == "the sequence of kernels repeats at the end" or tries == 60
    assert len(loop.steps) == 20
    assert loop.kernels_per_step.value == 3


def test_what_comes_before_it_is_work_if_the_gpu_works() -> None:
    assert steps(tuned(tries=300, times=20, every=20)).steps == ()


def test_a_few_steps_may_be_how_a_program_ends() -> None:
    assert steps(tuned(tries=300, times=8)).steps == ()


def test_so_may_copies() -> None:
    assert steps(tuned(tries=300, times=60, step=["__amd_rocclr_copyBuffer"])).steps == ()


@given(
    st.permutations("abcdef"),
    st.integers(0, 9),
    st.lists(st.sampled_from("xyz"), max_size=2),
    st.lists(st.sampled_from("ab"), max_size=3),
)
def test_a_repeated_sequence_is_found(
    body: list[str], more: int, before: list[str], inner: list[str]
) -> None:
    """Layers inside of a step do not hide it. Where its first kernel runs again in it, the steps that are seen begin
    later, and the last one is cut off: it takes one more."""
    step = [*body, *inner]
    times = FEWEST_STEPS + (body[0] in inner) + more
    loop = steps(sequence([*before, *step * times]))
    assert loop.kernels_per_step.value == len(step)
    assert times - 1 <= len(loop.steps) <= times


def test_the_whole_step_and_not_its_layers() -> None:
    layer = ["gemm", "add", "norm", "act"]
    loop = steps(sequence((["embed"] + layer * 5 + ["head", "sample"]) * 6))
    assert loop.kernels_per_step.value == 23


@pytest.mark.parametrize("names", ["a", "ab", "abcdefgh", "aaaabbbbcccc" * 2])
def test_no_steps_say_so(names: str) -> None:
    loop = steps(sequence(list(names)))
    assert loop.steps == ()
    assert not loop.kernels_per_step.known
    assert loop.unavailable
    assert steps(trace()).unavailable == "the recording holds no kernels with times"


def test_warm_up_is_not_steady() -> None:
    starts = [0, 1000, 2000, 2100, 2200, 2300, 2400, 2500]
    marks = [mark("step", start, end) for start, end in zip(starts, [*starts[1:], 2600], strict=True)]
    loop = steps(trace(dispatches=[kernel("k", start + 5, start + 9) for start in starts], ranges=marks))
    assert loop.steady_from_ns == 2000


def test_what_repeats_before_the_loop_does_not_mark_its_steps() -> None:
    loop = steps(sequence(["random", "scale"] * 3 + ["product", "softmax"] * 20))
    assert (len(loop.steps), loop.kernels_per_step.value) == (20, 2)


def test_a_step_of_which_every_kernel_runs_several_times() -> None:
    loop = steps(sequence((["count"] * 3 + ["product"] * 2) * 10))
    assert (len(loop.steps), loop.kernels_per_step.value) == (10, 5)


def test_a_kernel_of_the_start_up_is_not_taken_for_the_end_of_a_step() -> None:
    """The loop ends with what the start-up ends with: its steps are those that are all whole."""
    loop = steps(sequence(["random", "scale"] + (["product"] * 6 + ["scale"]) * 5))
    assert [step.kernels for step in loop.steps] == [7] * 5
    assert loop.steps[0].start_ns == 20


def test_copies_are_part_of_a_step() -> None:
    """One kernel over and over: a copy before every fourth shows that the step is four of them."""
    kernels = [kernel("product", 10 * i, 10 * i + 4, correlation_id=i) for i in range(40) if i % 5]
    copies = [
        {"kind": "H2D", "start_ns": 50 * i, "end_ns": 50 * i + 4, "stream_id": 0, "correlation_id": 5 * i}
        for i in range(8)
    ]
    loop = steps(trace(dispatches=kernels, copies=copies))
    assert (len(loop.steps), loop.kernels_per_step.value) == (8, 4)


def test_layers_are_not_steps_whatever_the_start_up() -> None:
    """A layer recurs nearly as well as a step does: what runs before the loop must not decide between them."""
    layer = ["norm", "up", "gelu", "down", "add"]
    loop = steps(sequence(["random", "scale"] * 60 + (layer * 30 + ["copy"]) * 5))
    assert (len(loop.steps), loop.kernels_per_step.value) == (5, 151)


def test_streams_that_run_ahead_of_each_other() -> None:
    """Three long kernels and a short one a step, launched in turn on two streams: the short ones are soon done, and a
    step lasts as long as the long ones do."""
    launches, kernels = [], []
    for i in range(40):
        slow = i % 4 < 3
        start = 1_000 * (i - i // 4) if slow else 100 * i
        launches.append(call("hipLaunchKernel", 10 * i, 10 * i + 5, i))
        name, stream, length = ("slow", 1, 1_000) if slow else ("fast", 2, 50)
        kernels.append(kernel(name, start + 500, start + 500 + length, stream_id=stream, correlation_id=i))
    loop = steps(trace(dispatches=kernels, api_calls=launches))
    assert (len(loop.steps), loop.duration_ns.value) == (10, 3_000)


def in_turn(order: Sequence[int], *, step: Sequence[str] = ("a", "b", "c")) -> Trace:
    """The same kernels for one stream after another."""
    rows = [
        kernel(name, at := 100 * (len(step) * number + place), at + 40, stream_id=stream)
        for number, stream in enumerate(order)
        for place, name in enumerate(step)
    ]
    return trace(dispatches=rows)


@pytest.mark.parametrize(
    ("order", "count", "kernels"),
    [
        ([1, 1, 2, 2, 3, 3] * 5, 5, 18),  # each stream does it twice before the next has its turn
        ([1, 2, 3] * 10, 30, 3),  # a stream a step
        ([1, 1, 2, 2, 3, 3] * 2, 12, 3),  # two would be too few
        ([1, 1, 2, 2, 1, 2, 2, 1] * 4, 32, 3),  # in no order
        ([2, 1, 1, 2, 2] + [1, 1, 2, 2] * 4, 5, 12),  # the recording begins within a step
    ],
)
def test_what_several_streams_do_in_turn_is_one_step(order: list[int], count: int, kernels: int) -> None:
    loop = steps(in_turn(order))
    assert (len(loop.steps), loop.kernels_per_step.value) == (count, kernels)


def test_what_happens_once_a_step_ends_it_whatever_the_streams() -> None:
    order = [1, 1, 2, 2] * 5
    assert len(steps(in_turn(order)).steps) == 5
    assert len(steps(in_turn(order, step=("a", "b", "sample"))).steps) == 20
