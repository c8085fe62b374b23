"""The records of one process in rocprofv3's results.json, turned into tables: one pass over each list.

Records name kinds, kernels, counters and agents by number; `Names` holds what the numbers mean in that
process.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
import polars as pl

from rocm_perf.ingest import domains
from rocm_perf.ingest.io.csv import hexadecimal
from rocm_perf.ingest.rocprofv3.json_types import (
    Allocation,
    Copy,
    CounterRecord,
    Dispatch,
    DispatchInfo,
    Handle,
    KernelSymbol,
    PcSample,
    Process,
    Scratch,
    Span,
)
from rocm_perf.ingest.rocprofv3.pc_sampling import instruction_type, stall_reason

_NO_SYMBOL = KernelSymbol()


class Names(msgspec.Struct, frozen=True):
    """What the numbers in the records of one process mean."""

    kinds: dict[int, str]
    operations: dict[tuple[int, int], str]
    kernels: dict[int, KernelSymbol]
    agents: dict[int, int]  # handle, which changes with every run -> HSA node
    counters: dict[int, str]
    marks: dict[int, str]  # by correlation id

    def agent(self, handle: Handle) -> int | None:
        return None if handle.handle is None else self.agents.get(handle.handle)

    def operation(self, record: Span) -> str | None:
        if record.kind is None or record.operation is None:
            return None
        return (
            self.operations.get((record.kind, record.operation))
            or f"operation {record.operation} of kind {record.kind}"
        )

    def kernel(self, number: int | None) -> str | None:
        if number is None:
            return None
        symbol = self.kernels.get(number)
        return (symbol and kernel_name(symbol)) or f"kernel {number} (name not recorded)"


def names_of(process: Process) -> Names:
    kinds = process.strings.buffer_records
    return Names(
        kinds={number: kind.kind for number, kind in enumerate(kinds)},
        operations={
            (number, index): name
            for number, kind in enumerate(kinds)
            for index, name in enumerate(kind.operations)
        },
        kernels={
            symbol.kernel_id: symbol for symbol in process.kernel_symbols if symbol.kernel_id is not None
        },
        agents={
            agent.id.handle: position if agent.node_id is None else agent.node_id
            for position, agent in enumerate(process.agents)
            if agent.id.handle is not None
        },
        counters={
            counter.id.handle: counter.name
            for counter in process.counters
            if counter.id.handle is not None and counter.name
        },
        marks={
            mark.key: mark.value
            for mark in process.strings.marker_api
            if mark.key is not None and mark.value is not None
        },
    )


def kernel_name(symbol: KernelSymbol) -> str:
    return (
        (symbol.formatted_kernel_name or symbol.kernel_name).removesuffix(" [clone .kd]").removesuffix(".kd")
    )


def integers(values: Iterable[int | None], dtype: type[pl.DataType] = pl.Int64) -> pl.Series:
    """A column of whole numbers; one that the type cannot hold is null."""
    numbers = list(values)
    try:
        return pl.Series(numbers, dtype=dtype)
    except (TypeError, OverflowError):
        return pl.Series(numbers, dtype=dtype, strict=False)


def texts(values: Iterable[str | None]) -> pl.Series:
    return pl.Series(list(values), dtype=pl.String)


def dispatches(records: Sequence[Dispatch], names: Names) -> pl.DataFrame:
    return pl.DataFrame(_span(records) | _launch([record.dispatch_info for record in records], names))


def dispatches_of_counters(records: Sequence[CounterRecord], names: Names) -> pl.DataFrame:
    """The dispatches of a run that recorded counters but no kernel trace."""
    data = [record.dispatch_data for record in records]
    frame = pl.DataFrame(
        {
            "start_ns": integers(item.start_timestamp or None for item in data),
            "end_ns": integers(item.end_timestamp or None for item in data),
            "tid": integers(record.thread_id for record in records),
            "correlation_id": integers(item.correlation_id.internal for item in data),
        }
        | _launch([item.dispatch_info for item in data], names)
    )
    return frame.unique("dispatch_id", keep="first", maintain_order=True)


def counters(records: Sequence[CounterRecord], names: Names) -> pl.DataFrame:
    """One row for each counter of each dispatch; the values of its instances are summed."""
    rows = [(record.dispatch_data.dispatch_info, value) for record in records for value in record.records]
    frame = pl.DataFrame(
        {
            "dispatch_id": integers(info.dispatch_id for info, _ in rows),
            "agent_id": integers(names.agent(info.agent_id) for info, _ in rows),
            "counter": texts(names.counters.get(value.counter_id.handle or 0) for _, value in rows),
            "value": pl.Series([value.value for _, value in rows], dtype=pl.Float64),
        }
    )
    return frame.group_by("dispatch_id", "agent_id", "counter", maintain_order=True).agg(
        pl.when(pl.col("value").null_count() == 0).then(pl.col("value").sum())
    )


def api_calls(records: Sequence[Span], names: Names) -> pl.DataFrame:
    frame = pl.DataFrame(
        {
            "domain": texts(
                names.kinds.get(-1 if record.kind is None else record.kind) for record in records
            ),
            "name": texts(names.operation(record) for record in records),
        }
        | _span(records)
    )
    return frame.drop("stream_id").with_columns(domain=domains.normalised(pl.col("domain")))


def ranges(records: Sequence[Span], names: Names) -> pl.DataFrame:
    """Markers, named by the program's message if there is one."""
    messages = (names.marks.get(record.correlation_id.internal or 0) for record in records)
    named = [
        message if message is not None else names.operation(record)
        for message, record in zip(messages, records, strict=True)
    ]
    return pl.DataFrame({"name": texts(named)} | _span(records)).with_columns(source=pl.lit("roctx"))


