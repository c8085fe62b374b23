from __future__ import annotations

import pytest

from rocm_perf.errors import InputError
from rocm_perf.sim.engine import simulate
from rocm_perf.sim.gpu import find_gpu
from rocm_perf.sim.timeline import Run
from rocm_perf.sim.workload import parse_workload
from tests.unit.sim.runs import KERNELS, MI300X, STEADY, items, run_steps, spans, thread

# Costs of the MI300X model in nanoseconds.
LAUNCH, LATENCY, GAP, GRAPH, GRAPH_GAP = 3000, 4000, 1500, 12000, 400
SYNC, RETURN, EVENT, COPY, ALLOC = 1000, 6000, 1200, 4000, 20000


def calls(run: Run) -> list[str]:
    return [call.name for call in run.calls]


def test_a_stream_runs_in_order_with_a_gap() -> None:
    run = run_steps('{launch = "big"}, {launch = "small"}')
    first = LAUNCH + LATENCY
    assert spans(run, "kernel") == [(first, first + 20000), (first + 20000 + GAP, first + 30000 + GAP)]
    assert items(run, "kernel")[1].cause == "stream"


def test_small_kernels_of_two_streams_overlap() -> None:
    run = run_steps('{launch = "small"}, {launch = "small", stream = "side"}')
    first = LAUNCH + LATENCY
    assert spans(run, "kernel") == [(first, first + 10000), (first + LAUNCH, first + LAUNCH + 10000)]


def test_kernels_that_fill_the_gpu_take_turns() -> None:
    run = run_steps('{launch = "big"}, {launch = "big", stream = "side"}')
    first, second = items(run, "kernel")
    assert second.start == first.end
    assert (second.cause, second.cause_item) == ("capacity", first)


def test_a_kernel_takes_what_room_there_is_if_it_is_half_of_its_wish() -> None:
    run = run_steps('{launch = "small"}, {launch = "big", stream = "side"}')
    small, big = items(run, "kernel")
    assert big.start < small.end
    assert big.share == pytest.approx(1 - small.share)
    assert (big.end - big.start) * big.share == pytest.approx(20000, abs=1)


def test_a_kernel_that_ends_gives_back_what_it_took() -> None:
    launches = [f'{{launch = "small", stream = "{stream}"}}' for stream in "abcdef"]
    kernels = items(run_steps(", ".join(4 * launches)), "kernel")
    taken = [
        sum(other.share for other in kernels if other.start <= kernel.start < other.end) for kernel in kernels
    ]
    assert max(taken) == pytest.approx(3 * kernels[0].share)


@pytest.mark.parametrize("what", ["stream", "device"])
def test_a_sync_returns_after_the_work(what: str) -> None:
    run = run_steps(f'{{launch = "big"}}, {{sync = "{what}"}}')
    kernel, sync = run.items[0], run.calls[1]
    assert sync.end == kernel.end + RETURN
    assert sync.released_by is kernel
    assert run.wall_ns == LAUNCH + LATENCY + 20000 + RETURN


def test_a_stream_sync_does_not_wait_for_other_streams() -> None:
    run = run_steps(
        '{launch = "big", stream = "side"}, {sync = "stream"}, {sync = "stream", stream = "side"}'
    )
    assert [call.end - call.start for call in run.calls][1] == SYNC
    assert run.calls[2].end == run.items[0].end + RETURN


def test_a_wait_holds_only_its_stream() -> None:
    steps = '{launch = "small"}, {record = "e"}, {wait = "e", stream = "side"}, {launch = "small", stream = "side"}'
    run = run_steps(steps + ', {launch = "small", stream = "third"}')
    first, held, free = items(run, "kernel")
    assert held.start >= first.end
    assert free.start < first.end
    assert [item.end for item in items(run, "marker")] == [first.end, first.end]


def test_a_wait_for_an_event_of_another_thread_waits_for_its_record() -> None:
    other = thread(
        '{cpu = "late", us = 50}, {launch = "small", stream = "side"}, {record = "e", stream = "side"}'
    )
    run = run_steps(thread('{wait = "e"}, {launch = "small"}, {sync = "e"}'), other)
    late = next(item for item in items(run, "kernel") if item.stream.name == "side")
    held = next(item for item in items(run, "kernel") if item.stream.name == "default")
    assert held.start >= late.end
    sync = next(call for call in run.calls if call.name == "hipEventSynchronize")
    assert sync.end == late.end + RETURN


def test_the_last_record_counts() -> None:
    run = run_steps('{record = "e"}, {launch = "big"}, {record = "e"}, {sync = "e"}')
    assert run.calls[-1].end == run.items[1].end + RETURN


def test_copies_overlap_kernels_and_opposite_copies_but_not_their_own_kind() -> None:
    copy = '{{copy = "{}", bytes = 5500000, stream = "{}"}}'
    steps = ['{launch = "big"}', copy.format("H2D", "a"), copy.format("D2H", "b"), copy.format("H2D", "c")]
    run = run_steps(", ".join(steps))
    up, down, again = items(run, "copy")
    assert down.start < up.end
    assert again.start == up.end
    assert again.cause == "capacity"
    assert up.start < items(run, "kernel")[0].end


