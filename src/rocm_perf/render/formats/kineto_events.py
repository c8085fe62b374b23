"""The events of a torch.profiler trace as text, category by category: expressions that turn millions of rows into
JSON within seconds. Unknown values are left out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from rocm_perf.model.dtypes import ELEMENT_BYTES
from rocm_perf.model.rank_tables import UNKNOWN_COLLECTIVE
from rocm_perf.model.trace import Trace

_COPY_WORDS = {"H2D": "HtoD", "D2H": "DtoH", "D2D": "DtoD", "P2P": "PtoP", "H2H": "HtoH"}
_PLACES = {"H": "Host", "D": "Device", "P": "Device"}


def json_texts(frame: pl.DataFrame, *columns: str) -> pl.DataFrame:
    """Columns of text as JSON strings. Names repeat, so each distinct one is quoted once."""
    quoted = []
    for column in columns:
        texts = frame[column].drop_nulls().unique()
        literals = [json.dumps(text, ensure_ascii=False) for text in texts]
        quoted.append(pl.col(column).replace_strict(texts, literals, default=None, return_dtype=pl.String))
    return frame.with_columns(quoted)


@dataclass(frozen=True)
class Process:
    """The content of one file."""

    trace: Trace
    tables: dict[str, pl.DataFrame]
    pid: int | None
    rank: int | None
    base_ns: int

    def microseconds(self, column: str) -> pl.Expr:
        return _decimal(pl.col(column) - self.base_ns)


def event_sources(process: Process) -> Iterator[tuple[pl.DataFrame, pl.Expr]]:
    """The rows of each category, and the expression that turns them into events."""
    tables = process.tables
    ops, ranges = json_texts(tables["ops"], "name", "modules"), json_texts(tables["ranges"], "name")
    yield ops.filter(pl.col("category") != "python"), _event(process, "cpu_op", _OP_ARGS)
    yield ranges.filter(~pl.col("on_gpu")), _event(process, "user_annotation", {})
    yield ops.filter(pl.col("category") == "python"), _event(process, "python_function", _PYTHON_ARGS)
    links = tables["links"].filter(pl.col("kind") == "forward_backward").with_row_index("number", offset=1)
    yield links.drop_nulls(["cause_ns", "effect_ns"]), _forward_backward(process)
    kernels = json_texts(
        _with_collectives(tables["dispatches"], tables["collectives"]),
        "kernel",
        "collective",
        "dtype",
        "group",
    )
    copies = tables["copies"]
    started = pl.concat([kernels["correlation_id"], copies["correlation_id"]]).drop_nulls().unique()
    calls = json_texts(tables["api_calls"].filter(pl.col("domain").is_in(["hip", "cuda"])), "name")
    starts = pl.col("correlation_id").is_in(started.implode())
    for category, is_driver in (("cuda_runtime", False), ("cuda_driver", True)):
        chosen = calls.filter(pl.col("name").str.contains('^"cu[A-Z]') == is_driver)
        event = _with_flow(process, _event(process, category, _CALL_ARGS), starts)
        yield _with_launches(chosen, kernels), event
    for category, frame, args in _gpu_work(kernels, copies):
        event = _event(process, category, args, pid="agent_id", tid="stream_id")
        yield frame, _with_flow(process, event, pl.lit(False), "agent_id", "stream_id")
    yield ranges.filter("on_gpu"), _event(process, "gpu_user_annotation", {}, pid="agent_id", tid="stream_id")


def _sizes(prefix: str) -> pl.Expr:
    return pl.format("[{}, {}, {}]", *(pl.col(f"{prefix}_{axis}") for axis in "xyz"))


_GPU_ARGS = {
    "External id": pl.col("op_id"),
    "device": pl.col("agent_id"),
    "stream": pl.col("stream_id"),
    "correlation": pl.col("correlation_id"),
}
_OP_ARGS = {
    "External id": pl.col("op_id"),
    "Sequence number": pl.col("sequence"),
    "Fwd thread id": pl.col("forward_thread"),
    "Module Hierarchy": pl.col("modules"),
    "Concrete Inputs": pl.col("inputs"),
    "Input type": pl.col("dtypes"),
    "Input Strides": pl.col("strides"),
    "Input Dims": pl.col("shapes"),
}
_PYTHON_ARGS = {"Python parent id": pl.col("parent_id"), "Python id": pl.col("op_id")}
_CALL_ARGS = {
    "External id": pl.col("op_id"),
    "kernel": pl.col("kernel"),
    "correlation": pl.col("correlation_id"),
    "grid": pl.col("grid"),
    "block": pl.col("block"),
    "shared memory": pl.col("lds_bytes"),
}
_COLLECTIVE_ARGS = {
    "Collective name": pl.col("collective"),
    "In msg nelems": pl.col("elements"),
    "dtype": pl.col("dtype"),
    "Process Group Name": pl.col("group"),
    "Group size": pl.col("group_size"),
}


def _gpu_work(
    kernels: pl.DataFrame, copies: pl.DataFrame
) -> Iterator[tuple[str, pl.DataFrame, dict[str, pl.Expr]]]:
    """The rows and arguments of kernels and copies. Kernels of a graph have no geometry: Kineto takes it from the
    launch, which they lack."""
    shaped = _with_geometry(kernels).with_columns(
        pl.col("kernel").alias("name"),
        *(pl.when(pl.col("graph_id").is_null()).then(pl.col(size)).alias(size) for size in ("grid", "block")),
    )
    in_graph = pl.col("graph_id").is_not_null()
    kind = pl.when(in_graph).then(pl.lit('"Dispatch Task"')).otherwise(pl.lit('"Dispatch Kernel"'))
    yield (
        "kernel",
        shaped,
        {
            **_GPU_ARGS,
            "kind": kind,
            "grid": pl.col("grid"),
            "block": pl.col("block"),
            "est. achieved occupancy %": pl.col("occupancy"),
            **_COLLECTIVE_ARGS,
        },
    )
    names = {
        kind: f"Memcpy {direction} ({_PLACES[direction[0]]} -> {_PLACES[direction[-1]]})"
        for kind, direction in _COPY_WORDS.items()
    }
    unknown = "Memcpy Unknown (Unknown -> Unknown)"
    named = copies.with_columns(
        pl.format('"{}"', pl.col("kind").replace_strict(names, default=unknown)).alias("name")
    )
    moved = pl.format('"{}"', pl.col("kind").replace_strict(_COPY_WORDS, default="Unknown"))
    is_fill = pl.col("kind") == "MEMSET"
    yield "gpu_memcpy", named.filter(~is_fill), {**_GPU_ARGS, "kind": moved, "bytes": pl.col("size_bytes")}
    fills = named.filter(is_fill).with_columns(pl.lit('"Memset (Device)"').alias("name"))
    yield "gpu_memset", fills, {**_GPU_ARGS, "kind": pl.lit('"Device"'), "bytes": pl.col("size_bytes")}


def _with_geometry(kernels: pl.DataFrame) -> pl.DataFrame:
    """`grid` in workgroups, as HIP counts launches, and `block` in work-items."""
    groups = [
        -(
            -pl.col(f"grid_{axis}")
            // pl.when(pl.col(f"workgroup_{axis}") > 0).then(pl.col(f"workgroup_{axis}"))
        )
        for axis in "xyz"
    ]
    return kernels.with_columns(
        pl.format("[{}, {}, {}]", *groups).alias("grid"), _sizes("workgroup").alias("block")
    )


def _with_launches(calls: pl.DataFrame, kernels: pl.DataFrame) -> pl.DataFrame:
    """The calls, with the kernel that each launched; a graph launch starts many and names none."""
    alone = _with_geometry(kernels).filter(pl.col("graph_id").is_null()).unique("correlation_id", keep="none")
    launched = alone.select("correlation_id", "kernel", "grid", "block", "lds_bytes").drop_nulls(
        "correlation_id"
    )
    return calls.join(launched, on="correlation_id", how="left", maintain_order="left")


def _with_collectives(kernels: pl.DataFrame, collectives: pl.DataFrame) -> pl.DataFrame:
    """The kernels with their collectives, as Kineto notes them, sizes in elements."""
    key = ["start_ns", "end_ns", "agent_id", "stream_id", "correlation_id"]
    element = pl.col("dtype").replace_strict(ELEMENT_BYTES, default=None, return_dtype=pl.Int64)
    known = collectives.filter(pl.col("name") != UNKNOWN_COLLECTIVE)
    noted = known.unique(key, keep="first").select(
        *key,
        pl.col("name").alias("collective"),
        (pl.col("size_bytes") // element).alias("elements"),
        "dtype",
        "group",
        "group_size",
    )
    return kernels.join(noted, on=key, how="left", nulls_equal=True, maintain_order="left")


def _event(
    process: Process, category: str, args: dict[str, pl.Expr], pid: str = "pid", tid: str = "tid"
) -> pl.Expr:
    """A complete event. Unknown arguments are left out."""
    lane = [
        joined(f'"{key}": ', pl.col(column)) for key, column in (("name", "name"), ("pid", pid), ("tid", tid))
    ]
    head = pl.concat_str(lane, separator=", ", ignore_nulls=True)
    pairs = [joined(f'"{key}": ', value) for key, value in args.items()] or [pl.lit("")]
    arguments = pl.concat_str(pairs, separator=", ", ignore_nulls=True)
    length = _decimal(pl.col("end_ns") - pl.col("start_ns"))
    times = joined(',\n    "ts": ', process.microseconds("start_ns"), ', "dur": ', length)
    start = f'{{\n    "ph": "X", "cat": "{category}", '
    return joined(start, head, times, ',\n    "args": {\n      ', arguments, "\n    }\n  }")


def _with_flow(
    process: Process, event: pl.Expr, starts: pl.Expr, pid: str = "pid", tid: str = "tid"
) -> pl.Expr:
    """The event, and its end of the arrow from launch to kernel. Calls that start nothing get one as well."""
    phase = pl.when(starts).then(pl.lit('"s"')).otherwise(pl.lit('"f"'))
    bound = pl.when(starts).then(pl.lit("")).otherwise(pl.lit(', "bp": "e"'))
    where = (pl.col("correlation_id"), pl.col(pid), pl.col(tid), process.microseconds("start_ns"))
    flow = joined(",\n  ", _flow(phase, where, "ac2g", bound))
    return pl.concat_str(event, flow, ignore_nulls=True)


def _forward_backward(process: Process) -> pl.Expr:
    texts = []
    for phase, side, bound in (('"s"', "cause", ""), ('"f"', "effect", ', "bp": "e"')):
        lane = (pl.col("pid").fill_null(0), pl.col(f"{side}_track").fill_null(0))
        time = process.microseconds(f"{side}_ns")
        texts.append(_flow(pl.lit(phase), (pl.col("number"), *lane, time), "fwdbwd", pl.lit(bound)))
    return joined(texts[0], ",\n  ", texts[1])


def _flow(phase: pl.Expr, where: tuple[pl.Expr, ...], category: str, bound: pl.Expr) -> pl.Expr:
    number, pid, tid, ts = where
    head = joined(
        '{\n    "ph": ', phase, ', "id": ', number, ', "pid": ', pid, ', "tid": ', tid, ', "ts": ', ts
    )
    return joined(head, f',\n    "cat": "{category}", "name": "{category}"', bound, "\n  }")


def joined(*parts: str | pl.Expr) -> pl.Expr:
    """Texts and columns joined; null where a column is null."""
    return pl.concat_str([pl.lit(part) if isinstance(part, str) else part for part in parts])


def _decimal(nanoseconds: pl.Expr) -> pl.Expr:
    """Nanoseconds as microseconds with three decimals."""
    sign = pl.when(nanoseconds < 0).then(pl.lit("-")).otherwise(pl.lit(""))
    size = nanoseconds.abs()
    return pl.format("{}{}.{}", sign, size // 1000, (size % 1000).cast(pl.String).str.zfill(3))
