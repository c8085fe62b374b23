"""Collectives of a torch.profiler trace: kernels that say what they send, and the `nccl:*` operators and ranges whose
input shapes tell it where the kernels of older releases do not."""

from __future__ import annotations

import re

import msgspec
import polars as pl

from rocm_perf.model.column_kinds import MOST_COUNT
from rocm_perf.model.dtypes import ELEMENT_BYTES
from rocm_perf.model.torch_call import arguments

# Of the arguments of a kernel, beside those that every kernel has.
ARGUMENTS = (
    *("collective", "elements", "output_elements", "dtype", "group", "group_size"),
    *("input_splits", "source_rank", "target_rank"),
)
_KEPT = ("start_ns", "end_ns", "agent_id", "stream_id", "correlation_id", "dtype", "group", "group_size")
# symm_mem::multimem_all_reduce_, _C_custom_ar::all_reduce; those of torch itself end in an `nccl:*` operator.
_REDUCES = re.compile(r"(?!_?c10d)\w+::\w*all_?reduce")
_PEER = re.compile(r"\d+ ?(?:->|<-) ?(\d+)$")  # nccl:send 0->1


def collectives(kernels: pl.DataFrame) -> pl.DataFrame:
    """The kernels that say which collective they carry out."""
    if not kernels.height:
        return kernels
    element = pl.col("dtype").replace_strict(ELEMENT_BYTES, default=None, return_dtype=pl.Int64)
    rows = kernels.filter(pl.col("collective").is_not_null()).with_columns(
        size_bytes=pl.col("elements") * element, output_bytes=pl.col("output_elements") * element
    )
    is_send = pl.col("collective").str.contains("send", literal=True)
    sent = [_sent(splits, size) for splits, size in rows.select("input_splits", "size_bytes").iter_rows()]
    return rows.select(
        pl.col("collective").alias("name"),
        "size_bytes",
        "output_bytes",
        pl.Series("sent_bytes", sent, dtype=pl.String),
        pl.when(is_send).then("target_rank").otherwise("source_rank").alias("peer"),
        *_KEPT,
        "event_pid",
    )


def _sent(splits: str | None, size_bytes: int | None) -> str | None:
    """The bytes for each rank of the group, as a JSON list; None where the recorder shortened the list."""
    if not splits or size_bytes is None:
        return None
    try:
        rows = msgspec.json.decode(splits, type=list[int])
    except msgspec.MsgspecError:
        return None
    total = sum(rows)
    if total <= 0 or min(rows) < 0:
        return None
    return msgspec.json.encode([size_bytes * each // total for each in rows]).decode()


def collective_calls(spans: pl.DataFrame) -> pl.DataFrame:
    """What the `nccl:*` operators and ranges among these spans were asked to send: their inputs, by shape and type; and
    operators of other libraries that reduce a tensor."""
    if not spans.height or "shapes" not in spans.columns:
        return pl.DataFrame()
    names = [name for name in spans["name"].unique() if name is not None and _asks(name)]
    named = spans.filter(pl.col("name").is_in(names)) if names else spans.clear()
    facts = [
        (*(_input if name.startswith("nccl:") else _reduced)(shapes, dtypes), _peer(name))
        for name, shapes, dtypes in named.select("name", "shapes", "dtypes").iter_rows()
    ]
    schema = {"size_bytes": pl.Int64, "dtype": pl.String, "peer": pl.Int64}
    said = pl.DataFrame(facts, schema=schema, orient="row")
    return named.select("name", "start_ns", "end_ns", "pid", "tid").hstack(said)


def _asks(name: str) -> bool:
    return name.startswith("nccl:") or _REDUCES.match(name) is not None


def _reduced(shapes: str | None, dtypes: str | None) -> tuple[int | None, str | None]:
    """The bytes and the type of the first tensor: what else is given may be the result, or room to work in."""
    tensors = (each for each in arguments(shapes, dtypes) or () if each.kind == "tensor" and each.shape)
    first = next(tensors, None)
    if first is None or (size := first.elements * (first.element_bytes or 0)) > MOST_COUNT:
        return None, None
    return size, first.dtype


def _input(shapes: str | None, dtypes: str | None) -> tuple[int | None, str | None]:
    """The bytes of all input tensors and the type of the first; None where one of them is not known."""
    inputs = arguments(shapes, dtypes) or ()
    total = sum(each.elements * (each.element_bytes or 0) for each in inputs)
    if not inputs or total > MOST_COUNT or any(each.kind != "tensor" for each in inputs):
        return None, None
    return total, inputs[0].dtype


def _peer(name: str) -> int | None:
    match = _PEER.search(name)
    return int(match[1]) if match and len(match[1]) < 10 else None
