"""Calls every overload of torch's operators that share a name, and notes what was recorded of each and what it moved.

`python -m tests.with_torch.overloads` writes the file that `test_overloads.py` of the operators' work reads: the
arguments are those that torch.profiler recorded, the bytes are the sizes of the tensors that went in and came out.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from rocm_perf.analysis.operators.work.registry import FAMILIES

FILE = Path(__file__).parents[1] / "unit" / "analysis" / "operators" / "work" / "overloads.json"

# Tensors of which a part is touched, or lists and formulas with examples of their own.
OTHER_FAMILIES = ("attention", "indexing", "recurrent", "optimisers", "fourier", "convolutions", "moe")
_WITH_STATISTICS = ("_native_batch_norm_legit",)  # which are returned beside the result, and do not count
_BY_VALUES = ("where.default",)  # how large the result is follows from values: not known from shapes
_WRITTEN_ONLY = ("copy_", "fill_", "random_", "bernoulli_")
_NO_TENSOR = ("int", "float", "bool", "complex", "str", "Scalar_Scalar")

# What stands for an argument by its name, where its type does not say enough.
_NAMED: dict[str, Any] = {
    "mat2": lambda: torch.ones(8, 4),
    "mat1": lambda: torch.ones(4, 8),
    "batch1": lambda: torch.ones(2, 4, 8),
    "batch2": lambda: torch.ones(2, 8, 4),
    "mask": lambda: torch.ones(4, 8, dtype=torch.bool),
    "condition": lambda: torch.ones(4, 8, dtype=torch.bool),
    "keepdim": lambda: False,
    "rounding_mode": lambda: "floor",
    "out_dtype": lambda: torch.float32,
    "from": lambda: 0,
    "to": lambda: 9,
    "running_mean": lambda: torch.ones(8),
    "running_var": lambda: torch.ones(8),
    "weight": lambda: torch.ones(8),
    "bias": lambda: torch.ones(8),
    "p": lambda: 0.5,
    "training": lambda: True,
    "momentum": lambda: 0.1,
    "eps": lambda: 0.00001,
}
_FIRST = {"addmm": (4, 4), "bmm": (2, 4, 8), "baddbmm": (2, 4, 4), "upsample_nearest1d": (2, 4, 8)}
_IN_SPACE = {"nearest2d": (2, 3, 4, 8), "exact2d": (2, 3, 4, 8), "linear2d": (2, 3, 4, 8), "cubic2d": (2, 3, 4, 8),
             "nearest3d": (2, 3, 4, 4, 8), "2d_aa": (2, 3, 4, 8)}  # fmt: skip


def names() -> list[str]:
    """Return torch's operators with a formula whose name stands for several overloads of tensors."""
    ours = {
        formula.operator.removeprefix("aten::")
        for family in FAMILIES
        if not family.__name__.endswith(OTHER_FAMILIES)
        for formula in family.FORMULAS
        if formula.operator.startswith("aten::") and "*" not in formula.operator
    }
    return sorted(name for name in ours if len(overloads(name)) > 1)


def overloads(name: str) -> list[str]:
    """Return the overloads that take a tensor, without those that are given their results."""
    packet = getattr(torch.ops.aten, name, None)
    if packet is None:
        return []
    schemas = {each: getattr(packet, each)._schema for each in packet.overloads()}
    return [
        each
        for each, schema in schemas.items()
        if any("Tensor" in str(argument.type) for argument in schema.arguments)
        and not any(argument.is_out for argument in schema.arguments)
        and not any("List[Tensor]" in str(argument.type) for argument in schema.arguments)
        and each not in _NO_TENSOR
    ]


def given(name: str, overload: str, dtype: torch.dtype) -> tuple[list[Any], dict[str, Any]]:
    """Return arguments for an overload: small tensors of a type, the second axis, the number 2."""
    schema = getattr(getattr(torch.ops.aten, name), overload)._schema
    positional, keywords = [], {}
    for place, argument in enumerate(schema.arguments):
        value = _value(name, place, argument, dtype)
        if argument.kwarg_only:
            keywords[argument.name] = value
        else:
            positional.append(value)
    return positional, keywords


