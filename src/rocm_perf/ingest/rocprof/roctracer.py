"""roctracer's text traces, as its tool prints them and as rocprof keeps them below `-t`: one line per call, GPU
operation or roctx event, between whatever the program printed.

    begin:end pid:tid function(arguments) = result :correlation
    begin:end device:queue operation:correlation:pid
    time pid:tid what:range:"message"
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import polars as pl

from rocm_perf.errors import EmptyCaptureError
from rocm_perf.ingest import domains
from rocm_perf.ingest.io.csv import drop_incomplete
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.part import Adapter, Part, part
from rocm_perf.ingest.peek import Peek
from rocm_perf.model.run import Loss

_CALL = r"^(?P<start_ns>\d+):(?P<end_ns>\d+) (?P<pid>\d+):(?P<tid>\d+) (?P<name>[A-Za-z_]\w*)(?P<rest>\(.*)$"
_OPERATION = (
    r"^(?P<start_ns>\d+):(?P<end_ns>\d+) (?:(?P<agent_id>\d+):(?P<queue_id>\d+) )?"
    r"(?P<name>\S.*?):(?P<correlation_id>\d+):(?P<pid>\d+)$"
)
_RANGE = r'^(?P<time_ns>\d+) (?P<pid>\d+):(?P<tid>\d+) (?P<what>[0-4]):(?P<range>\d+):"(?P<name>.*)"$'
_RECORD = r"^\d{9,}(:\d| \d+:\d)"  # a line that starts like this was meant to be one of the three
_CLAIM = re.compile(
    r'^(ROCTracer \(pid=\d+\)|\d{9,}:\d{9,} (\d+:\d+ [A-Za-z_]|\S+:\d+:\d+$)|\d{9,} \d+:\d+ [0-4]:\d+:")',
    re.MULTILINE,
)

_NO_WORK = r"(?i)marker|barrier"  # operations that only order others
_COPY = r"(?i)copy|memcpy|fill|memset"

MARK, PUSH, POP, START, STOP = range(5)  # roctx events, as roctracer numbers them
RANGE_COLUMNS = {
    "name": pl.String,
    "start_ns": pl.Int64,
    "end_ns": pl.Int64,
    "pid": pl.Int64,
    "tid": pl.Int64,
    "depth": pl.Int64,
}
RangeEvent = tuple[int, int | None, int | None, int, int, str]  # time, pid, tid, what, range, message


def read_trace(source: Source) -> Part:
    """Calls, kernels, copies and ranges; other lines are the program's own output."""
    content = source.read()
    losses = [Loss(source.name, content.damage)] if content.damage else []
    lines = text_lines(content.data)
    operations, rest = split(lines, _OPERATION)
    calls, rest = split(rest, _CALL)
    events, rest = split(rest, _RANGE)
    if broken := int(rest.str.contains(_RECORD).sum()):
        losses.append(Loss(source.name, "truncated lines", broken))
    operations, untimed = drop_incomplete(_typed(operations), ("start_ns", "end_ns", "pid"), source.name)
    calls, unusable = drop_incomplete(_calls(calls), ("start_ns", "end_ns", "pid", "tid"), source.name)
    ranges, unpaired = pair_ranges(_range_events(events), source.name)
    tables = {**_gpu_tables(operations, calls), "api_calls": _api_calls(calls), "ranges": ranges}
    if not any(table.height for table in tables.values()):
        raise EmptyCaptureError(
            f"{source.name} holds no record", "roctracer started, but no call, copy or range was traced"
        )
    return part(
        "roctracer",
        tables,
        losses + untimed + unusable + unpaired,
        clock="boot",
        pid=_pid(lines),
        notices=_notices(tables),
    )


def text_lines(data: bytes) -> pl.Series:
    """The lines of a text file, without their ends."""
    return pl.Series("line", data.decode("utf-8", "replace").split("\n"), pl.String).str.strip_chars_end("\r")


def split(lines: pl.Series, pattern: str) -> tuple[pl.DataFrame, pl.Series]:
    """The named groups of the lines that match, as text, and the other lines."""
    matches = lines.str.contains(pattern)
    fields = (
        lines.filter(matches)
        .to_frame("line")
        .select(pl.col("line").str.extract_groups(pattern))
        .unnest("line")
    )
    return fields, lines.filter(~matches)


def pair_ranges(events: Iterable[RangeEvent], source: str) -> tuple[pl.DataFrame, list[Loss]]:
    """Begins matched with their ends: pushes by thread, innermost first, started ranges by their number.

    A range that was never closed is kept without an end.
    """
    rows: list[list[object]] = []
    stacks: dict[tuple[int | None, int | None], list[int]] = {}
    started: dict[tuple[int | None, int], int] = {}
    orphans = 0
    for time, pid, tid, what, number, name in events:
        stack = stacks.setdefault((pid, tid), [])
        if what in (POP, STOP):
            row = (stack.pop() if stack else None) if what == POP else started.pop((pid, number), None)
            if row is None:
                orphans += 1
            else:
                rows[row][2] = time
            continue
        if what == PUSH:
            stack.append(len(rows))
        elif what == START:
            started[pid, number] = len(rows)
        depth = len(stack) - (what == PUSH)
        rows.append([name, time, time if what == MARK else None, pid, tid, None if what == START else depth])
    frame = pl.DataFrame(rows, schema=RANGE_COLUMNS, orient="row").with_columns(source=pl.lit("roctx"))
    counts = {
        "ends of ranges that were never opened": orphans,
        "ranges that were never closed": frame["end_ns"].null_count(),
    }
    return frame, [Loss(source, what, count) for what, count in counts.items() if count]


