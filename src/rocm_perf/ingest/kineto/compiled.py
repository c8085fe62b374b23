"""What inductor records with the kernels that it generated, kept beside their scalar arguments.

A tensor has no scalar: in its place stands the name of its parameter (`in_out_ptr0`), where the kernel's source is at
hand. The file that the trace names is read only if it is named after the hash that is recorded with it.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

import msgspec
import polars as pl

from rocm_perf.ingest.io.source import note_consulted
from rocm_perf.ingest.kineto.fields import on_one_line

_LARGEST_BYTES = 1 << 20  # of a source file; inductor's are a few KiB
_PARAMETERS = re.compile(r"^def triton_\w+\(([^)]*)\)", re.MULTILINE)
_RECORDED = ("kernel_flop", "kernel_num_gb")
_FIELDS = ("kernel_file", "kernel_hash", *_RECORDED)


def with_compiled(operators: pl.DataFrame) -> pl.DataFrame:
    """The operators without the columns of generated kernels, whose content joins their scalar arguments."""
    if not set(_FIELDS) <= set(operators.columns):
        return operators
    generated = operators["kernel_file"].is_not_null()
    plain = operators.drop(_FIELDS)
    if not generated.any():
        return plain
    rows = operators.filter(generated).select("inputs", "dtypes", *_FIELDS)
    named = rows.select("kernel_file", "kernel_hash").unique().rows()
    note_consulted(*(file for file, digest in named if _is_named_after(file, digest)))
    places = generated.arg_true()
    inputs = plain["inputs"].scatter(places, [_inputs(*row) for row in rows.iter_rows()])
    return plain.with_columns(inputs)


def _inputs(  # noqa: PLR0913, PLR0917  (one for each column)
    inputs: str | None,
    dtypes: str | None,
    file: str,
    digest: str | None,
    flop: float | None,
    gb: float | None,
) -> str | None:
    texts = _decoded(inputs)
    names = parameters(file, digest)
    kinds = _decoded(dtypes)
    tensors = [place for place, kind in enumerate(kinds) if kind != "Scalar"]
    if len(names) >= max(len(texts), len(kinds)):
        for place in tensors:
            texts[place : place + 1] = [names[place]]
    extra = [
        f"{name}={value}" for name, value in zip(_RECORDED, (flop, gb), strict=True) if value is not None
    ]
    if not (texts or extra):
        return inputs
    return on_one_line(msgspec.json.encode([*texts, *extra])).decode()


def _decoded(text: str | None) -> list[str]:
    try:
        return msgspec.json.decode(text or "[]", type=list[str], strict=False)
    except msgspec.MsgspecError:
        return []


def _is_named_after(file: str, digest: str | None) -> bool:
    return digest is not None and Path(file).name == f"{digest}.py"


@lru_cache(maxsize=4096)
def parameters(file: str, digest: str | None) -> tuple[str, ...]:
    """The names of a generated kernel's parameters, in order; none where its source is not at hand."""
    path = Path(file)
    if not _is_named_after(file, digest):
        return ()
    try:
        if not path.is_file() or path.stat().st_size > _LARGEST_BYTES:
            return ()
        source = path.read_text(encoding="utf-8", errors="replace")
    except (OSError, ValueError):
        return ()
    match = _PARAMETERS.search(source)
    return tuple(word.split(":")[0].strip() for word in match[1].split(",")) if match else ()
