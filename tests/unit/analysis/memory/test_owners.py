"""To whom memory belongs, by the stacks of a snapshot and by the operators of a trace."""

from __future__ import annotations

import pytest

from rocm_perf.analysis.memory.build import memory
from rocm_perf.analysis.memory.sites import OUTSIDE, site_of
from rocm_perf.analysis.memory.stages import stage_of
from rocm_perf.model.results.memory import Memory
from tests.unit.analysis.traces import Row, marked, trace

TORCH = "/venv/lib/python3.12/site-packages/torch"
MAIN, AUTOGRAD = 1, 2


@pytest.mark.parametrize(
    ("frames", "stage"),
    [
        ([f"{TORCH}/nn/modules/linear.py(112): __init__", "/me/model.py(5): __init__"], "model"),
        (
            [
                f"{TORCH}/nn/init.py(520): kaiming_uniform_",
                f"{TORCH}/nn/modules/linear.py(1): reset_parameters",
            ],
            "model",
        ),
        (["/vllm/layers/linear.py(3): create_weights", "/vllm/layers/linear.py(9): __init__"], "model"),
        ([f"{TORCH}/optim/adamw.py(180): _init_group", f"{TORCH}/optim/adamw.py(236): step"], "optimiser"),
        (["/apex/optimizers/fused_adam.py(90): step", "/me/train.py(4): step"], "optimiser"),
        (["/me/attention.py(40): forward", f"{TORCH}/nn/modules/module.py(1776): _call_impl"], "forward"),
        (["/me/kernels.py(8): helper", f"{TORCH}/nn/modules/module.py(1776): _wrapped_call_impl"], "forward"),
        # Recomputed in the backward pass: it holds activations all the same.
        (["/me/block.py(7): forward", f"{TORCH}/utils/checkpoint.py(300): backward"], "forward"),
        (["/me/function.py(30): backward", f"{TORCH}/autograd/function.py(300): apply"], "backward"),
        (["at::empty_cuda", "torch::autograd::Engine::evaluate_function(...)"], "backward"),
        (
            ["at::cuda::getNewWorkspace()", "at::native::addmm_out_cuda_impl", "/me/m.py(1): forward"],
            "workspace",
        ),
        (["/vllm/worker/gpu_model_runner.py(3): initialize_kv_cache_tensors"], "kv cache"),
        ([f"{TORCH}/nn/parallel/distributed.py(1100): _ddp_init_helper"], "communication"),
        ([f"{TORCH}/autograd/grad_mode.py(80): __enter__", "/me/serve.py(3): generate"], None),
        (["/me/train.py(41): step"], None),
        (["/me/workspace.py(3): make"], None),
        (["/me/dataset.py(3): __init__"], None),
    ],
)
def test_the_innermost_telling_frame_decides(frames: list[str], stage: str | None) -> None:
    assert stage_of(frames) == stage


def test_a_site_is_outside_torch_and_the_standard_library() -> None:
    own = "/me/train.py(41): step"
    library = [f"{TORCH}/nn/functional.py(3): relu", "/usr/lib/python3.12/contextlib.py(80): inner"]
    assert site_of("\n".join(["at::empty", *library, own])) == own
    assert site_of("\n".join(library)) == library[0]
    assert site_of("at::empty\nmain") == OUTSIDE


def event(operation: str, time: int, address: int, size: int, tid: int = MAIN) -> Row:
    return {"operation": operation, "level": "CACHED", "address": address, "size_bytes": size, "agent_id": 0,
            "start_ns": time, "end_ns": time, "pid": 1, "tid": tid}  # fmt: skip


def op(name: str, start: int, end: int, tid: int = MAIN, **more: object) -> Row:
    return {
        "name": name,
        "category": "operator",
        "start_ns": start,
        "end_ns": end,
        "pid": 1,
        "tid": tid,
        **more,
    }


def traced(*, before: int = 1000) -> Memory:
    """One step: forward, backward on a thread of its own, and the optimiser; the peak is in the optimiser's step."""
    events = [
        event("ALLOC", 10, 1, 400),  # an activation, that the backward pass frees
        event("ALLOC", 30, 2, 64, AUTOGRAD),  # passed on, and freed in the backward pass
        event("FREE", 35, 1, 400, AUTOGRAD),
        event("ALLOC", 36, 3, 100, AUTOGRAD),  # the gradient of a parameter
        event("FREE", 38, 2, 64, AUTOGRAD),
        event("ALLOC", 52, 4, 200),  # the state of the optimiser
        event("ALLOC", 54, 5, 300),  # what its step needs alone
        event("FREE", 56, 5, 300),
        event("FREE", 70, 3, 100),
        event("ALLOC", 80, 6, 50),
    ]
    levels = (1400, 1464, 1064, 1164, 1100, 1300, 1600, 1300, 1200, 1250)
    readings = [
        {"time_ns": one["start_ns"], "agent_id": 0, "metric": "torch_allocated_bytes", "value": float(level)}
        for one, level in zip(events, levels, strict=True)
    ]
    return memory(
        trace(
            allocations=events,
            samples=readings,
            ops=[
                op("aten::linear", 5, 20, sequence=7),
                op("autograd::engine::evaluate_function: AddmmBackward0", 25, 40, AUTOGRAD),
                op("aten::mm", 28, 37, AUTOGRAD),
                op("aten::zeros_like", 51, 53),
            ],
            ranges=[marked("Optimizer.step#Adam.step", 50, 60, pid=1, tid=MAIN)],
        )
    )


def test_operators_tell_the_owners_of_a_trace() -> None:
    (peak,) = traced().peaks
    assert (peak.bytes, peak.peak_ns) == (1600, 54)
    assert {row.owner: row.bytes for row in peak.owners} == {
        "before the recording": 1000,
        "workspace": 300,
        "optimiser state": 200,
        "gradients": 100,
    }
    assert {row.site for row in peak.sites} == {"aten::zeros_like", "Optimizer.step#Adam.step", "aten::mm"}


def test_the_peak_of_a_trace_is_where_the_allocator_says() -> None:
    """Most is in use before memory from before the recording is freed, and most of what was seen later."""
    events = [event("ALLOC", 1, 1, 100), event("FREE", 2, 9, 5000), event("ALLOC", 3, 2, 300)]
    readings = [
        {"time_ns": time, "agent_id": 0, "metric": "torch_allocated_bytes", "value": value}
        for time, value in ((1, 6100.0), (2, 1100.0), (3, 1400.0))
    ]
    (peak,) = memory(trace(allocations=events, samples=readings)).peaks
    assert (peak.bytes, peak.peak_ns) == (6100, 1)
    assert {row.owner: row.bytes for row in peak.owners} == {"before the recording": 6000, "not known": 100}


def test_addresses_that_are_given_out_again_count_once() -> None:
    twice = [event("ALLOC", 1, 1, 100), event("ALLOC", 2, 1, 300), event("ALLOC", 3, 2, 50)]
    (peak,) = memory(trace(allocations=twice)).peaks
    assert peak.bytes == 350
