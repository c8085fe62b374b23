"""A self-contained Python script that calls one recorded torch operator again, and times it."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

from rocm_perf.errors import UsageError
from rocm_perf.files import write_whole
from rocm_perf.model.torch_call import Argument, OperatorCall

ITERATIONS = 100
_OPERATOR = re.compile(
    r"(?!__)[A-Za-z_]\w*::[A-Za-z_]\w*(\.[A-Za-z]\w*)?", re.ASCII
)  # library::name.overload
_RECORD_AGAIN = "Record again with torch.profiler.profile(record_shapes=True)."


def script(call: OperatorCall, iterations: int = ITERATIONS) -> str:
    """The script; the same call always gives the same text.

    Only checked values of the recording enter it, as literals: a recording may come from a stranger.
    """
    _check(call)
    body = files("rocm_perf.render").joinpath("repro_body.py.txt").read_text()
    head = [
        '"""One call of a torch operator, rebuilt from recorded shapes, types and strides; needs only torch.',
        "",
        "Values are random: what depends on them (sparsity, the order of indices) is not reproduced.",
        *_notes(call),
        '"""',
        "",
        f"OPERATOR = {call.name!r}",
        f"RECORDED_AS = {call.op_id!r}  # op_id in the recording",
        f"ITERATIONS = {iterations!r}",
        "ARGUMENTS = [",
        *(f"    {_literal(argument)!r}," for argument in call.arguments),
        "]",
        "",
    ]
    return "\n".join(head) + body


def write(call: OperatorCall, path: Path, iterations: int = ITERATIONS, *, overwrite: bool = False) -> None:
    """Write the script as a file."""
    text = script(call, iterations)
    write_whole(path, lambda draft: draft.write_text(text, encoding="utf-8"), overwrite=overwrite)


def _check(call: OperatorCall) -> None:
    if not _OPERATOR.fullmatch(call.name) or call.name.startswith("autograd::"):
        raise UsageError(
            f"{call.name} cannot be called by its name",
            "it is not the name of a registered torch operator",
            "Choose one that is, such as an aten:: operator inside it.",
        )
    for place, argument in enumerate(call.arguments):
        if argument.kind == "unknown":
            raise UsageError(
                f"argument {place} of {call.name} cannot be rebuilt",
                f"of its type {argument.text} no sizes were recorded",
                _RECORD_AGAIN,
            )


def _notes(call: OperatorCall) -> list[str]:
    notes = []
    if not call.name.startswith("aten::"):
        notes.append("The library that registers the operator must be imported before it can be called.")
    if any(argument.kind == "tensors" for argument in call.arguments):
        notes.append(
            "The element type of a list of tensors is not recorded: it is that of another argument, or float32."
        )
    return notes


def _literal(argument: Argument) -> tuple[object, ...]:
    """The argument as the script's own tuple."""
    if argument.kind == "tensor":
        return "tensor", argument.shape, argument.strides[0] if argument.strides else None, argument.dtype
    if argument.kind == "tensors":
        listed = argument.strides or (None,) * len(argument.shapes)
        return "tensors", list(zip(argument.shapes, listed, strict=True))
    if argument.kind == "value":
        return "value", argument.text
    return ("none",)