def _value(name: str, place: int, argument: Any, dtype: torch.dtype) -> Any:
    kind = str(argument.type)
    if argument.name == "output_size":
        return None if "Optional" in kind else [2 * size for size in _shape(name)[2:]]
    if argument.name == "scale_factors":
        return [2.0] * (len(_shape(name)) - 2)
    if "Tensor" in kind:
        if argument.name in _NAMED and place:
            made = _NAMED[argument.name]()
            return made if made.dtype is torch.bool else made.to(dtype)
        if argument.name == "condition":
            return _NAMED["condition"]()
        return (
            torch.ones(_shape(name), dtype=dtype) if argument.name != "value" else torch.tensor(2).to(dtype)
        )
    if argument.name in _NAMED:
        return _NAMED[argument.name]()
    if argument.has_default_value() and argument.name not in ("dim", "decimals", "dtype"):
        return argument.default_value
    if argument.name == "dtype":
        return torch.float64
    if "List[int]" in kind:
        return [1]
    if kind in ("int", "Optional[int]"):
        return 1
    return 2 if "number" in kind or kind == "float" else None


def _shape(name: str) -> tuple[int, ...]:
    ending = next((shape for end, shape in _IN_SPACE.items() if name.endswith(end)), None)
    return ending or _FIRST.get(name, (4, 8))


def moved(name: str, arguments: list[Any], results: Any) -> int:
    """Return the bytes of the tensors that a call read and of those that it returned."""
    returned = results if isinstance(results, (list, tuple)) else [results]
    counted = returned[:1] if name in _WITH_STATISTICS else returned
    return _bytes(arguments[1:] if name in _WRITTEN_ONLY else arguments) + _bytes(counted)


def _bytes(values: Any) -> int:
    return sum(value.numel() * value.element_size() for value in values if isinstance(value, torch.Tensor))


def calls() -> Iterator[tuple[str, str, list[Any], dict[str, Any]]]:
    """Yield every overload with arguments of floating-point numbers and of integers, if it takes those."""
    for name in names():
        for overload in overloads(name):
            for dtype in (torch.float32, torch.int32):
                arguments, keywords = given(name, overload, dtype)
                try:
                    getattr(getattr(torch.ops.aten, name), overload)(*arguments, **keywords)
                except (RuntimeError, TypeError, ValueError, NotImplementedError):
                    continue
                yield name, overload, *given(name, overload, dtype)


def recorded() -> list[dict[str, Any]]:
    """Return what torch.profiler recorded of each call, and the bytes that it moved."""
    made: list[dict[str, Any]] = []
    pending = list(calls())
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True
    ) as profile:
        for place, (name, overload, arguments, keywords) in enumerate(pending):
            with torch.profiler.record_function(f"case {place}"):
                results = getattr(getattr(torch.ops.aten, name), overload)(*arguments, **keywords)
            values = [*arguments, *keywords.values()]
            size = None if f"{name}.{overload}" in _BY_VALUES else moved(name, values, results)
            made.append({"operator": f"aten::{name}", "overload": overload, "bytes": size})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        profile.export_chrome_trace(str(path))
        events = json.loads(path.read_text())["traceEvents"]
    cases = sorted(
        (event for event in events if event["name"].startswith("case ")), key=lambda event: event["ts"]
    )
    operators = sorted(
        (event for event in events if event.get("cat") == "cpu_op"), key=lambda event: event["ts"]
    )
    for case, row in zip(cases, made, strict=True):
        until = case["ts"] + case["dur"]
        inside = (
            one for one in operators if case["ts"] <= one["ts"] <= until and one["name"] == row["operator"]
        )
        args = next(inside)["args"]
        row |= {"shapes": args["Input Dims"], "dtypes": args["Input type"], "inputs": args["Concrete Inputs"]}
    return made


def text() -> str:
    """Return the file: one call on each line."""
    lines = ",\n".join(json.dumps(row) for row in recorded())
    return f"[\n{lines}\n]\n"


if __name__ == "__main__":
    FILE.write_text(text())
