"""What rocprofv3's results.json holds besides its records: the numbers of kinds and operations in the order of
ROCm 7.0, agents, kernel symbols and code objects."""

from __future__ import annotations

from typing import Any

import polars as pl

from rocm_perf.model.trace import Trace
from rocm_perf.render.formats.rocprofv3 import Part, agent_info

FIRST_HANDLE = 1000  # handles are opaque numbers; 0 means none
REGISTERS = ("vgprs", "agprs", "sgprs")

_BUFFERED = (
    "NONE HSA_CORE_API HSA_AMD_EXT_API HSA_IMAGE_EXT_API HSA_FINALIZE_EXT_API HIP_RUNTIME_API HIP_COMPILER_API "
    "MARKER_CORE_API MARKER_CONTROL_API MARKER_NAME_API MEMORY_COPY KERNEL_DISPATCH SCRATCH_MEMORY "
    "CORRELATION_ID_RETIREMENT RCCL_API OMPT MEMORY_ALLOCATION RUNTIME_INITIALIZATION ROCDECODE_API ROCJPEG_API "
    "HIP_STREAM HIP_RUNTIME_API_EXT HIP_COMPILER_API_EXT ROCDECODE_API_EXT KFD_EVENT_PAGE_MIGRATE "
    "KFD_EVENT_PAGE_FAULT KFD_EVENT_QUEUE KFD_EVENT_UNMAP_FROM_GPU KFD_EVENT_DROPPED_EVENTS KFD_PAGE_MIGRATE "
    "KFD_PAGE_FAULT KFD_QUEUE MARKER_CORE_RANGE_API"
)
_CALLED_BACK = (
    "NONE HSA_CORE_API HSA_AMD_EXT_API HSA_IMAGE_EXT_API HSA_FINALIZE_EXT_API HIP_RUNTIME_API HIP_COMPILER_API "
    "MARKER_CORE_API MARKER_CONTROL_API MARKER_NAME_API CODE_OBJECT SCRATCH_MEMORY KERNEL_DISPATCH MEMORY_COPY "
    "RCCL_API OMPT MEMORY_ALLOCATION RUNTIME_INITIALIZATION ROCDECODE_API ROCJPEG_API HIP_STREAM "
    "MARKER_CORE_RANGE_API"
)
BUFFER_KINDS, CALLBACK_KINDS = _BUFFERED.split(), _CALLED_BACK.split()

# Kinds whose operations are few are listed as they are; of the APIs, those that were called.
OPERATIONS = {
    kind: [f"{kind}_{operation}" for operation in operations.split()]
    for kind, operations in {
        "MEMORY_COPY": "NONE HOST_TO_HOST HOST_TO_DEVICE DEVICE_TO_HOST DEVICE_TO_DEVICE",
        "KERNEL_DISPATCH": "NONE ENQUEUE COMPLETE",
        "SCRATCH_MEMORY": "NONE ALLOC FREE ASYNC_RECLAIM",
        "MEMORY_ALLOCATION": "NONE ALLOCATE VMEM_ALLOCATE FREE VMEM_FREE",
    }.items()
}
OPERATIONS["MARKER_CORE_RANGE_API"] = [
    "roctxMarkA",
    "roctxThreadRangeA",
    "roctxProcessRangeA",
    "roctxGetThreadId",
]

API_KINDS = {
    "hip_api": ("HIP_RUNTIME_API_EXT", "HIP_COMPILER_API_EXT"),
    "hsa_api": ("HSA_CORE_API", "HSA_AMD_EXT_API", "HSA_IMAGE_EXT_API", "HSA_FINALIZE_EXT_API"),
    "rccl_api": ("RCCL_API",),
    "rocdecode_api": ("ROCDECODE_API",),
    "rocjpeg_api": ("ROCJPEG_API",),
}

_CAPABILITIES = (
    "HotPluggable HSAMMUPresent SharedWithGraphics QueueSizePowerOfTwo QueueSize32bit QueueIdleEvent VALimit "
    "WatchPointsSupported WatchPointsTotalBits DoorbellType AQLQueueDoubleMap DebugTrapSupported "
    "WaveLaunchTrapOverrideSupported WaveLaunchModeSupported PreciseMemoryOperationsSupported "
    "DEPRECATED_SRAM_EDCSupport Mem_EDCSupport RASEventNotify ASICRevision SRAM_EDCSupport SVMAPISupported "
    "CoherentHostAccess DebugSupportedFirmware"
)
_NO_SIZE = {"x": 0, "y": 0, "z": 0}
_AGENT_PARTS: dict[str, Any] = {
    "mem_banks_count": 0,
    "caches_count": 0,
    "io_links_count": 0,
    "sdma_fw_version": {"uCodeSDMA": 0, "uCodeRes": 0},
    "fw_version": {"uCode": 0, "Major": 0, "Minor": 0, "Stepping": 0},
    "capability": dict.fromkeys(_CAPABILITIES.split(), 0),
    "workgroup_max_dim": _NO_SIZE,
    "grid_max_dim": _NO_SIZE,
    "uuid": {"bytes": {f"value{number}": 0 for number in range(16)}},
    "mem_banks": [],
    "caches": [],
    "io_links": [],
}


