"""Modules, steps and the use of the GPU on real traces, against sums made from the raw events by other means."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import astuple

from rocm_perf.analysis.basis.module_spans import class_name
from rocm_perf.analysis.kernels.gpu_use import gpu_use
from rocm_perf.analysis.layers.build import layers_by_repetition
from rocm_perf.analysis.modules.build import modules
from rocm_perf.analysis.phases.step_breakdown import step_breakdown
from rocm_perf.model.results.modules import Modules
from tests.recordings import recording

TRACELENS = "torch_trace/AMD-AGI_TraceLens__"
QWEN = [f"{TRACELENS}{gpu}_Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz" for gpu in ("h100", "mi300")]
BERT = [f"{TRACELENS}{gpu}_gaunernst_bert-small-uncased__1016001.json.gz" for gpu in ("h100", "mi300")]
RESNET = f"{TRACELENS}mi300_resnet_act_checkpoint.json.gz"
ENGINE = "autograd::engine::evaluate_function: "

Event = dict[str, Any]
Launched = tuple[int, list[Event]]  # nanoseconds on the GPU, and the spans around the launch, outermost first


@cache
def raw(path: Path) -> list[Event]:
    return [
        event for event in json.loads(gzip.decompress(path.read_bytes()))["traceEvents"] if event["ph"] == "X"
    ]


def ns(microseconds: float) -> int:
    return round(microseconds * 1000)


@cache
def launched(path: Path) -> list[Launched]:
    """All GPU work that was launched in the trace, with everything that was open on the thread then."""
    threads = defaultdict(list)
    for event in raw(path):
        if event.get("cat") in ("cpu_op", "python_function", "cuda_runtime", "cuda_driver"):
            threads[event["tid"]].append(event)
    around = {call: spans for events in threads.values() for call, spans in open_spans(events)}
    work = [event for event in raw(path) if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]
    return [
        (ns(event["dur"]), around[event["args"]["correlation"]])
        for event in work
        if event["args"]["correlation"] in around
    ]


def open_spans(events: list[Event]) -> Iterator[tuple[int, list[Event]]]:
    """The correlation id of each call of one thread, with the spans around it, outermost first."""
    spans: list[Event] = []
    for event in sorted(events, key=lambda event: (event["ts"], -event["dur"])):
        spans = [span for span in spans if event["ts"] < span["ts"] + span["dur"]]
        if event["cat"].startswith("cuda"):
            yield event["args"]["correlation"], spans
        else:
            spans = [*spans, event]


def gpu_ns(path: Path, wanted: Callable[[list[Event]], bool]) -> int:
    return sum(length for length, spans in launched(path) if wanted(spans))


def is_of(kind: str) -> Callable[[list[Event]], bool]:
    return lambda spans: any(
        span["name"].startswith(f"nn.Module: {kind}_") and span["name"].rpartition("_")[2].isdigit()
        and span["name"].rpartition("_")[0] == f"nn.Module: {kind}"
        for span in spans
    )  # fmt: skip


def of_class(result: Modules, kind: str) -> int:
    """The time of all lines of a class that lie in no other one of it."""

    def inside_itself(parent: int | None) -> bool:
        while parent is not None:
            if class_name(result.lines[parent].name) == kind:
                return True
            parent = result.lines[parent].parent
        return False

    lines = [
        line for line in result.lines if class_name(line.name) == kind and not inside_itself(line.parent)
    ]
    assert lines, kind
    return sum(line.total_ns for line in lines)


@pytest.mark.parametrize("name", [QWEN[1], *BERT])
def test_the_time_of_a_class_is_that_of_what_was_launched_in_its_modules(specimens: Path, name: str) -> None:
    path = specimens / name
    result = modules(recording(path))
    classes = {
        span["name"].removeprefix("nn.Module: ").rpartition("_")[0]
        for span in raw(path)
        if span["name"].startswith("nn.Module: ")
    }
    assert {kind: of_class(result, kind) for kind in classes} == {
        kind: gpu_ns(path, is_of(kind)) for kind in classes
    }


@pytest.mark.parametrize(("name", "layers"), [(QWEN[0], 24), (QWEN[1], 24), (BERT[0], 4), (BERT[1], 4)])
def test_the_layers_of_a_model_are_one_line(specimens: Path, name: str, layers: int) -> None:
    lines = modules(recording(specimens / name)).lines
    (line,) = [line for line in lines if line.name.endswith("Layer")]
    assert (line.modules, line.calls) == (layers, layers)
    assert line.spread is not None
    assert line.spread.least_ns * layers <= line.total_ns <= line.spread.most_ns * layers


def test_all_gpu_time_is_in_modules_or_outside(specimens: Path) -> None:
    path = specimens / RESNET
    result = modules(recording(path))
    everything = sum(
        ns(event["dur"]) for event in raw(path) if event.get("cat", "").startswith(("kernel", "gpu_mem"))
    )
    roots = sum(line.total_ns for line in result.lines if line.parent is None)
    assert result.total_ns == everything == roots + result.outside_ns


def test_forward_recomputed_and_backward_time_of_a_checkpointed_model(specimens: Path) -> None:
    path = specimens / RESNET
    (line,) = [line for line in modules(recording(path)).lines if line.name == "ResNet_0"]
    in_model = is_of("ResNet")
    numbers = {
        operator["args"].get("Sequence number")
        for _, spans in launched(path)
        if in_model(spans)
        for operator in spans
    }
    in_any_module = [
        any(span["name"].startswith("nn.Module") for span in spans) for _, spans in launched(path)
    ]
    steps = [
        next((span for span in spans if span["name"].startswith(ENGINE)), None) for _, spans in launched(path)
    ]
    backward = sum(
        length
        for (length, _), again, step in zip(launched(path), in_any_module, steps, strict=True)
        if step and not again and step["args"].get("Sequence number") in numbers - {None}
    )
    again_ns = sum(
        length
        for (length, _), again, step in zip(launched(path), in_any_module, steps, strict=True)
        if step and again
    )
    assert line.forward.time_ns == gpu_ns(path, in_model)
    assert line.recomputed.time_ns == again_ns > 0
    assert line.backward.time_ns == backward > 0


def test_steps_are_divided_without_a_rest(specimens: Path) -> None:
    path = specimens / RESNET
    breakdown = step_breakdown(recording(path))
    assert [step.name for step in breakdown.steps] == [
        "ProfilerStep#15",
        "ProfilerStep#16",
        "ProfilerStep#17",
    ]
    base = json.loads(gzip.decompress(path.read_bytes()))["baseTimeNanoseconds"]
    kernels = [
        (ns(event["ts"]) + base, ns(event["dur"]))
        for event in raw(path)
        if event.get("cat") == "kernel" and "nccl" not in event["name"]
    ]
    for step in breakdown.steps:
        assert sum(astuple(step.roles)) == step.end_ns - step.start_ns
        assert step.roles.kernel_ns == covered(kernels, step.start_ns, step.end_ns)


def covered(spans: Iterable[tuple[int, int]], first: int, last: int) -> int:
    """How much of the window the spans (start and length) cover."""
    reach, total = first, 0
    for start, length in sorted(spans):
        end = min(start + length, last)
        total += max(0, end - max(start, reach))
        reach = max(reach, end)
    return total


@pytest.mark.parametrize("name", [QWEN[0], BERT[0]])
def test_occupancy_is_the_mean_of_the_recorded_one(specimens: Path, name: str) -> None:
    kernels = [event for event in raw(specimens / name) if event.get("cat") == "kernel"]
    estimated = [
        (ns(event["dur"]), event["args"]["est. achieved occupancy %"])
        for event in kernels
        if event["args"]["est. achieved occupancy %"] or event["args"]["shared memory"] <= 48 * 1024
    ]
    mean = (
        sum(length * percent for length, percent in estimated) / sum(length for length, _ in estimated) / 100
    )
    assert gpu_use(recording(specimens / name)).occupancy.value == pytest.approx(mean)


@pytest.mark.parametrize(
    ("name", "expected"), [*((name, 24) for name in QWEN), *((name, 4) for name in BERT)]
)
def test_layers_by_repetition_are_the_recorded_modules(specimens: Path, name: str, expected: int) -> None:
    trace = recording(specimens / name)
    (work,) = layers_by_repetition(trace).rows
    (stack,) = work.stacks
    (recorded,) = (line for line in modules(trace).lines if line.name == stack.modules)
    assert stack.layers == recorded.modules == expected
    assert recorded.spread is not None
    assert stack.median_ns == pytest.approx(recorded.spread.median_ns, rel=0.02)
