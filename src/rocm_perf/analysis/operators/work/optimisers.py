"""Optimisers over lists of tensors: fused steps, and element by element (`_foreach_`).

The element type of a list is not recorded: it is that of the kernel's name, else the bytes are not known.
"""

from __future__ import annotations

from math import prod

from rocm_perf.analysis.operators.work import elementwise
from rocm_perf.analysis.operators.work.call import Call, Count, Counted
from rocm_perf.analysis.operators.work.signature import Formula, formula, formulas

# Per element: both means (3 + 4), their correction and the root (3), the step (3).
_ADAM = 13


def _elements(call: Call, name: str = "self") -> int:
    return sum(prod(shape) for shape in call.tensors(name))


def _adam(decay: int) -> Count:
    """`decay`: operations of the weight decay, which Adam adds to the gradient and AdamW takes off the parameter."""

    def count(call: Call) -> Counted:
        each = (
            _ADAM + (0 if call.text("weight_decay") in ("", "0", "0.") else decay) + call.is_true("amsgrad")
        )
        elements = _elements(call)
        return Counted(each * elements, f"{each} * {elements} elements: both means, root, step, decay")

    return count


def _sgd(call: Call) -> Counted:
    elements = _elements(call)
    each = (
        2
        + 2 * (call.text("weight_decay") not in ("", "0", "0."))
        + 2 * (call.text("momentum") not in ("", "0", "0."))
    )
    return Counted(each * elements, f"{each} * {elements} elements: decay, momentum, step as asked for")


def _each(operations: int, *, keeps: bool = True) -> Count:
    """`_foreach_` of an operator; `keeps`: its results are as large as its first list."""

    def count(call: Call) -> Counted:
        elements = _elements(call)
        output = call.size("self") if keeps and call.list_element_bytes else 0
        return Counted(operations * elements, f"{operations} * {elements} elements of the list", output)

    return count


def _foreach() -> tuple[Formula, ...]:
    tables = ((elementwise.ONE, 1), (elementwise.ONE_FLOATING, 1), (elementwise.TWO, 2))
    return tuple(
        formula(f"aten::_foreach_{name}(self, other, third, fourth)", _each(operations))
        for table, operations in tables
        for listed in table.values()
        for name in listed.split()
    )


_STATES = (
    "self&, grads, exp_avgs&, exp_avg_sqs&, max_exp_avg_sqs&, state_steps, lr, beta1, beta2, weight_decay, eps, "
    "amsgrad, ..."
)

FORMULAS: tuple[Formula, ...] = (
    *formulas(_adam(decay=2), f"aten::_fused_adam_({_STATES})"),
    *formulas(_adam(decay=1), f"aten::_fused_adamw_({_STATES})"),
    *formulas(_sgd, "aten::_fused_sgd_(self&, grads, momentum_buffers&, weight_decay, momentum, lr, ...)"),
    *formulas(_each(0), "aten::_foreach_zero_(self!)", "aten::_foreach_copy_(self!, source, non_blocking)"),
    *formulas(_each(2, keeps=False), "aten::_foreach_norm(self, ord, dtype)"),
    *formulas(
        _each(1),
        "aten::_amp_foreach_non_finite_check_and_unscale_(self&, found_inf, inverse_scale)",
    ),
    *_foreach(),
)
