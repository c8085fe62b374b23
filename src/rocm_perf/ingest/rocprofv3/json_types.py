"""The layout of rocprofv3's results.json, as far as it is read.

Every field has a default: releases add fields, and a truncated document ends inside a record.
Field names are those of AMD's schema; `gc=False` because a run has millions of these records and no cycles.
"""

from __future__ import annotations

from typing import Any

import msgspec


class Record(msgspec.Struct, gc=False, frozen=True):
    """Base of everything in the document."""


class Handle(Record, frozen=True):
    handle: int | None = None


class Correlation(Record, frozen=True):
    internal: int | None = None


class Size(Record, frozen=True):
    x: int | None = None
    y: int | None = None
    z: int | None = None


_NO_HANDLE = Handle()
_NO_CORRELATION = Correlation()
_NO_SIZE = Size()


class DispatchInfo(Record, frozen=True):
    agent_id: Handle = _NO_HANDLE
    queue_id: Handle = _NO_HANDLE
    kernel_id: int | None = None
    dispatch_id: int | None = None
    private_segment_size: int | None = None
    group_segment_size: int | None = None
    workgroup_size: Size = _NO_SIZE
    grid_size: Size = _NO_SIZE


_NO_DISPATCH = DispatchInfo()


class Span(Record, frozen=True):
    """The fields of every record of `buffer_records` with two times."""

    kind: int | None = None
    operation: int | None = None
    thread_id: int | None = None
    correlation_id: Correlation = _NO_CORRELATION
    start_timestamp: int | None = None
    end_timestamp: int | None = None
    stream_id: Handle = _NO_HANDLE


class Dispatch(Span, frozen=True):
    dispatch_info: DispatchInfo = _NO_DISPATCH


class Copy(Span, frozen=True):
    src_agent_id: Handle = _NO_HANDLE
    dst_agent_id: Handle = _NO_HANDLE
    bytes: int | None = None


class Allocation(Span, frozen=True):
    agent_id: Handle = _NO_HANDLE
    address: Any = None  # "0x..." ; a number in early releases
    allocation_size: int | None = None


class Scratch(Span, frozen=True):
    agent_id: Handle = _NO_HANDLE
    queue_id: Handle = _NO_HANDLE
    flags: Any = None
    allocation_size: int | None = None


class Snapshot(Record, frozen=True):
    stall_reason: str | None = None


class PcRecord(Record, frozen=True):
    exec_mask: int | None = None
    timestamp: int | None = None
    dispatch_id: int | None = None
    corr_id: Correlation = _NO_CORRELATION
    wave_issued: int | None = None
    inst_type: str | None = None
    wave_cnt: int | None = None
    snapshot: Snapshot = Snapshot()


class PcSample(Record, frozen=True):
    record: PcRecord = PcRecord()
    inst_index: int | None = None


class BufferRecords(Record, frozen=True):
    kernel_dispatch: list[Dispatch] = []
    hip_api: list[Span] = []
    hsa_api: list[Span] = []
    marker_api: list[Span] = []
    rccl_api: list[Span] = []
    rocdecode_api: list[Span] = []
    rocjpeg_api: list[Span] = []
    hipfile_api: list[Span] = []
    memory_copy: list[Copy] = []
    memory_allocation: list[Allocation] = []
    scratch_memory: list[Scratch] = []
    pc_sample_host_trap: list[PcSample] = []
    pc_sample_stochastic: list[PcSample] = []


class DispatchData(Record, frozen=True):
    correlation_id: Correlation = _NO_CORRELATION
    start_timestamp: int | None = None
    end_timestamp: int | None = None
    dispatch_info: DispatchInfo = _NO_DISPATCH


class CounterValue(Record, frozen=True):
    counter_id: Handle = _NO_HANDLE
    value: float | None = None


class CounterRecord(Record, frozen=True):
    thread_id: int | None = None
    dispatch_data: DispatchData = DispatchData()
    records: list[CounterValue] = []


class CallbackRecords(Record, frozen=True):
    counter_collection: list[CounterRecord] = []


class Kind(Record, frozen=True):
    kind: str = ""
    operations: list[str] = []


class Message(Record, frozen=True):
    key: int | None = None
    value: str | None = None


class Strings(Record, frozen=True):
    buffer_records: list[Kind] = []
    marker_api: list[Message] = []
    pc_sample_instructions: list[str] = []
    pc_sample_comments: list[str] = []


class MemoryBank(Record, frozen=True):
    heap_type: int | None = None
    size_in_bytes: int | None = None


class Agent(Record, frozen=True):
    id: Handle = _NO_HANDLE
    type: int | None = None
    node_id: int | None = None
    logical_node_type_id: int | None = None
    name: str = ""
    vendor_name: str = ""
    product_name: str = ""
    model_name: str = ""
    gfx_target_version: int | None = None
    cu_count: int | None = None
    simd_count: int | None = None
    num_xcc: int | None = None
    wave_front_size: int | None = None
    max_waves_per_simd: int | None = None
    lds_size_in_kb: int | None = None
    local_mem_size: int | None = None
    max_engine_clk_fcompute: int | None = None
    mem_banks: list[MemoryBank] = []


class CounterInfo(Record, frozen=True):
    agent_id: Handle = _NO_HANDLE
    id: Handle = _NO_HANDLE
    name: str = ""
    description: str = ""
    block: str = ""
    expression: str = ""
    is_derived: int | None = None


class CodeObject(Record, frozen=True):
    code_object_id: int | None = None
    uri: str = ""


class KernelSymbol(Record, frozen=True):
    kernel_id: int | None = None
    code_object_id: int | None = None
    kernel_name: str = ""
    formatted_kernel_name: str = ""
    kernarg_segment_size: int | None = None
    group_segment_size: int | None = None
    private_segment_size: int | None = None
    sgpr_count: int | None = None
    arch_vgpr_count: int | None = None
    accum_vgpr_count: int | None = None


class Node(Record, frozen=True):
    hostname: str | None = None
    system_name: str | None = None
    release: str | None = None


class Metadata(Record, frozen=True):
    node: Node = Node()
    pid: int | None = None
    init_time: int | None = None
    fini_time: int | None = None
    command: list[str] | str = ""


class Process(Record, frozen=True):
    metadata: Metadata = Metadata()
    agents: list[Agent] = []
    counters: list[CounterInfo] = []
    strings: Strings = Strings()
    code_objects: list[CodeObject] = []
    kernel_symbols: list[KernelSymbol] = []
    callback_records: CallbackRecords = CallbackRecords()
    buffer_records: BufferRecords = BufferRecords()


class Document(Record, frozen=True):
    tool: list[Process] | Process = msgspec.field(name="rocprofiler-sdk-tool", default_factory=list)

    @property
    def processes(self) -> list[Process]:
        return self.tool if isinstance(self.tool, list) else [self.tool]
