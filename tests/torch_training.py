"""A training loop on the allocator of torch_allocator.py, with the stacks of torch, a leak, and known bytes."""

from __future__ import annotations

from tests.torch_allocator import Allocator, frames

MIB = 1 << 20
PARAMETERS, ACTIVATION, LEAK = (4 * MIB, 4096, 4 * MIB, 4096), 16 * MIB, 3 * MIB
STEPS = 6

_TORCH = "/venv/lib/python3.12/site-packages/torch"
_CALL = f"{_TORCH}/nn/modules/module.py:1776:_call_impl"
_STEP = "/home/me/train.py:40:step"
MODEL = frames(
    f"{_TORCH}/nn/modules/module.py:1371:convert",
    f"{_TORCH}/nn/modules/module.py:957:_apply",
    f"{_TORCH}/nn/modules/module.py:1373:to",
    "/home/me/train.py:20:__init__",
)
FORWARD = frames(
    f"{_TORCH}/nn/modules/linear.py:134:forward", _CALL, "/home/me/train.py:12:forward", _CALL, _STEP
)
OPTIMISER = frames(
    f"{_TORCH}/optim/adam.py:180:_init_group", f"{_TORCH}/optim/adam.py:236:step", "/home/me/train.py:43:step"
)
UPDATE = frames(
    f"{_TORCH}/optim/adam.py:600:_multi_tensor_adam",
    f"{_TORCH}/optim/adam.py:236:step",
    "/home/me/train.py:43:step",
)
ZERO = frames(f"{_TORCH}/optim/optimizer.py:1041:zero_grad", "/home/me/train.py:44:step")
LEAKS = frames("/home/me/train.py:48:remember", "/home/me/train.py:45:step")
INPUT = frames("/home/me/train.py:41:step")


def train(leaks: bool = True, steps: int = STEPS) -> Allocator:
    """The allocator after some steps, the gradients freed."""
    allocator = Allocator()
    for size in PARAMETERS:
        allocator.allocate(size, MODEL)
    state: list[int] = []
    for number in range(steps):
        allocator.annotate(f"ProfilerStep#{number}", "START")
        _step(allocator, state)
        if leaks:
            allocator.allocate(LEAK, LEAKS)
        allocator.annotate(f"ProfilerStep#{number}", "END")
    return allocator


def _step(allocator: Allocator, state: list[int]) -> None:
    batch = allocator.allocate(ACTIVATION, INPUT)
    activations = [allocator.allocate(ACTIVATION, FORWARD) for _ in PARAMETERS]
    gradients = []
    for size in reversed(PARAMETERS):  # autograd runs on a thread without Python
        passing = allocator.allocate(ACTIVATION)
        gradients.append(allocator.allocate(size))
        allocator.free(activations.pop())
        allocator.free(passing)
    if not state:
        state += [allocator.allocate(size, OPTIMISER) for size in PARAMETERS * 2]
    updates = [allocator.allocate(size, UPDATE) for size in PARAMETERS]
    for address in updates:
        allocator.free(address, UPDATE)
    for address in gradients:
        allocator.free(address, ZERO)
    allocator.free(batch, INPUT)
