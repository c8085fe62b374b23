"""The columns of rocprofv3's CSV files, release by release, and what each of them holds.

Sources: the recorded files of each release, and AMD's generateCSV.cpp and rocpd/csv.py.
"""

from __future__ import annotations

from typing import Literal

import polars as pl

Layout = Literal["6.1", "6.2", "6.3", "6.4", "7.0", "converted"]

_SPAN = "Start_Timestamp End_Timestamp"
_SIZES = "Workgroup_Size_X Workgroup_Size_Y Workgroup_Size_Z Grid_Size_X Grid_Size_Y Grid_Size_Z"
_SEGMENTS = f"Kernel_Id Kernel_Name Correlation_Id {_SPAN} Private_Segment_Size Group_Segment_Size {_SIZES}"
_QUEUED = "Kind Agent_Id Queue_Id"
_KERNEL_18 = f"{_QUEUED} Thread_Id Dispatch_Id {_SEGMENTS}"
_KERNEL_22 = (
    f"{_QUEUED} Stream_Id Thread_Id Dispatch_Id Kernel_Id Kernel_Name Correlation_Id {_SPAN} "
    f"LDS_Block_Size Scratch_Size VGPR_Count Accum_VGPR_Count SGPR_Count {_SIZES}"
)
_API = f"Domain Function Process_Id Thread_Id Correlation_Id {_SPAN}"
_AGENTS_COPIED = f"Source_Agent_Id Destination_Agent_Id Correlation_Id {_SPAN}"
_ALLOCATION = f"Kind Operation Agent_Id Allocation_Size Address Correlation_Id {_SPAN}"
_SCRATCH = f"Kind Operation Agent_Id Queue_Id Thread_Id Alloc_Flags {_SPAN}"
_COUNTED = "Correlation_Id Dispatch_Id Agent_Id Queue_Id Process_Id Thread_Id Grid_Size"
_COUNTED_SIZES = "Kernel_Name Workgroup_Size LDS_Block_Size Scratch_Size VGPR_Count"
_VALUE = "SGPR_Count Counter_Name Counter_Value"
_COUNTERS_16 = f"{_COUNTED} Kernel_Id {_COUNTED_SIZES} {_VALUE}"
_COUNTERS_19 = f"{_COUNTED} Kernel_Id {_COUNTED_SIZES} Accum_VGPR_Count {_VALUE} {_SPAN}"
AGENT_INFO = (
    "Node_Id Logical_Node_Id Agent_Type Cpu_Cores_Count Simd_Count Cpu_Core_Id_Base Simd_Id_Base "
    "Max_Waves_Per_Simd Lds_Size_In_Kb Gds_Size_In_Kb Num_Gws Wave_Front_Size Num_Xcc Cu_Count Array_Count "
    "Num_Shader_Banks Simd_Arrays_Per_Engine Cu_Per_Simd_Array Simd_Per_Cu Max_Slots_Scratch_Cu "
    "Gfx_Target_Version Vendor_Id Device_Id Location_Id Domain Drm_Render_Minor Num_Sdma_Engines "
    "Num_Sdma_Xgmi_Engines Num_Sdma_Queues_Per_Engine Num_Cp_Queues Max_Engine_Clk_Ccompute "
    "Max_Engine_Clk_Fcompute Sdma_Fw_Version Fw_Version Capability Cu_Per_Engine Max_Waves_Per_Cu Family_Id "
    "Workgroup_Max_Size Grid_Max_Size Local_Mem_Size Hive_Id Gpu_Id Workgroup_Max_Dim_X Workgroup_Max_Dim_Y "
    "Workgroup_Max_Dim_Z Grid_Max_Dim_X Grid_Max_Dim_Y Grid_Max_Dim_Z Name Vendor_Name Product_Name Model_Name"
)

# The columns of each file, release by release; a file that a release does not write is not listed.
COLUMNS: dict[Layout, dict[str, str]] = {
    "6.1": {
        "kernel_trace": f"{_QUEUED} {_SEGMENTS}",
        "api_trace": _API,
        "memory_copy_trace": f"Kind Direction {_AGENTS_COPIED}",
        "scratch_memory_trace": _SCRATCH.replace("Flags", "flags"),
        "counter_collection": f"{_COUNTED} {_COUNTED_SIZES} {_VALUE}",
    }
}
COLUMNS["6.2"] = {**COLUMNS["6.1"], "kernel_trace": _KERNEL_18, "counter_collection": _COUNTERS_16}
COLUMNS["6.3"] = {
    **COLUMNS["6.2"],
    "memory_allocation_trace": _ALLOCATION,
    "counter_collection": f"{_COUNTERS_16} {_SPAN}",
}
COLUMNS["6.4"] = {
    **COLUMNS["6.3"],
    "scratch_memory_trace": _SCRATCH,
    "counter_collection": _COUNTERS_19,
}
COLUMNS["7.0"] = {
    **COLUMNS["6.4"],
    "kernel_trace": _KERNEL_22,
    "memory_copy_trace": f"Kind Direction Stream_Id {_AGENTS_COPIED}",
    "scratch_memory_trace": f"{_SCRATCH} Allocation_Size",
}
COLUMNS["converted"] = {
    **{name: f"Guid {columns}" for name, columns in COLUMNS["7.0"].items()},
    # 7.1.1 as recorded; counters carry the guid under the name Pid, scratch does not carry it.
    "kernel_trace": f"Guid {_KERNEL_22}".replace("LDS", "Lds").replace("GPR", "gpr"),
    "counter_collection": f"Pid {_COUNTERS_19}",
    "scratch_memory_trace": COLUMNS["7.0"]["scratch_memory_trace"],
}

