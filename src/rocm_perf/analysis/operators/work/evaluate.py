"""FLOPs and bytes of one operator call, from what was recorded with it: `operator_work` is what others use.

Every tensor is read or written once, and an operation counts once however the kernel does it: docs/operators.md has the
conventions of each family.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache

import msgspec

from rocm_perf.analysis.operators.work.call import Call, Counted, NoFormulaError, NotRecordedError
from rocm_perf.analysis.operators.work.fused import fused_work, is_fused, recorded_figures
from rocm_perf.analysis.operators.work.grouped import launched
from rocm_perf.analysis.operators.work.kernel_names import list_element_bytes
from rocm_perf.analysis.operators.work.registry import formulas_of
from rocm_perf.analysis.operators.work.routed import routed as routed_experts
from rocm_perf.analysis.operators.work.signature import Formula
from rocm_perf.analysis.operators.work.stated import stated_work
from rocm_perf.analysis.operators.work.step_lengths import step_lengths
from rocm_perf.model.quantity import Quantity, unavailable
from rocm_perf.model.torch_call import Argument, arguments

BASIS = "analytical from shapes"
_ONCE = "each tensor read or written once"
NO_SHAPES = "shapes were not recorded (torch.profiler: record_shapes=True)"

_MOST = 2**60  # operations or bytes of one call: minutes of all that a GPU can do
_ABSURD = "the recorded sizes imply an amount of work that no call can have"

_CANNOT = (NoFormulaError, NotRecordedError, IndexError, ValueError, ZeroDivisionError)


class Work(msgspec.Struct, frozen=True):
    """What one call has to compute and to move at least."""

    flops: Quantity
    bytes: Quantity
    on_matrix: bool = False  # its FLOPs are those of the matrix units
    dtype: str | None = None  # torch's name of the type it multiplies in
    # Of a product: batch, M, N, K. Of attention: batch, heads, queries, keys, depth of a key, depth of a value.
    sizes: tuple[int, ...] | None = None


@lru_cache(maxsize=65_536)
def operator_work(  # noqa: PLR0913, PLR0917  (what is recorded of a call)
    name: str,
    shapes: str | None,
    dtypes: str | None,
    inputs: str | None = None,
    strides: str | None = None,
    kernel: str | None = None,
    step: str | None = None,
    routed: str | None = None,
) -> Work:
    """FLOPs and bytes of a call, or why they are not known.

    Three things are recorded beside it: the name of a `kernel` that it launched says which type the tensors of a list
    have, the range of the serving `step` around it how long the sequences are, and the launches of a mixture of experts
    how large those are (`routed`).
    """
    stated = stated_work(inputs)
    if stated is not None:
        return Work(_credible(stated.flops), _credible(stated.bytes), stated.on_matrix)
    known = arguments(shapes, dtypes, strides, inputs)
    if known is None:
        return _unknown(NO_SHAPES)
    if is_fused(name):
        return _of_fused(name, known, recorded_figures(inputs))
    candidates = formulas_of(name)
    if not candidates:
        return _unknown(f"no formula for {name}")
    reasons = []
    for formula in sorted(candidates, key=lambda formula: len(formula.parameters) != len(known)):
        try:
            if not formula.fits(known):
                raise NoFormulaError("a tensor stands where it takes a number")
            call = Call(
                formula.named(known), list_element_bytes(kernel), step_lengths(step), routed_experts(routed)
            )
            return _worked_out(formula, known, call)
        except _CANNOT as error:
            reasons.append(_why(error))
    return _unknown(f"the recorded arguments of {name} do not fit its formula ({reasons[0]})")


@lru_cache(maxsize=65_536)
def launched_work(
    name: str, shapes: str | None, dtypes: str | None, kernel: str, routed: str | None
) -> Work | None:
    """The work of one of the kernels of a mixture of experts; None where only that of all together can be known."""
    experts, known = routed_experts(routed), arguments(shapes, dtypes)
    if experts is None or not known:
        return None
    for formula in formulas_of(name):
        with suppress(*_CANNOT):
            counted = launched(kernel, Call(formula.named(known), routed=experts))
            moved = Quantity(
                counted.touched_bytes, "B", f"{counted.touched} ({BASIS})", doubt=counted.bytes_doubt
            )
            return _work(counted, moved)
    return None


def _worked_out(formula: Formula, known: Sequence[Argument], call: Call) -> Work:
    counted = formula.count(call)
    if counted.bytes_missing:
        return _work(counted, unavailable("B", BASIS, counted.bytes_missing))
    try:
        moved = formula.moved_bytes(known, call, counted.output_bytes) + counted.touched_bytes
    except NotRecordedError as error:
        return _work(counted, unavailable("B", BASIS, str(error)))
    text = f"{_ONCE}; {counted.touched}" if counted.touched else _ONCE
    return _work(counted, Quantity(moved, "B", f"{text} ({BASIS})", doubt=counted.bytes_doubt))


def _of_fused(name: str, known: Sequence[Argument], recorded: Mapping[str, float]) -> Work:
    try:
        work = fused_work(name, known, recorded)
    except _CANNOT as error:
        return _unknown(f"the recorded arguments of {name} do not fit its formula ({_why(error)})")
    formula = f"{work.bytes_formula} ({BASIS})"
    return _work(work.counted, Quantity(work.bytes, "B", formula, doubt=work.counted.bytes_doubt))


def _work(counted: Counted, moved: Quantity) -> Work:
    formula = f"{counted.formula} ({BASIS})"
    if counted.flops is None:
        flops = unavailable("FLOP", formula, counted.flops_missing)
    else:
        flops = Quantity(counted.flops, "FLOP", formula, doubt=counted.flops_doubt)
    return Work(_credible(flops), _credible(moved), counted.on_matrix, counted.dtype, counted.sizes)


def _credible(amount: Quantity) -> Quantity:
    if amount.value is None or 0 <= amount.value <= _MOST:
        return amount
    return unavailable(amount.unit, BASIS, _ABSURD)


def _why(error: Exception) -> str:
    return "one of its sizes is zero" if isinstance(error, ZeroDivisionError) else str(error)


def _unknown(reason: str) -> Work:
    return Work(unavailable("FLOP", BASIS, reason), unavailable("B", BASIS, reason))
