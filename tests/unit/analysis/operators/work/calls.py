"""Operator calls as torch.profiler writes them, from a short notation."""

from __future__ import annotations

import json

from rocm_perf.analysis.operators.work import Work, operator_work

BF, F4, I8, I4, F8, U1, I1 = (
    "c10::BFloat16",
    "float",
    "long int",
    "int",
    "c10::Float8_e4m3fn",
    "unsigned char",
    "signed char",
)

Tensor = tuple[list[int], str]
Given = Tensor | list[list[int]] | str | None


def tensor(*shape: int, dtype: str = BF) -> Tensor:
    """A tensor of a shape and type."""
    return list(shape), dtype


def work_of(
    name: str, *given: Given, kernel: str | None = None, step: str | None = None, strides: str | None = None
) -> Work:
    """The work of a call: tensors, lists of shapes, printed values, or None for what was not given."""
    shapes: list[object] = []
    dtypes: list[str] = []
    inputs: list[str] = []
    for one in given:
        is_tensor = isinstance(one, tuple)
        shapes.append(one[0] if isinstance(one, tuple) else one if isinstance(one, list) else [])
        dtypes.append(one[1] if isinstance(one, tuple) else "TensorList" if isinstance(one, list) else "")
        inputs.append("" if is_tensor or not isinstance(one, str) else one)
    return operator_work(
        name, json.dumps(shapes), json.dumps(dtypes), json.dumps(inputs), strides, kernel, step
    )