_DIRECTIONS = {"H2H": "HOST_TO_HOST", "H2D": "HOST_TO_DEVICE", "D2H": "DEVICE_TO_HOST"}
_DIRECTIONS |= {"D2D": "DEVICE_TO_DEVICE", "P2P": "DEVICE_TO_DEVICE"}
_LDS_BLOCK = 512  # LDS_Block_Size is rounded up to this


def domain_word(layout: Layout) -> pl.Expr:
    """The release's name for a call's domain."""
    end = "_EXT" if layout in ("7.0", "converted") else ""
    name, domain = pl.col("name"), pl.col("domain")
    return (
        pl.when(domain == "hip")
        .then(pl.lit(f"HIP_RUNTIME_API{end}"))
        .when(domain == "hip_compiler")
        .then(pl.lit(f"HIP_COMPILER_API{end}"))
        .when(domain != "hsa")
        .then(domain.str.to_uppercase() + "_API")
        .when(name.str.starts_with("hsa_amd_"))
        .then(pl.lit("HSA_AMD_EXT_API"))
        .when(name.str.starts_with("hsa_ext_program_"))
        .then(pl.lit("HSA_FINALIZE_EXT_API"))
        .when(name.str.starts_with("hsa_ext_"))
        .then(pl.lit("HSA_IMAGE_EXT_API"))
        .otherwise(pl.lit("HSA_CORE_API"))
        .alias("word")
    )


def marker_word(layout: Layout) -> str:
    return "MARKER_CORE_RANGE_API" if layout in ("7.0", "converted") else "MARKER_CORE_API"


def copy_word() -> pl.Expr:
    """The direction of a copy. The tool does not know fills: other kinds have no direction."""
    direction = pl.col("kind").replace_strict(_DIRECTIONS, default="NONE", return_dtype=pl.String)
    return (pl.lit("MEMORY_COPY_") + direction).alias("word")


def values(layout: Layout) -> dict[str, pl.Expr]:
    """What each column holds. An id that was not recorded is 0, as the tool writes it; a size stays empty."""
    ids = {"Queue_Id": "queue_id", "Stream_Id": "stream_id", "Thread_Id": "tid", "Dispatch_Id": "dispatch_id"}
    ids |= {"Kernel_Id": "kernel_id", "Correlation_Id": "correlation_id", "Process_Id": "pid"}
    plain = {"Kind": "kind", "Domain": "word", "Function": "name", "Direction": "word", "Operation": "word"}
    plain |= {"Kernel_Name": "kernel", "Start_Timestamp": "start_ns", "End_Timestamp": "end_ns"}
    plain |= {"Allocation_Size": "size_bytes", "Alloc_Flags": "flags", "Alloc_flags": "flags"}
    plain |= {"Private_Segment_Size": "scratch_bytes", "Scratch_Size": "scratch_bytes"}
    plain |= {"Group_Segment_Size": "lds_bytes", "Lds_Block_Size": "lds_bytes", "Counter_Name": "counter"}
    for gpr, name in (("Vgpr", "vgprs"), ("Accum_Vgpr", "agprs"), ("Sgpr", "sgprs")):
        plain |= {f"{gpr}_Count": name, f"{gpr.replace('gpr', 'GPR')}_Count": name}
    for size in ("Grid", "Workgroup"):
        plain |= {f"{size}_Size_{axis.upper()}": f"{size.lower()}_{axis}" for axis in "xyz"}
    products = {f"{size}_Size": _product(size.lower()) for size in ("Grid", "Workgroup")}
    blocks = -(-pl.col("lds_bytes") // _LDS_BLOCK) * _LDS_BLOCK
    return {
        **{column: pl.col(name).fill_null(0) for column, name in ids.items()},
        **{column: pl.col(name) for column, name in plain.items()},
        **products,
        "LDS_Block_Size": blocks,
        "Agent_Id": _agent("agent_id", layout),
        "Source_Agent_Id": _agent("src_agent", layout),
        "Destination_Agent_Id": _agent("dst_agent", layout),
        "Address": _hexadecimal("address"),
        "Counter_Value": pl.col("shown"),
    }


def _product(name: str) -> pl.Expr:
    return pl.col(f"{name}_x") * pl.col(f"{name}_y").fill_null(1) * pl.col(f"{name}_z").fill_null(1)


def _agent(column: str, layout: Layout) -> pl.Expr:
    """The agent, written `4` up to ROCm 6.4 and `Agent 4` from 7.0."""
    if layout in ("7.0", "converted"):
        return pl.lit("Agent ") + pl.col(column).cast(pl.String)
    return pl.col(column)


def _hexadecimal(column: str) -> pl.Expr:
    def shown(addresses: pl.Series) -> pl.Series:
        return pl.Series(
            [None if value is None else f"0x{value:016x}" for value in addresses], dtype=pl.String
        )

    return pl.col(column).map_batches(shown, return_dtype=pl.String)
