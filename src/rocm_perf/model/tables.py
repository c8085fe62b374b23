"""The tables of a Trace: what one row of each is, and the meaning, type and unit of every column. Null always means
"not recorded", never zero."""

from __future__ import annotations

import polars as pl

from rocm_perf.model.columns import Column, TableSchema

# Far beyond what is recorded, and small enough to be subtracted and added up in 64 bits.
MOST_NS = 4_600_000_000_000_000_000  # since 1970: the year 2115
MOST_COUNT = 1 << 50  # 1 PiB, or a million million dispatches
MOST_REAL = 1e30


def _id(name: str, doc: str) -> Column:
    return Column(name, pl.Int64, doc)


def _text(name: str, doc: str, *, required: bool = False) -> Column:
    return Column(name, pl.String, doc, required=required)


def _count(name: str, doc: str, unit: str = "") -> Column:
    return Column(name, pl.Int64, doc, unit, limit=MOST_COUNT)


def _time(name: str, doc: str, unit: str = "ns") -> Column:
    return Column(name, pl.Int64, doc, unit, limit=MOST_NS)


def _real(name: str, doc: str, unit: str = "", *, required: bool = False) -> Column:
    return Column(name, pl.Float64, doc, unit, required, limit=MOST_NS if unit == "ns" else MOST_REAL)


NODE = Column(
    "node", pl.Int32, "clock domain: row of `nodes`; times compare only within one", default=0, required=True
)
RANK = Column("rank", pl.Int32, "rank of the process in a distributed run")
PASS = Column(
    "pass_id", pl.Int32, "which run of the application (counters need several)", default=0, required=True
)
PID = _id("pid", "operating-system process id")
TID = _id("tid", "operating-system thread id")
START = _time("start_ns", "start")
END = _time("end_ns", "end")
AGENT = _id("agent_id", "GPU: row of `agents` (on AMD the HSA node index, so the first GPU is rarely 0)")
QUEUE = _id("queue_id", "hardware or HSA queue")
STREAM = _id("stream_id", "HIP or CUDA stream")
OP = _id("op_id", "framework operator that caused it: op_id of `ops`")
CORRELATION = _id("correlation_id", "joins what the host called with what the GPU did, within one process")

_WHERE = (NODE, RANK, PASS, PID)
_HOST_SPAN = (START, END, *_WHERE, TID, CORRELATION)
_GPU_SPAN = (START, END, AGENT, QUEUE, STREAM, *_WHERE, TID, CORRELATION)