def symbols_of(trace: Trace, part: Part) -> pl.DataFrame:
    """The process's kernels: those that the trace lists, and one for each other kernel that was dispatched."""
    here = pl.col("pid").is_null() | pl.col("pid").eq_missing(pl.lit(part.pid, pl.Int64))
    listed = trace.table("kernels").filter(pl.col("node") == part.node, here)
    listed = listed.with_columns(pl.col(REGISTERS).fill_null(0))
    key = ["kernel", *REGISTERS]
    used = part.of(trace, "dispatches").with_columns(pl.col(REGISTERS).fill_null(0))
    used = used.select(*key, "lds_bytes", "scratch_bytes").unique(key, keep="first", maintain_order=True)
    others = used.join(listed.select(key), on=key, how="anti", maintain_order="left")
    symbols = pl.concat([listed, others], how="diagonal_relaxed")
    needs_id = (
        pl.col("kernel_id").is_null() | ~pl.col("kernel_id").is_first_distinct() | (pl.col("kernel_id") == 0)
    )
    free = needs_id.cast(pl.Int64).cum_sum() + pl.col("kernel_id").max().fill_null(0)
    return symbols.with_columns(pl.when(needs_id).then(free).otherwise("kernel_id").alias("kernel_id"))


def kernel_symbols(symbols: pl.DataFrame) -> list[dict[str, Any]]:
    """The entries of the kernel symbol table; entry 0 means "none"."""
    rows = symbols.with_columns(pl.col(pl.Int64).fill_null(0)).rows(named=True)
    none = dict.fromkeys(symbols.columns, 0) | {"kernel": "0", "symbol": ""}
    return [
        {
            "size": 88 if position else 0,
            "kernel_id": row["kernel_id"],
            "code_object_id": row["code_object"],
            "kernel_name": (row["symbol"] or row["kernel"]).removesuffix(".kd") + ".kd" if position else "",
            "kernel_object": 0,
            "kernarg_segment_size": row["kernarg_bytes"],
            "kernarg_segment_alignment": 0,
            "group_segment_size": row["lds_bytes"],
            "private_segment_size": row["scratch_bytes"],
            "sgpr_count": row["sgprs"],
            "arch_vgpr_count": row["vgprs"],
            "accum_vgpr_count": row["agprs"],
            "kernel_code_entry_byte_offset": 0,
            "kernel_address": {"handle": 0},
            **dict.fromkeys(
                ("formatted_kernel_name", "demangled_kernel_name", "truncated_kernel_name"), row["kernel"]
            ),
        }
        for position, row in enumerate([none, *rows])
    ]


def code_objects(symbols: pl.DataFrame) -> list[dict[str, Any]]:
    objects = symbols.drop_nulls("code_object").unique("code_object", keep="first", maintain_order=True)
    rows = [(0, ""), *objects.select("code_object", "code_object_uri").rows()]
    sizes = dict.fromkeys(
        ("load_base", "load_size", "load_delta", "storage_type", "memory_base", "memory_size"), 0
    )
    return [
        {
            "size": 88 if number else 0,
            "code_object_id": number,
            "agent_id": {"handle": 0},
            "uri": uri or "",
            **sizes,
        }
        for number, uri in rows
    ]


def agents_of(trace: Trace, part: Part) -> list[dict[str, Any]]:
    """The node's agents, and every other that a record names."""
    described = agent_info(trace, part.node).rows(named=True)
    columns = {"dispatches": ["agent_id"], "copies": ["src_agent", "dst_agent"], "counters": ["agent_id"]}
    columns |= {"allocations": ["agent_id"], "scratch": ["agent_id"]}
    named: set[int] = set()
    for table, names in columns.items():
        named.update(*(part.of(trace, table)[name].drop_nulls().unique() for name in names))
    empty = {
        name: "" if isinstance(value, str) else 0
        for name, value in (described[0] if described else {}).items()
    }
    missing = sorted(named - {row["Node_Id"] for row in described})
    others = [{**empty, "Node_Id": number, "Agent_Type": "GPU"} for number in missing]
    counts = {"CPU": 0, "GPU": 0}
    agents = []
    for position, row in enumerate([*described, *others]):
        agents.append(_agent_record(row, position, counts[row["Agent_Type"]]))
        counts[row["Agent_Type"]] += 1
    return agents


def _agent_record(row: dict[str, Any], position: int, of_its_kind: int) -> dict[str, Any]:
    compound = ("Workgroup_Max_Dim_", "Grid_Max_Dim_")
    plain = {name.lower(): value for name, value in row.items() if not name.startswith(compound)}
    gpu = row["Agent_Type"] == "GPU"
    record = {
        "size": 312,
        "id": {"handle": handle(row["Node_Id"])},
        "type": 2 if gpu else 1,
        **plain,
        **_AGENT_PARTS,
    }
    del record["agent_type"]
    return record | {
        "logical_node_id": position,
        "logical_node_type_id": of_its_kind,
        "gpu_index": of_its_kind if gpu else -1,
    }


def handle(agent: int | None) -> int:
    return 0 if agent is None else agent + FIRST_HANDLE
