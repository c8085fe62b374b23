"""A self-contained Python script that calls one recorded torch operator again, and times it."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from rocm_perf.errors import InputError, UsageError
from rocm_perf.model.torch_call import Argument, OperatorCall

ITERATIONS = 100
_RECORD_AGAIN = "Record again with torch.profiler.profile(record_shapes=True)."


def script(call: OperatorCall, iterations: int = ITERATIONS) -> str:
    """The script; the same call always gives the same text."""
    _check(call)
    body = files("rocm_perf.render").joinpath("repro_body.py.txt").read_text()
    lines = [f"    {_line(argument)}," for argument in call.arguments]
    identity = "" if call.op_id is None else f" (op {call.op_id} of the recording)"
    head = [
        f'"""One call of {call.name}{identity}, rebuilt from recorded shapes, types and strides; needs torch alone.',
        "",
        "Values are random: what depends on them (sparsity, the order of indices) is not reproduced.",
        *_notes(call),
        '"""',
        "",
        f"OPERATOR = {call.name!r}",
        f"ITERATIONS = {iterations}",
        "ARGUMENTS = [",
        *lines,
        "]",
        "",
    ]
    return "\n".join(head) + body


def write(call: OperatorCall, path: Path, iterations: int = ITERATIONS, *, overwrite: bool = False) -> None:
    """The script as a file."""
    if path.exists() and not overwrite:
        raise UsageError(
            f"{path} exists already", next_step="Choose another name, or add --force to replace it."
        )
    text = script(call, iterations)
    try:
        path.write_text(text)
    except OSError as error:
        raise InputError(f"cannot write {path}", error.strerror or str(error)) from error


def _check(call: OperatorCall) -> None:
    if "::" not in call.name or call.name.startswith("autograd::"):
        raise UsageError(
            f"{call.name} cannot be called by its name",
            "it is no registered torch operator",
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
    library = call.name.split("::")[0]
    if library != "aten":
        notes.append(f"The library that registers {library}:: must be imported before it can be called.")
    if any(argument.kind == "tensors" for argument in call.arguments):
        notes.append(
            "The element type of a list of tensors is not recorded: that of another argument, or float32."
        )
    return notes


def _line(argument: Argument) -> str:
    if argument.kind == "tensor":
        strides = argument.strides[0] if argument.strides else None
        return f'("tensor", {argument.shape}, {strides}, {argument.dtype!r})'
    if argument.kind == "tensors":
        listed = argument.strides or (None,) * len(argument.shapes)
        return f'("tensors", {list(zip(argument.shapes, listed, strict=True))})'
    if argument.kind == "value":
        return f'("value", {argument.text!r})'
    return '("none",)'