def numbers(frame: pl.DataFrame, *names: str) -> list[pl.Expr]:
    """Columns of digits as Int64; null where the number does not fit."""
    return [pl.col(name).cast(pl.Int64, strict=False) for name in names if name in frame.columns]


def _typed(operations: pl.DataFrame) -> pl.DataFrame:
    return operations.with_columns(
        numbers(operations, "start_ns", "end_ns", "agent_id", "queue_id", "correlation_id", "pid")
    )


def _calls(calls: pl.DataFrame) -> pl.DataFrame:
    """Calls with the details in their arguments. The tool prints some correlation ids in hexadecimal, without
    saying which: ids that two calls of a process share are therefore left out."""
    frame = calls.with_columns(
        *numbers(calls, "start_ns", "end_ns", "pid", "tid"),
        pl.col("rest").str.extract(r" :(\d+)$").cast(pl.Int64, strict=False).alias("correlation_id"),
        pl.col("rest").str.extract(r"\bsizeBytes=(\d+)").cast(pl.Int64, strict=False).alias("size_bytes"),
        pl.col("rest").str.extract(r"\bkernel=(.+?)(?: :[0-9a-f]+)?$").alias("kernel"),
    )
    shared = pl.len().over("pid", "correlation_id") > 1
    return frame.with_columns(pl.when(~shared).then(pl.col("correlation_id")).alias("correlation_id"))


def _api_calls(calls: pl.DataFrame) -> pl.DataFrame:
    name = pl.col("name")
    domain = (
        pl.when(name.str.contains(r"^(__)?hip"))
        .then(pl.lit("hip"))
        .when(name.str.starts_with("hsaKmt"))
        .then(pl.lit("kfd"))
        .when(name.str.starts_with("hsa_"))
        .then(pl.lit("hsa"))
        .otherwise(pl.lit("unknown"))
    )
    return calls.select(domain.alias("domain"), "name", "start_ns", "end_ns", "pid", "tid", "correlation_id")


def _gpu_tables(operations: pl.DataFrame, calls: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """What ran on the GPU; names of kernels and sizes of copies are in the calls that caused them."""
    caused = calls.drop_nulls("correlation_id").select(
        "pid", "correlation_id", "size_bytes", domains.kernel_name(pl.col("kernel")).alias("kernel")
    )
    work = operations.filter(~pl.col("name").str.contains(_NO_WORK)).join(
        caused, on=["pid", "correlation_id"], how="left"
    )
    is_copy = pl.col("name").str.contains(_COPY)
    where = ["start_ns", "end_ns", "agent_id", "queue_id", "pid", "correlation_id"]
    copies = work.filter(is_copy).select(
        domains.copy_kind(pl.col("name")).alias("kind"), "size_bytes", *where
    )
    kernels = work.filter(~is_copy).select(
        pl.coalesce("kernel", domains.kernel_name(pl.col("name"))).alias("kernel"), *where
    )
    return {"copies": copies, "dispatches": kernels}


def _range_events(events: pl.DataFrame) -> Iterable[RangeEvent]:
    typed = events.with_columns(numbers(events, "time_ns", "pid", "tid", "what", "range")).drop_nulls(
        "time_ns"
    )
    return typed.select("time_ns", "pid", "tid", "what", "range", "name").iter_rows()


def _notices(tables: dict[str, pl.DataFrame]) -> tuple[str, ...]:
    if tables["copies"].height and tables["copies"]["size_bytes"].null_count():
        return (
            "Some calls were recorded without a correlation id, so the sizes of their copies are unknown.",
        )
    return ()


def _pid(lines: pl.Series) -> int | None:
    pids = lines.head(100).str.extract(r"^ROCTracer \(pid=(\d{1,10})\)").drop_nulls()
    return int(pids[0]) if len(pids) else None


def _claims(peek: Peek) -> bool:
    return not peek.is_binary and peek.json_kind is None and _CLAIM.search(peek.text) is not None


ADAPTERS = (
    Adapter(
        name="roctracer-text",
        title="roctracer text trace (hip_api_trace.txt, hcc_ops_trace.txt, roctx_trace.txt, ...)",
        recognised_by="lines like `begin:end pid:tid function(...)`",
        claims=_claims,
        read=read_trace,
        fills=("api_calls", "dispatches", "copies", "ranges"),
    ),
)