def copies(records: Sequence[Copy], names: Names) -> pl.DataFrame:
    frame = pl.DataFrame(
        {
            "kind": texts(names.operation(record) for record in records),
            "size_bytes": integers(record.bytes for record in records),
            "src_agent": integers(names.agent(record.src_agent_id) for record in records),
            "dst_agent": integers(names.agent(record.dst_agent_id) for record in records),
        }
        | _span(records)
    )
    return frame.with_columns(kind=domains.copy_kind(pl.col("kind"))).with_columns(domains.copying_agent())


def allocations(records: Sequence[Allocation], names: Names) -> pl.DataFrame:
    """Allocations; a release records only the address, not the size."""
    frame = pl.DataFrame(
        {
            "operation": texts(names.operation(record) for record in records),
            "address": texts(None if record.address is None else str(record.address) for record in records),
            "size_bytes": integers(record.allocation_size or None for record in records),
            "agent_id": integers(names.agent(record.agent_id) for record in records),
        }
        | _span(records)
    )
    virtual = pl.col("operation").str.contains("VMEM", literal=True)
    return frame.with_columns(
        domains.allocation_operation(pl.col("operation")).alias("operation"),
        pl.when(virtual).then(pl.lit("VIRTUAL")).otherwise(pl.lit("REAL")).alias("level"),
        hexadecimal("address").alias("address"),
    )


def scratch(records: Sequence[Scratch], names: Names) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "operation": texts(names.operation(record) for record in records),
            "size_bytes": integers(record.allocation_size for record in records),
            "flags": texts(None if record.flags is None else str(record.flags) for record in records),
            "agent_id": integers(names.agent(record.agent_id) for record in records),
            "queue_id": integers(record.queue_id.handle for record in records),
        }
        | _span(records)
    )


def pc_samples(samples: Sequence[PcSample], process: Process, names: Names, method: str) -> pl.DataFrame:
    agents = {
        record.dispatch_info.dispatch_id: names.agent(record.dispatch_info.agent_id)
        for record in process.buffer_records.kernel_dispatch
    }
    records = [sample.record for sample in samples]
    frame = pl.DataFrame(
        {
            "time_ns": integers(record.timestamp for record in records),
            "dispatch_id": integers(record.dispatch_id for record in records),
            "agent_id": integers(agents.get(record.dispatch_id) for record in records),
            "correlation_id": integers(record.corr_id.internal for record in records),
            "exec_mask": integers((record.exec_mask for record in records), pl.UInt64),
            "instruction": texts(
                _entry(process.strings.pc_sample_instructions, sample.inst_index) for sample in samples
            ),
            "source": texts(
                _entry(process.strings.pc_sample_comments, sample.inst_index) for sample in samples
            ),
            "issued": pl.Series([_flag(record.wave_issued) for record in records], dtype=pl.Boolean),
            "instruction_type": texts(record.inst_type for record in records),
            "stall_reason": texts(record.snapshot.stall_reason for record in records),
            "wave_count": integers(record.wave_cnt for record in records),
        }
    )
    return frame.with_columns(
        instruction_type("instruction_type"), stall_reason("stall_reason"), method=pl.lit(method)
    )


def _entry(table: list[str], index: int | None) -> str | None:
    """A string by its number; -1 and an empty string mean none."""
    return (table[index] or None) if index is not None and 0 <= index < len(table) else None


def _flag(number: int | None) -> bool | None:
    return None if number is None else bool(number)


def _span(records: Sequence[Span]) -> dict[str, pl.Series]:
    return {
        "start_ns": integers(record.start_timestamp for record in records),
        "end_ns": integers(record.end_timestamp for record in records),
        "tid": integers(record.thread_id for record in records),
        "correlation_id": integers(record.correlation_id.internal for record in records),
        "stream_id": integers(record.stream_id.handle for record in records),
    }


def _launch(infos: Sequence[DispatchInfo], names: Names) -> dict[str, pl.Series]:
    symbols = [
        names.kernels.get(-1 if info.kernel_id is None else info.kernel_id, _NO_SYMBOL) for info in infos
    ]
    return {
        "dispatch_id": integers(info.dispatch_id for info in infos),
        "kernel": texts(names.kernel(info.kernel_id) for info in infos),
        "agent_id": integers(names.agent(info.agent_id) for info in infos),
        "queue_id": integers(info.queue_id.handle for info in infos),
        "grid_x": integers(info.grid_size.x for info in infos),
        "grid_y": integers(info.grid_size.y for info in infos),
        "grid_z": integers(info.grid_size.z for info in infos),
        "workgroup_x": integers(info.workgroup_size.x for info in infos),
        "workgroup_y": integers(info.workgroup_size.y for info in infos),
        "workgroup_z": integers(info.workgroup_size.z for info in infos),
        "lds_bytes": integers(info.group_segment_size for info in infos),
        "scratch_bytes": integers(info.private_segment_size for info in infos),
        "vgprs": integers(symbol.arch_vgpr_count for symbol in symbols),
        "agprs": integers(symbol.accum_vgpr_count for symbol in symbols),
        "sgprs": integers(symbol.sgpr_count for symbol in symbols),
    }
