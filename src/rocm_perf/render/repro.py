"""A self-contained Python script that calls one recorded torch operator again, and times it."""

from __future__ import annotations

import ast
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

# Libraries whose operators compute on tensors. Files (image, video_reader), processes (c10d, symm_mem, rpc) and what is
# not known here are left out.
_LIBRARIES = frozenset((
    *("aten", "prims", "mkldnn", "onednn", "mkl", "quantized", "torchvision", "fbgemm", "apex", "DaoAILab"),
    *("xformers", "xformers_flash", "xformers_flash3", "flash_attn", "flash_attn_3", "aiter", "sgl_kernel", "sglang"),
    *("vllm", "_C", "_C_cache_ops", "_moe_C", "_rocm_C", "_vllm_fa2_C", "_vllm_fa3_C"),
))  # fmt: skip
# Those among them that reach beyond tensors: files, texts on the terminal, the state of the process.
_OF_TORCH = frozenset(
    (
        "from_file",
        "save",
        "load",
        "_print",
        "warn",
        "manual_seed",
        "seed",
        "set_grad_enabled",
        "wait",
        "to_here",
    )
)
# In the libraries of others: communication, and what opens, keeps or ends something.
_BEYOND = re.compile(
    r"all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|all2all|broadcast|send|recv|barrier|custom_ar|quick_?reduce|"
    r"(?:^|_)qr_|ipc|[nr]ccl|shmem|symm_|(?:^|_)shm|register|(?:^|_)init|destroy|dispose|(?:^|_)open|close|load|save|write|"
    r"file|free|alloc|handle|peer|connect|signal|wait|exec|compile|launch|print",
    re.IGNORECASE,
)
# Operators that make a tensor of numbers alone.
_FACTORIES = frozenset((
    *("arange", "empty", "empty_strided", "eye", "full", "linspace", "logspace", "ones", "rand", "randint", "randn"),
    *("randperm", "range", "scalar_tensor", "tril_indices", "triu_indices", "zeros"),
))  # fmt: skip
# The texts that operators of these libraries take; any other may name a file, a module or a layer.
_WORDS = frozenset((
    *("none", "tanh", "floor", "trunc", "same", "valid", "constant", "reflect", "replicate", "circular"),
    *("zeros", "border", "reflection", "sum", "prod", "mean", "amax", "amin", "max", "min", "add", "multiply"),
    *("linear", "lower", "higher", "midpoint", "nearest", "nearest-exact", "bilinear", "bicubic", "trilinear"),
    *("area", "left", "right", "ij", "xy", "fro", "nuc", "reduced", "complete", "L", "U", "forward"),
    *("backward", "ortho", "relu", "silu", "gelu", "swiglu", "gels", "gelsy", "gelsd", "gelss", "gesvd"),
    *("gesvdj", "gesvda", "auto", "fp8", "fp8_e4m3", "fp8_e5m2", "inf", "-inf", "nan"),
))  # fmt: skip
_DEVICE = re.compile(r"(?:cpu|cuda|hip|meta)(?::\d{1,3})?")
_EQUATION = re.compile(r"[A-Za-z,. ]+(?:->[A-Za-z. ]*)?")
_CHOOSE = "Choose another operator, such as an aten:: operator inside it."


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
    """Refuse a call that is no operator's, that may do more than compute on tensors, or that cannot be rebuilt."""
    if not _OPERATOR.fullmatch(call.name) or call.name.startswith("autograd::"):
        raise UsageError(
            f"{call.name} cannot be called by its name",
            "it is not the name of a registered torch operator",
            "Choose one that is, such as an aten:: operator inside it.",
        )
    reason = _beyond_tensors(call)
    if reason:
        raise UsageError(f"no script is written that calls {call.name}", reason, _CHOOSE)
    for place, argument in enumerate(call.arguments):
        if argument.kind == "unknown":
            raise UsageError(
                f"argument {place} of {call.name} cannot be rebuilt",
                f"of its type {argument.text} no sizes were recorded",
                _RECORD_AGAIN,
            )


def _beyond_tensors(call: OperatorCall) -> str | None:
    """Return why a call may have effects outside of its tensors, such as on files; None if it has none."""
    library, _, name = call.name.partition("::")
    name = name.partition(".")[0]
    if library not in _LIBRARIES:
        return f"{library} is not one of the libraries whose operators are known to do nothing but compute on tensors"
    if name in _OF_TORCH or (library != "aten" and _BEYOND.search(name)):
        return "by its name it communicates, reads or writes files, or changes the process that calls it"
    for place, argument in enumerate(call.arguments):
        if argument.kind == "value" and not _is_plain(argument.text, call.name):
            return f"its argument {place} is the text {argument.text[:60]!r}, which may name a file"
    has_tensors = any(argument.kind in ("tensor", "tensors") for argument in call.arguments)
    if (
        not has_tensors
        and name.rstrip("_") not in _FACTORIES
        and any(one.kind == "value" for one in call.arguments)
    ):
        return "none of its arguments is a tensor"
    return None


def _is_plain(text: str, operator: str) -> bool:
    """Return whether a value is a number, a list of numbers, or a word that operators take."""
    if text in _WORDS or _DEVICE.fullmatch(text):
        return True
    if operator.startswith("aten::einsum") and _EQUATION.fullmatch(text):
        return True
    try:
        return _of_numbers(ast.literal_eval(text))
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return False


def _of_numbers(value: object) -> bool:
    if isinstance(value, (list, tuple)):
        return all(map(_of_numbers, value))
    return value is None or isinstance(value, (bool, int, float, complex))


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
