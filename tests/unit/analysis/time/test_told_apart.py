"""What is a step: replays of a graph with small launches between them, but not layers, serialised passes, or
launches of one kernel."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from rocm_perf.analysis.phases.build import phases
from rocm_perf.analysis.time.steps import ONE_KERNEL, steps
from rocm_perf.ingest.load import load
from rocm_perf.model.trace import Trace
from tests.unit.analysis.traces import Row, call, kernel, marked, trace

US = 1_000
LAYER = ["norm", "qkv", "attention", "out", "up", "down"]
DATA = Path(__file__).parents[5] / "shared" / "data"


def launched(names: Sequence[str], *, every: int = 20 * US, module: bool = False, waits: int = 0) -> Trace:
    """A kernel for each name, launched one by one; in one call of a module, or with a wait behind every so many."""
    kernels = [
        kernel(name, every * at + 5 * US, every * at + 15 * US - at % 3, correlation_id=at, pid=1)
        for at, name in enumerate(names)
    ]
    calls = [
        call("hipLaunchKernel", every * at, every * at + US, at, pid=1, tid=1) for at in range(len(names))
    ]
    if waits:
        calls += [
            call("hipStreamSynchronize", every * at - 4 * US, every * at - US, pid=1, tid=1)
            for at in range(waits, len(names) + 1, waits)
        ]
    whole = {
        "name": "nn.Module: Encoder_0",
        "category": "python",
        "start_ns": 0,
        "end_ns": every * len(names),
    }
    ops: list[Row] = [{**whole, "pid": 1, "tid": 1}]
    if module:
        return trace(dispatches=kernels, api_calls=calls, ops=ops)
    return trace(dispatches=kernels, api_calls=calls)


def replays(count: int, inside: int) -> Trace:
    """Replays of a graph of short kernels, 96 % busy; between two of them one to five small kernels of any kind."""
    source = Random(count)
    rows: list[Row] = []
    calls: list[Row] = []
    at = correlation = 0
    for _ in range(count):
        correlation += 1
        calls.append(call("hipGraphLaunch", at - 10 * US, at - US, correlation, pid=1, tid=1))
        for place in range(inside):
            rows.append(
                kernel(f"layer {place % 7}", at, at + 10 * US - place % 3, correlation_id=correlation, pid=1)
            )
            at += 10 * US
        for _ in range(source.randrange(1, 6)):
            correlation += 1
            calls.append(call("hipLaunchKernel", at, at + US, correlation, pid=1, tid=1))
            name = f"small {source.randrange(8)}"
            rows.append(kernel(name, at + 20 * US, at + 22 * US, correlation_id=correlation, pid=1))
            at += 30 * US
        at += 30 * US
    return trace(dispatches=rows, api_calls=calls)


def test_replays_of_a_graph_weigh_as_much_as_their_kernels() -> None:
    found = steps(replays(201, 300))
    assert len(found.steps) == 201
    assert 301 <= (found.kernels_per_step.value or 0) <= 305
    assert found.found_by == "the sequence of kernels repeats, but for small launches"
    assert phases(replays(201, 300)).steps >= 199


def test_layers_of_one_forward_pass_are_no_steps() -> None:
    found = steps(launched(["embed", "position", *LAYER * 24, "last norm", "logits"]))
    assert found.steps == ()
    assert found.unavailable == "what repeats are the layers of one pass, not whole steps"


def test_layers_in_one_call_of_a_module_are_no_steps() -> None:
    """Nothing runs before or behind them."""
    assert steps(launched(LAYER * 24, module=True)).steps == ()
    assert len(steps(launched(LAYER * 24)).steps) == 24


def test_nor_are_those_of_two_passes() -> None:
    assert steps(launched(["embed", *LAYER * 24, "last norm", "logits"] * 2)).steps == ()


def test_three_passes_are_steps_of_all_their_layers() -> None:
    found = steps(launched(["embed", *LAYER * 24, "last norm", "logits"] * 3))
    assert (len(found.steps), found.kernels_per_step.value) == (3, 147)


@pytest.mark.parametrize("last", ["multi_tensor_apply_kernel_adam", "nll_loss_forward", "argmax_kernel"])
def test_what_updates_samples_or_has_a_loss_is_a_step_whatever_follows(last: str) -> None:
    found = steps(launched([*["gemm", "relu", last] * 20, "evaluate", "count"]))
    assert (len(found.steps), found.kernels_per_step.value) == (19, 3)  # where the last one ends is not known


def test_so_is_what_the_host_waits_for() -> None:
    names = [*["gemm", "relu", "add"] * 20, "evaluate", "count"]
    assert len(steps(launched(names, waits=3)).steps) == 19
    assert steps(launched(names)).steps == ()


def test_ranges_around_layers_are_no_steps() -> None:
    every = 20 * US
    recording = launched(["embed", *LAYER * 24, "last norm", "logits"])
    layers = [
        marked(f"layer {n}", every * (1 + 6 * n), every * (7 + 6 * n) - US, pid=1, tid=1) for n in range(24)
    ]
    tables = {name: recording.table(name) for name in recording} | {
        "ranges": trace(ranges=layers).table("ranges")
    }
    assert steps(Trace(tables)).steps == ()


def test_launches_of_one_kernel_are_named_so() -> None:
    found = steps(launched(["laplacian"] * 50))
    assert (found.found_by, found.kernel, len(found.steps)) == (ONE_KERNEL, "laplacian", 50)
    division = phases(launched(["laplacian"] * 50))
    assert division.kernel == "laplacian"


def test_copies_of_the_runtime_do_not_hide_the_kernel_under_test() -> None:
    assert steps(launched([*["__amd_rocclr_copyBuffer"] * 63, "under test"])).steps == ()


def test_a_pass_that_ran_kernels_one_by_one_has_no_steps_and_is_judged_whole() -> None:
    recording = launched([*["__amd_rocclr_copyBuffer"] * 63, "under test", *["gemm", "add"] * 10])
    counters = trace(counters=[{"counter": "C", "value": 1.0, "pass_id": 0}]).table("counters")
    whole = Trace({**{name: recording.table(name) for name in recording}, "counters": counters})
    assert steps(whole).steps == ()
    assert "one by one" in (steps(whole).unavailable or "")
    division = phases(whole)
    assert (division.steps, division.pauses) == (0, ())
    assert [row.name for row in division.rows] == ["work"]


# A forward pass of llama.cpp has 32 layers; these are the prompt passes, and then the tokens of another recording.
@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("rocprof_v1/JoursBleu_llama.cpp__results.csv.gz", 0),
        ("rocpd/JoursBleu_llama.cpp__32432_results.db.gz", 8),
        ("rocprof_v1/amd_HPCTrainingExamples__finite-difference_results.csv.gz", 1000),
        ("rocprof_compute/ROCm_rocm-systems__vcopy_MI350_pmc_perf.csv", 0),
        ("rocprofv3_json/AMD-AGI_TraceLens__908_results.json.gz", 48),
    ],
)
def test_of_real_recordings(name: str, count: int) -> None:
    if not (DATA / name).exists():
        pytest.skip("the recording is not here")
    assert phases(load(DATA / name)).steps == count
