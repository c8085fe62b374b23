"""Runs in the Python that has torch: prints the GPU, then one JSON object per variant, data type and shape. Standard
library and torch alone, and what a variant imports."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from rocm_perf.bench.inside.gpu import Printer, describe_gpu, first_line, times_ms
from rocm_perf.bench.suite.correctness import Shape, errors_of, make_inputs

_BUDGET_S = 0.5  # for the samples of one case
_ANY_SHAPE = (1, 1, 1)


@dataclass(frozen=True)
class Case:
    """One product to measure."""

    module: ModuleType
    dtype: str
    shape: Shape

    @property
    def line(self) -> dict[str, Any]:
        return {"variant": self.module.NAME, "dtype": self.dtype, "shape": self.shape}


def main(arguments: Sequence[str]) -> int:
    """Measure what the request, a JSON object, asks for."""
    request = json.loads(arguments[0])
    printer = Printer()
    import torch

    torch.cuda.set_device(request["device"])
    printer.print({"gpu": describe_gpu(torch, request["device"]), "torch": torch.__version__})
    for file in request["files"]:
        printer.print({"file": file})
        for line in _lines(torch, Path(file), request):
            printer.print(line)
            if "reason" in line and _is_unusable(torch):
                return 1
    return 0


def _lines(torch: Any, file: Path, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What there is to say of one variant; before each case, that it begins."""
    name = file.stem
    try:
        module = load_variant(file)
        name = module.NAME
        getattr(module, "prepare", lambda: None)()
    except (Exception, SystemExit) as error:  # noqa: BLE001  (the user's own file)
        yield {"variant": name, "reason": _reason(error)}
        return
    for dtype in (dtype for dtype in request["dtypes"] if dtype in module.DTYPES):
        for shape in request["shapes"]:
            case = Case(module, dtype, tuple(shape))
            yield {"begins": case.line}
            yield {**case.line, **_measured(torch, case)}


def _is_unusable(torch: Any) -> bool:
    """Whether a kernel has left the GPU in a state in which this process can no longer use it."""
    try:
        torch.cuda.synchronize()
    except RuntimeError:
        return True
    return False


def load_variant(file: Path) -> ModuleType:
    """The module of a variant, checked."""
    spec = importlib.util.spec_from_file_location(f"rocm_perf_variant_{file.stem}", file)
    if spec is None or spec.loader is None:
        raise ValueError(f"{file} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    for name in ("NAME", "DTYPES", "multiply"):
        if not hasattr(module, name):
            raise ValueError(f"{file.name} has no {name}")
    return module


def _measured(torch: Any, case: Case) -> dict[str, Any]:
    """The times and errors of a case, or the reason why it has none."""
    sides = getattr(case.module, "MULTIPLE_OF", _ANY_SHAPE)
    if any(size % multiple for size, multiple in zip(case.shape, sides, strict=True)):
        return {"reason": f"it takes multiples of {' x '.join(map(str, sides))}"}
    torch.backends.cuda.matmul.allow_tf32 = case.dtype == "xf32"
    try:
        a, b = make_inputs(torch, case.dtype, case.shape, "cuda")
        times = times_ms(lambda: case.module.multiply(a, b), _BUDGET_S)
        # Fresh inputs: a variant that returns an earlier result again is wrong.
        a, b = make_inputs(torch, case.dtype, case.shape, "cuda")
        errors = errors_of(case.module.multiply(a, b), a, b, case.dtype)
    except Exception as error:  # noqa: BLE001  (the variant's own)
        return {"reason": _reason(error)}
    return {
        "times_ms": times,
        "error": errors.mean,
        "largest_error": errors.largest,
        "tolerance": errors.tolerance,
        "correct": errors.correct,
    }


def _reason(error: BaseException) -> str:
    return f"{type(error).__name__}: {first_line(error)}"