def test_pageable_and_blocking_copies_block() -> None:
    run = run_steps(
        '{copy = "H2D", bytes = 1200, pinned = false}, {copy = "H2D", bytes = 1200, blocking = true}'
    )
    assert calls(run) == ["hipMemcpy", "hipMemcpy"]
    for call in run.calls:
        assert call.end == call.items[0].end + RETURN
    assert calls(run_steps('{copy = "H2D", bytes = 1200}')) == ["hipMemcpyAsync"]


def test_a_graph_is_one_call() -> None:
    graph = '[graph.g]\nsteps = [{launch = "small"}, {launch = "small"}, {copy = "D2H", bytes = 1}]\n'
    run = simulate(parse_workload(KERNELS + graph + thread('{graph = "g"}, {graph = "g"}')), STEADY)
    assert calls(run) == ["hipGraphLaunch"] * 2
    assert [item.graph for item in run.items] == [1, 1, 1, 2, 2, 2]
    assert run.items[1].start == run.items[0].end + GRAPH_GAP
    assert run.items[3].start == run.items[2].end + GAP
    assert len(run.calls[0].items) == 3


def test_free_synchronises_and_alloc_does_not() -> None:
    run = run_steps(
        '{alloc = "x", bytes = 8}, {launch = "big", stream = "s"}, {alloc = "y", bytes = 8}, {free = "x", bytes = 8}'
    )
    kernel = items(run, "kernel")[0]
    assert run.calls[2].end == run.calls[2].start + ALLOC
    assert run.calls[3].end == max(run.calls[3].issued, kernel.end + RETURN)


def test_a_collective_ends_together_when_the_last_has_come() -> None:
    steps = '{{cpu = "load", us = {}}}, {{collective = "all_reduce", bytes = 50000}}, {{sync = "device"}}'
    run = run_steps(thread(steps.format(10), 0), thread(steps.format(500), 1))
    early, late = sorted(items(run, "collective"), key=lambda item: item.start)
    assert early.end == late.end == late.start + 1000 + LATENCY
    assert early.last_member is late
    assert {call.name for call in run.calls if call.domain == "rccl"} == {"ncclAllReduce"}


def test_ranges_nest_and_are_part_of_the_wall() -> None:
    run = run_steps('{push = "a"}, {push = "b"}, {cpu = "x", us = 1}, {pop = true}, {pop = true}')
    assert [(entry.name, entry.depth) for entry in run.ranges] == [("b", 1), ("a", 0)]
    assert run.wall_ns == 1000 + 4 * 100 == run.ranges[1].end - run.ranges[1].start


def test_collectives_in_another_order_are_a_deadlock_with_a_line() -> None:
    one, other = '{collective = "all_reduce", bytes = 8}', '{collective = "all_gather", bytes = 8}'
    with pytest.raises(InputError, match=r"^test, line \d+: a deadlock: the collective"):
        run_steps(thread(f"{one}, {other}", 0), thread(f"{other}, {one}", 1))


def test_a_thread_that_waits_for_an_event_which_comes_after_it_is_a_deadlock() -> None:
    # Neither thread is in a circle of events alone: the device sync closes it.
    one = thread(
        '{sync = "device", stream = "s"}, {wait = "b", stream = "s"}, {sync = "device"}, {record = "a"}'
    )
    other = thread('{sync = "a"}, {record = "b", stream = "t"}')
    with pytest.raises(InputError, match="a deadlock"):
        run_steps(one, other)


def test_the_first_kernels_after_a_rest_are_slow() -> None:
    steps = '{launch = "big"}, {repeat = 8, steps = [{launch = "small"}]}, {cpu = "rest", us = 5000}, {launch = "big"}'
    run = simulate(parse_workload(KERNELS + thread(steps)), MI300X)
    durations = [item.end - item.start for item in items(run, "kernel")]
    assert durations == [24000, *[12000] * 6, 10000, 10000, 24000]


def test_the_same_seed_is_the_same_run_and_another_is_not() -> None:
    def times(seed: int) -> list[tuple[int, int]]:
        text = f"seed = {seed}\nnoise = 0.05\n" + KERNELS + thread('{repeat = 5, steps = [{launch = "big"}]}')
        return spans(simulate(parse_workload(text), MI300X), "kernel")

    assert times(1) == times(1)
    assert times(1) != times(2)


def test_a_type_that_the_gpu_cannot_compute_is_refused() -> None:
    text = "[kernel.k]\nflops = {f8 = 1e9}\n" + thread('{launch = "k"}')
    with pytest.raises(InputError, match="vector units of AMD Instinct MI300X cannot"):
        simulate(parse_workload(text), find_gpu("sim:mi300x"))


def test_a_run_of_days_is_refused() -> None:
    with pytest.raises(InputError, match=r"would take .* is simulated, because every sensor"):
        run_steps('{cpu = "wait", us = 1e12}')