_SCHEMAS = (
    TableSchema(
        "dispatches",
        "one kernel execution",
        (
            _id("dispatch_id", "number of the dispatch within its process and pass"),
            _text("kernel", "kernel name as recorded", required=True),
            *_GPU_SPAN,
            OP,
            _id("graph_id", "graph launch that the dispatch belongs to"),
            *(_count(f"grid_{axis}", f"work-items along {axis}") for axis in "xyz"),
            *(_count(f"workgroup_{axis}", f"work-items of a workgroup along {axis}") for axis in "xyz"),
            _count(
                "lds_bytes",
                "LDS (shared memory) of a workgroup, static and dynamic where both are known",
                "B",
            ),
            _count("scratch_bytes", "scratch (spill) memory of a work-item", "B"),
            _count("vgprs", "architected vector registers of a lane (registers per thread on NVIDIA)"),
            _count("agprs", "accumulation vector registers of a lane"),
            _count("sgprs", "scalar registers of a wave"),
        ),
    ),
    TableSchema(
        "api_calls",
        "one call of a runtime or driver API on the host",
        (
            _text("domain", "hip, hip_compiler, hsa, cuda, rccl, kfd, ...", required=True),
            _text("name", "function", required=True),
            *_HOST_SPAN,
            OP,
        ),
    ),
    TableSchema(
        "ops",
        "one framework operator or Python function",
        (
            _text("name", "operator or function", required=True),
            _text("category", "operator or python", required=True),
            *_HOST_SPAN,
            _id(
                "op_id",
                "the recorder's id within its category; API calls, kernels and copies carry an operator's",
            ),
            _id("parent_id", "op_id of the caller, where recorded"),
            _id("sequence", "links a forward operator with its backward"),
            _text("shapes", "JSON list of argument shapes"),
            _text("dtypes", "JSON list of argument types"),
            _text("strides", "JSON list of argument strides"),
            _text(
                "inputs",
                "JSON list of scalar arguments; of kernels that torch.compile generated also the names of tensor "
                "parameters, and behind the arguments what inductor says of the work",
            ),
        ),
    ),
    TableSchema(
        "copies",
        "one memory copy or fill on the GPU",
        (
            _text("kind", "H2D, D2H, D2D, P2P, H2H, MEMSET or UNKNOWN", required=True),
            _count("size_bytes", "bytes moved", "B"),
            _id("src_agent", "agent copied from"),
            _id("dst_agent", "agent copied to"),
            _text("host_memory", "pageable or pinned: the host's side of the copy, where the recorder says"),
            *_GPU_SPAN,
            OP,
        ),
    ),
    TableSchema(
        "allocations",
        "one allocation or release of memory",
        (
            _text("operation", "ALLOC, FREE, REALLOC or RECLAIM", required=True),
            _text("level", "what was allocated: REAL, VIRTUAL, SCRATCH, CACHED (framework allocator), ..."),
            Column("address", pl.UInt64, "device address"),
            _count("size_bytes", "size", "B"),
            *_GPU_SPAN,
        ),
    ),
    TableSchema(
        "scratch",
        "one scratch-memory event of the runtime",
        (
            _text("operation", "operation", required=True),
            _count("size_bytes", "size", "B"),
            _text("flags", "flags as recorded"),
            *_GPU_SPAN,
        ),
    ),
    TableSchema(
        "ranges",
        "one named range or mark that the program set",
        (
            _text("name", "name that the program gave it", required=True),
            _text("source", "roctx, nvtx, record_function or chrome", required=True),
            _count("depth", "nesting depth on its thread, 0 outermost"),
            Column("on_gpu", pl.Boolean, "the range's shadow on a GPU stream", default=False, required=True),
            *_GPU_SPAN,
        ),
    ),
    TableSchema(
        "collectives",
        "one collective or point-to-point communication",
        (
            _text("name", "all_reduce, broadcast, ...", required=True),
            _count("size_bytes", "bytes of this rank's input", "B"),
            _text("dtype", "element type"),
            _text("group", "process group"),
            _count("group_size", "ranks in the group"),
            *_GPU_SPAN,
        ),
    ),
    TableSchema(
        "library_calls",
        "all equal calls of a math or communication library by one process, from the library's own log",
        (
            _text("library", "rocblas, hipblaslt, miopen, tensile or rccl", required=True),
            _text("call", "function", required=True),
            Column("calls", pl.Int64, "how many there were", required=True, limit=MOST_COUNT),
            *(_count(name, f"{name} of a matrix product") for name in ("m", "n", "k")),
            _count("batch_count", "matrix products of one call"),
            _text("transposes", "N, T or C of the first and of the second matrix: NT"),
            _text("dtypes", "element types of the operands, as the library names them"),
            _text("compute_type", "type that it computes in"),
            _text("solution", "algorithm, solution index or kernel that it chose"),
            _count("size_bytes", "bytes of this rank's input to a collective", "B"),
            _text("group", "communicator"),
            _count("group_size", "ranks of the communicator"),
            _text("parameters", "all parameters as logged, without addresses"),
            *_WHERE,
        ),
    ),
    TableSchema(
        "counters",
        "one counter of one dispatch, summed over instances",
        (
            *_WHERE,
            _id("dispatch_id", "dispatch within its process and pass"),
            AGENT,
            _text("counter", "name as recorded", required=True),
            _real("value", "value", required=True),
        ),
    ),
    TableSchema(
        "samples",
        "one reading of a sensor, or several that were thinned to one row",
        (
            _time("time_ns", "when; of a thinned row the middle"),
            NODE,
            AGENT,
            _text("metric", "power_w, clock_mhz, vram_bytes, ...", required=True),
            _real("value", "reading; of a thinned row the mean over its time"),
            _text("unit", "unit of value"),
            _time("start_ns", "start of a thinned row; null: a single reading"),
            _time("end_ns", "end of a thinned row; null: a single reading"),
            _real("lowest", "lowest reading of a thinned row"),
            _real("highest", "highest reading of a thinned row"),
            _count("readings", "readings of a thinned row"),
        ),
    ),
    TableSchema(
        "pc_samples",
        "one sample of a wave's program counter",
        (
            _time("time_ns", "when"),
            *_WHERE,
            AGENT,
            _id("dispatch_id", "dispatch that was running"),
            CORRELATION,
            Column("exec_mask", pl.UInt64, "active lanes"),
            _text("instruction", "disassembled instruction"),
            _text("source", "file:line, where the code object has it"),
            _text("method", "host_trap or stochastic"),
            Column("issued", pl.Boolean, "the wave issued an instruction in that cycle"),
            _text("instruction_type", "class as recorded"),
            _text("stall_reason", "why no instruction was issued"),
            _count("wave_count", "waves on the SIMD"),
        ),
    ),
    TableSchema(
        "instructions",
        "one instruction of a kernel, with what thread trace or PC sampling saw of it",
        (
            _text("kernel", "kernel it belongs to"),
            _id("dispatch_id", "traced dispatch"),
            AGENT,
            _id("code_object", "code object id"),
            Column("pc", pl.UInt64, "address within the code object"),
            _text("text", "disassembly", required=True),
            _text("source", "file:line"),
            _count("hits", "times executed by the traced waves"),
            _count("latency_cycles", "cycles, stall included", "cycles"),
            _count("stall_cycles", "cycles stalled", "cycles"),
            _count("idle_cycles", "cycles between the previous instruction and this one", "cycles"),
            _count("samples", "PC samples"),
            _count("samples_issued", "PC samples that issued"),
            _count("samples_stalled", "PC samples that stalled"),
        ),
    ),
    TableSchema(
        "waves",
        "one wave of a thread trace",
        (
            _text("kernel", "kernel, where named"),
            _id("dispatch_id", "traced dispatch"),
            _count("shader_engine", "shader engine"),
            _count("cu", "compute unit"),
            _count("simd", "SIMD"),
            _count("slot", "wave slot"),
            _count("wave", "wave number on that slot"),
            _time("start_cycle", "first cycle", "cycles"),
            _time("end_cycle", "last cycle", "cycles"),
            _count("instructions", "instructions executed"),
            _count("stall_cycles", "cycles stalled", "cycles"),
        ),
    ),
    TableSchema(
        "agents",
        "one CPU or GPU of a node",
        (
            NODE,
            Column("agent_id", pl.Int64, "id used by the other tables", required=True),
            _text("kind", "GPU, CPU or NIC"),
            _text("gfx", "architecture: gfx942, sm_90, ..."),
            _text("name", "marketing name"),
            _text("vendor", "vendor"),
            _id("logical_index", "index among the agents of its kind"),
            _text("uuid", "unique id"),
            _count("cu_count", "compute units (SMs)"),
            _count("simd_count", "SIMDs"),
            _count("xcc_count", "accelerator dies (XCDs)"),
            _count("wave_size", "lanes of a wave"),
            _count("max_waves_per_simd", "hardware limit"),
            _count("lds_bytes", "LDS of a compute unit", "B"),
            _count("memory_bytes", "device memory", "B"),
            _real("clock_mhz", "highest engine clock", "MHz"),
        ),
    ),
    TableSchema(
        "kernels",
        "one kernel symbol of a code object",
        (
            NODE,
            PID,
            _id("kernel_id", "the recorder's id"),
            _text("kernel", "name that `dispatches` uses", required=True),
            _text("symbol", "mangled name"),
            _id("code_object", "code object id"),
            _text("code_object_uri", "where it was loaded from"),
            _count("kernarg_bytes", "argument segment", "B"),
            _count("lds_bytes", "static LDS", "B"),
            _count("scratch_bytes", "static scratch of a work-item", "B"),
            _count("vgprs", "vector registers"),
            _count("agprs", "accumulation registers"),
            _count("sgprs", "scalar registers"),
        ),
    ),
    TableSchema(
        "links",
        "one recorded cause and its effect, beyond what correlation ids say",
        (
            _text("kind", "forward_backward, signal, event, flow", required=True),
            *_WHERE,
            _time("cause_ns", "time on the causing side"),
            _id("cause_track", "thread or stream of the cause"),
            _time("effect_ns", "time on the affected side"),
            _id("effect_track", "thread or stream of the effect"),
            _text("known", "recorded or inferred", required=True),
        ),
    ),
    TableSchema(
        "summaries",
        "one row of a profiler's own statistics, where the events themselves were not kept",
        (
            _text("domain", "kernel, hip, hsa, copy, marker, ...", required=True),
            _text("name", "kernel or function", required=True),
            *_WHERE,
            _count("calls", "calls"),
            _real("total_ns", "sum of durations", "ns"),
            _real("mean_ns", "mean duration", "ns"),
            _real("min_ns", "shortest", "ns"),
            _real("max_ns", "longest", "ns"),
            _real("stddev_ns", "standard deviation", "ns"),
            _real("percent", "share of the domain, as the profiler printed it", "%"),
        ),
    ),
    TableSchema(
        "metrics",
        "one derived value that another tool computed",
        (
            _text("metric", "name", required=True),
            _text("group", "panel or table it was in"),
            _text("kernel", "kernel, or null for the whole workload"),
            _id("dispatch_id", "dispatch, or null"),
            _text("statistic", "avg, min, max, value, ..."),
            _real("value", "value"),
            _text("unit", "unit"),
        ),
    ),
    TableSchema(
        "ceilings",
        "one measured peak of a GPU",
        (
            NODE,
            AGENT,
            _text("ceiling", "hbm, l2, l1, lds, fp32, mfma_f16, ...", required=True),
            _real("value", "mean of the measurements"),
            _real("low", "lowest"),
            _real("high", "highest"),
            _text("unit", "GB/s, GFLOP/s or GOP/s"),
        ),
    ),
    TableSchema(
        "counter_info",
        "one counter that a GPU or a run knows",
        (
            _text("gfx", "architecture"),
            AGENT,
            _text("counter", "name", required=True),
            _text("block", "hardware block"),
            _text("expression", "formula of a derived counter"),
            _text("description", "what it counts"),
            _text("unit", "unit of its values"),
            Column("derived", pl.Boolean, "computed from other counters"),
        ),
    ),
    TableSchema(
        "nodes",
        "one machine, and the clock its times are on",
        (
            Column("node", pl.Int32, "id used by the other tables", required=True),
            _text("host", "host name"),
            _text("os", "operating system"),
            _text("clock", "boot, epoch, relative or unknown", required=True),
        ),
    ),
    TableSchema(
        "processes",
        "one process that was recorded",
        (
            *_WHERE,
            _id("ppid", "parent process"),
            _text("command", "command line"),
            START,
            END,
        ),
    ),
)

SCHEMAS: dict[str, TableSchema] = {schema.name: schema for schema in _SCHEMAS}
