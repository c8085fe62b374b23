"""One small valid recording of every text, CSV and JSON format, for the mutations to start from. What they say
is made up; their shapes are those of the tools."""

# ruff: noqa: E501  (a line holds what belongs together)

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from typing import Literal

BIG = 9_007_199_254_740_993  # one more than a float can hold
NAME = "void gemm<float, 4>(int, float*) [clone .kd]"

_SPAN = {"Start_Timestamp": BIG, "End_Timestamp": BIG + 700}
_SIZES = {f"{size}_{axis}": 64 for size in ("Workgroup_Size", "Grid_Size") for axis in "XYZ"}
_DISPATCH = {"Dispatch_ID": 1, "Kernel_Name": NAME, "GPU_ID": 2}
_WIDE = {**_DISPATCH, "Grid_Size": 4096, "Workgroup_Size": 256, "LDS_Per_Workgroup": 512, **_SPAN}

CSV: dict[str, Mapping[str, object]] = {
    "v3_kernels": {
        "Kind": "KERNEL_DISPATCH", "Agent_Id": "Agent 4", "Queue_Id": 1, "Stream_Id": 0, "Thread_Id": 7,
        "Dispatch_Id": 1, "Kernel_Id": 2, "Kernel_Name": NAME, "Correlation_Id": 5, **_SPAN,
        "LDS_Block_Size": 512, "Scratch_Size": 0, "VGPR_Count": 32, "Accum_VGPR_Count": 4, "SGPR_Count": 96, **_SIZES,
    },
    "v3_calls": {"Domain": "HIP_RUNTIME_API_EXT", "Function": "hipLaunchKernel", "Process_Id": 6, "Thread_Id": 7,
                 "Correlation_Id": 5, **_SPAN},
    "v3_markers": {"Domain": "MARKER_CORE_RANGE_API", "Function": 'step "1", all', "Process_Id": 6, "Thread_Id": 7,
                   "Correlation_Id": 9, **_SPAN},
    "v3_copies": {"Kind": "MEMORY_COPY", "Direction": "MEMORY_COPY_HOST_TO_DEVICE", "Stream_Id": 0,
                  "Source_Agent_Id": "Agent 0", "Destination_Agent_Id": "Agent 4", "Correlation_Id": 8, **_SPAN},
    "v3_allocations": {"Kind": "MEMORY_ALLOCATION", "Operation": "MEMORY_ALLOCATION_ALLOCATE", "Agent_Id": "Agent 4",
                       "Allocation_Size": 4096, "Address": "0x00007f1234567890", "Correlation_Id": 3, **_SPAN},
    "v3_scratch": {"Kind": "SCRATCH_MEMORY", "Operation": "SCRATCH_MEMORY_ALLOC", "Agent_Id": "Agent 4", "Queue_Id": 1,
                   "Thread_Id": 7, "Alloc_Flags": 2, **_SPAN, "Allocation_Size": 64},
    "v3_counters": {
        "Correlation_Id": 1, "Dispatch_Id": 1, "Agent_Id": "Agent 4", "Queue_Id": 1, "Process_Id": 6, "Thread_Id": 7,
        "Grid_Size": 4096, "Kernel_Id": 2, "Kernel_Name": NAME, "Workgroup_Size": 256, "LDS_Block_Size": 512,
        "Scratch_Size": 0, "VGPR_Count": 32, "Accum_VGPR_Count": 4, "SGPR_Count": 96, "Counter_Name": "SQ_WAVES",
        "Counter_Value": "64.000000", **_SPAN,
    },
    "v3_agents": {
        "Node_Id": 4, "Logical_Node_Id": 4, "Agent_Type": "GPU", "Simd_Count": 1216, "Max_Waves_Per_Simd": 8,
        "Lds_Size_In_Kb": 64, "Wave_Front_Size": 64, "Num_Xcc": 8, "Cu_Count": 304, "Gfx_Target_Version": 90402,
        "Max_Engine_Clk_Fcompute": 2100, "Local_Mem_Size": 0, "Name": "gfx942", "Vendor_Name": "AMD",
        "Product_Name": "AMD Instinct MI300X", "Model_Name": "ip discovery",
    },
    "v3_pc_samples": {
        "Sample_Timestamp": BIG, "Exec_Mask": 2**64 - 1, "Dispatch_Id": 1, "Instruction": "v_add_f32 v0, v1, v2",
        "Instruction_Comment": "a.hip:3", "Correlation_Id": 5, "Wave_Issued_Instruction": 1,
        "Instruction_Type": "VALU", "Stall_Reason": "NONE", "Wave_Count": 4,
    },
    "stats": {"Name": NAME, "Calls": 3, "TotalDurationNs": 3000, "AverageNs": "1000.000000", "Percentage": "99.5",
              "MinNs": 900, "MaxNs": 1100, "StdDev": "12.5"},
    "att_stats": {"CodeObj": 3, "Vaddr": 5632, "Instruction": "s_nop 0", "Hitcount": 4, "Latency": 20, "Stall": 8,
                  "Idle": 2, "Source": "a.hip:3"},
    "v1_results": {
        "Index": 0, "KernelName": NAME, "gpu-id": 2, "queue-id": 0, "queue-index": 0, "pid": 6, "tid": 7, "grd": 4096,
        "wgr": 256, "lds": 0, "scr": 0, "arch_vgpr": 16, "accum_vgpr": 0, "sgpr": 32, "wave_size": 64, "sig": "0x0",
        "obj": "0x7f00", "SQ_WAVES": "64.0", "DispatchNs": BIG, "BeginNs": BIG, "EndNs": BIG + 9, "CompleteNs": BIG + 20,
        "DurationNs": 9,
    },
    "v2_counters": {
        "Dispatch_ID": 1, "GPU_ID": 2, "Queue_ID": 1, "PID": 6, "TID": 7, "Grid_Size": 4096, "Workgroup_Size": 256,
        "LDS_Per_Workgroup": 0, "Scratch_Per_Workitem": 0, "Arch_VGPR": 16, "Accum_VGPR": 0, "SGPR": 32,
        "Wave_Size": 64, "Kernel_Name": NAME, **_SPAN, "Correlation_ID": 0, "GRBM_COUNT": "12.0",
    },
    "v2_calls": {"Domain": "HIP_API_DOMAIN", "Function": "hipLaunchKernel", **_SPAN, "Correlation_ID": 4},
    "v2_kernels": {"Domain": "HIP_OPS_DOMAIN", "Operation": "KernelExecution", "Kernel_Name": NAME,
                   "Start_Timestamp": BIG, "Stop_Timestamp": BIG + 5, "Correlation_ID": 4},
    "v2_ranges": {"Domain": "ROCTX_DOMAIN", "ROCTX_ID": 1, "Message": "step 1, all", "Timestamp": BIG},
    "v2_pc_samples": {"Dispatch_ID": 1, "Timestamp": BIG, "GPU_ID": 2, "PC_Sample": "0x10", "Shader_Engines": 1},
    "compute_long": {**_WIDE, "Counter_Name": "SQ_WAVES", "Counter_Value": "64.0"},
    "compute_wide": {**_WIDE, "Arch_VGPR": 16, "SGPR": 32, "Wave_Size": 64, "SQ_WAVES": "64.0", "TCC_HIT[0]": "1.5"},
    "compute_dispatches": _DISPATCH,
    "compute_sysinfo": {
        "workload_name": "vcopy", "command": "./vcopy -n 3", "timestamp": "Thu 30 May 2024 02:19:39 PM (CDT)",
        "version": 2, "hostname": "box", "rocm_version": "6.2.0", "gpu_model": "MI300X_A1", "gpu_arch": "gfx942",
        "cu_per_gpu": 304, "simd_per_cu": 4, "wave_size": 64, "max_waves_per_cu": 32, "max_sclk": 2100, "num_xcd": 8,
    },
    "compute_roofline": {"device": 0, "HBMBw": "4171.5", "HBMBwLow": "4169.4", "HBMBwHigh": "4173.5",
                         "MFMAF16Flops": "926342.3", "MFMAF16FlopsLow": "925689.1", "MFMAF16FlopsHigh": "926995.5"},
    "compute_analysis": {"Metric": "Grid Size", "Avg": "1048576.0", "Min": "1.0", "Max": "2.0", "Unit": "Work items"},
    "compute_top": {"Kernel_Name": NAME, "Count": "3.0", "Sum(ns)": "300.0", "Mean(ns)": "100.0", "Pct": "99.5"},
    "ncu": {"ID": 0, "Process ID": 6, "Process Name": "app", "Host Name": "box", "Kernel Name": NAME, "Context": 1,
            "Stream": 7, "Block Size": "(256, 1, 1)", "Grid Size": "(16, 2, 1)", "Device": 0, "CC": "9.0",
            "Section Name": "Launch", "Metric Name": "Registers Per Thread", "Metric Unit": "register/thread",
            "Metric Value": "1,024"},
    "nvidia_smi": {"timestamp": "2025/03/01 10:20:30.123", "index": 0, "uuid": "GPU-1", "name": "NVIDIA H100",
                   "power.draw [W]": "120.5 W", "utilization.gpu [%]": "37 %", "memory.used [MiB]": "1024 MiB"},
    "library_trace": {"library": "rccl", "call": "all_reduce", "calls": 3, "m": 128, "n": 64, "k": 32, "batch_count": 2,
                      "transposes": "NT", "dtypes": "float32", "compute_type": "f32_r", "solution": "56073",
                      "size_bytes": 4096, "group": "0xbe03", "group_size": 8, "rank": 1, "pid": 77,
                      "parameters": "count 1024 op 0, root 0"},
    "amd_smi_csv": {"timestamp": 1740823230, "gpu": 0, "socket_power": 120, "gfx_activity": 37, "edge": 40},
    "madengine": {"time": "2025-03-01 10:20:30", "Power(Watt) GPU0": "120.5", "Power(Watt) GPU1": "99.0"},
}  # fmt: skip

_EVENT = {"ph": "X", "pid": 0, "tid": 7, "ts": 1_700_000_000_000_000.123, "dur": 12.5}
_KERNEL_ARGS = {"device": 0, "stream": 7, "correlation": 5, "External id": 3, "grid": [4, 1, 1], "block": [64, 1, 1],
                "registers per thread": 32, "shared memory": 512, "context": 0, "queued": 0}  # fmt: skip
_V1_ARGS = {"BeginNs": str(BIG), "EndNs": str(BIG + 9), "pid": "6", "tid": "7", "Name": "hipLaunchKernel", "Data": "",
            "dev-id": "0", "queue-id": "0", "stream-id": "1", "args": "()", "DurationNs": "9"}  # fmt: skip
_V3_SPAN = {"size": 96, "kind": 11, "operation": 1, "thread_id": 7,
            "correlation_id": {"internal": 5, "external": 0}, "start_timestamp": BIG, "end_timestamp": BIG + 6}  # fmt: skip
_V3_LAUNCH = {"agent_id": {"handle": 700}, "queue_id": {"handle": 3}, "kernel_id": 2, "dispatch_id": 11,
              "private_segment_size": 0, "group_segment_size": 512, "workgroup_size": {"x": 64, "y": 1, "z": 1},
              "grid_size": {"x": 640, "y": 1, "z": 1}}  # fmt: skip

JSON: dict[str, object] = {
    "kineto": {
        "schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "AMD Instinct MI300X", "totalGlobalMem": 2**37,
            "numSms": 304, "warpSize": 64}],
        "distributedInfo": {"backend": "nccl", "rank": 1, "world_size": 8},
        "traceEvents": [
            {**_EVENT, "cat": "cpu_op", "name": "aten::mm", "args": {"External id": 3, "Input Dims": [[8, 8], []],
                "Sequence number": 4, "Input type": ["float", ""], "Concrete Inputs": ["", "1"]}},
            {**_EVENT, "cat": "cuda_runtime", "name": "hipLaunchKernel", "args": {"correlation": 5, "External id": 3}},
            {**_EVENT, "cat": "kernel", "name": NAME, "args": _KERNEL_ARGS},
            {**_EVENT, "cat": "gpu_memcpy", "name": "Memcpy HtoD", "args": {**_KERNEL_ARGS, "bytes": 4096}},
            {**_EVENT, "cat": "python_function", "name": "f", "args": {"Python id": 1, "Python parent id": 0}},
            {**_EVENT, "cat": "user_annotation", "name": "step#1", "args": {}},
            {**_EVENT, "cat": "kernel", "name": "ncclDevKernel_AllReduce", "args": {**_KERNEL_ARGS,
                "Collective name": "allreduce", "In msg nelems": 64, "dtype": "Float", "Group size": 8}},
            {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 0, "tid": 7, "ts": 1.5, "s": "t",
                "args": {"Addr": 4096, "Bytes": 512, "Device Id": 0, "Device Type": 1}},
            {"ph": "s", "id": 5, "cat": "ac2g", "name": "ac2g", "pid": 0, "tid": 7, "ts": 1.5},
            {"ph": "f", "id": 5, "cat": "ac2g", "name": "ac2g", "pid": 0, "tid": 7, "ts": 2.5, "bp": "e"},
            {"ph": "M", "name": "process_name", "pid": 0, "tid": 0, "args": {"name": "python"}},
        ],
        "baseTimeNanoseconds": 1_700_000_000_000_000_000, "displayTimeUnit": "ms",
    },
    "cupti": {
        "schemaVersion": 1, "rocm_perf": {"recorder": "cupti", "host": "box", "pid": 6, "rank": 1, "command": "./app",
            "boot_time_ns": 5_000_000_000},
        "deviceProperties": [{"id": 0, "name": "NVIDIA H200", "totalGlobalMem": 2**37, "numSms": 132, "warpSize": 32}],
        "cupti_version": 130001, "baseTimeNanoseconds": 1_700_000_000_000_000_000,
        "traceEvents": [
            {**_EVENT, "cat": "cuda_runtime", "name": "cudaLaunchKernel", "args": {"correlation": 5}},
            {**_EVENT, "cat": "kernel", "name": NAME, "args": _KERNEL_ARGS},
        ],
        "rocm_perf_end": {"dropped_records": 2},
    },
    "chrome": {"traceEvents": [{**_EVENT, "name": "a"}, {**_EVENT, "ph": "B", "name": "b"}, {**_EVENT, "ph": "E"},
               {**_EVENT, "ph": "C", "name": "c", "args": {"v": 1}},
               {"ph": "M", "name": "thread_name", "pid": 0, "tid": 7, "args": {"name": "main"}}]},
    "chrome_array": [{**_EVENT, "name": "a", "cat": "x"}, {**_EVENT, "name": "k", "cat": "kernel"}],
    "jax_chrome": {"displayTimeUnit": "ns", "metadata": {"highres-ticks": True}, "traceEvents": [
        {"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "/device:GPU:0"}},
        {"ph": "M", "pid": 1, "tid": 2, "name": "thread_name", "args": {"name": "Stream #2"}},
        {"ph": "X", "pid": 1, "tid": 2, "ts": 1.5, "dur": 2.25, "name": NAME,
            "args": {"correlation_id": "5", "hlo_op": "dot.1", "hlo_module": "jit_f", "kernel_details": "grid:2,1,1 block:64,1,1"}},
        {}]},
    "rpd_trace": [{}, {"name": "process_name", "ph": "M", "pid": "2", "args": {"name": "GPU2"}},
        {"name": "thread_name", "ph": "M", "pid": "6", "tid": "7", "args": {"name": "Hip 7"}},
        {"pid": "6", "tid": "7", "name": "hipLaunchKernel", "ts": "1001.5", "dur": "3", "ph": "X", "args": {"desc": "x"}},
        {"pid": "2", "tid": "0", "name": NAME, "ts": "1003", "dur": "9", "ph": "X", "args": {"desc": "KernelExecution"}},
        {"pid": "6", "tid": "7", "cat": "api_op", "name": "api_op", "ts": "1001", "id": "5", "ph": "s"},
        {"pid": "2", "tid": "0", "cat": "api_op", "name": "api_op", "ts": "1003", "id": "5", "ph": "f", "bp": "e"},
        {"pid": "2", "name": "sclk", "ts": "1003", "ph": "C", "args": {"sclk": 132}}],
    "v1_trace": {"traceEvents": [{}, {"args": {"name": "CPU HIP API"}, "ph": "M", "pid": 2, "name": "process_name"},
        {"args": {"name": "GPU0"}, "ph": "M", "pid": 6, "name": "process_name"},
        {"ph": "X", "name": "hipLaunchKernel", "pid": 2, "tid": 7, "ts": "100", "dur": "5", "args": _V1_ARGS},
        {"ph": "X", "name": NAME, "pid": 6, "tid": 7, "ts": "104", "dur": "9",
            "args": {**_V1_ARGS, "Name": NAME, "KernelName": NAME, "gpu-id": "0", "grd": "64", "wgr": "64"}},
        {"ts": 100, "ph": "s", "cat": "DataFlow", "id": 1, "pid": 2, "tid": 7, "name": "dep"},
        {"ts": 104, "ph": "t", "cat": "DataFlow", "id": 1, "pid": 6, "tid": 7, "name": "dep"}],
        "otherData": {"0.name": "gfx90a", "Agent1": {"Name": "gfx90a", "DeviceType": "GPU", "Node": "1(0x1)"}}},
    "v3": {"rocprofiler-sdk-tool": [{
        "metadata": {"pid": 6, "init_time": 1, "fini_time": 9, "command": ["./app", "x"],
            "node": {"hostname": "box", "system_name": "Linux", "release": "6.1"}},
        "agents": [{"id": {"handle": 700}, "type": 2, "node_id": 4, "name": "gfx942", "cu_count": 304,
            "product_name": "MI300X", "mem_banks": [{"heap_type": 1, "size_in_bytes": 1000}], "lds_size_in_kb": 64}],
        "counters": [{"agent_id": {"handle": 700}, "id": {"handle": 40}, "name": "SQ_WAVES", "block": "SQ"}],
        "strings": {"callback_records": [], "buffer_records": [{"kind": "K", "operations": ["a", "b"]}] * 12,
            "marker_api": [{"key": 5, "value": "step 1"}], "pc_sample_instructions": ["s_nop 0"],
            "pc_sample_comments": ["a.hip:3"]},
        "code_objects": [{"code_object_id": 1, "uri": "memory://1"}],
        "kernel_symbols": [{"kernel_id": 2, "code_object_id": 1, "kernel_name": "_Z4gemm.kd",
            "formatted_kernel_name": NAME, "truncated_kernel_name": "gemm", "arch_vgpr_count": 32}],
        "callback_records": {"counter_collection": [{"dispatch_data": {"dispatch_info": _V3_LAUNCH,
            "correlation_id": {"internal": 5, "external": 0}, "start_timestamp": BIG, "end_timestamp": BIG + 1},
            "records": [{"counter_id": {"handle": 40}, "value": 64.0}], "thread_id": 7}]},
        "buffer_records": {"kernel_dispatch": [{**_V3_SPAN, "dispatch_info": _V3_LAUNCH}], "hip_api": [_V3_SPAN],
            "hsa_api": [_V3_SPAN], "marker_api": [_V3_SPAN], "memory_copy": [{**_V3_SPAN, "bytes": 64,
            "src_agent_id": {"handle": 699}, "dst_agent_id": {"handle": 700}}],
            "memory_allocation": [{**_V3_SPAN, "agent_id": {"handle": 700}, "address": "0x7f00",
            "allocation_size": 64}]},
    }]},
    "v3_schema": {"$schema": "https://json-schema.org/draft", "properties": {"rocprofiler-sdk-tool": {}}},
    "att_code": {"code": [["; gemm", 0, 0, "", 3, 5632, 0, 0, 0, 0], ["s_nop 0", 0, 1, "a.hip:3", 3, 5636, 4, 20, 8, 2]],
                 "header": "ISA, _, LineNumber, Source, Codeobj, Vaddr, Hit, Latency, Stall, Idle", "version": "3.0.0"},
    "att_wave": {"duration": 9, "name": "SE0", "num_insts": 2, "num_stitched": 2, "wave": {"begin": 4, "cu": 0, "end": 13,
                 "id": 0, "simd": 1, "slot": 0, "instructions": [[4, 6, 0, 4, 1], [8, 6, 2, 5, 2]], "timeline": [[1, 4]]}},
    "att_files": {"counter_names": ["SQ_BUSY"], "gfxip": 9, "gfxv": "vega", "version": "3.0.0",
                  "wave_filenames": {"0": {"0": {"0": {"0": ["se0_sm0_sl0_wv0.json", 4, 13]}}}}},
    "att_occupancy": {"0": [[4, 0, 3, 0, 1, 1], [9, 0, 3, 0, 0, 1]], "dispatches": {"1": "gemm.kd"}, "version": "3.0.0"},
    "att_readings": {"data": [[40, 5, 0, 0, 0, 0, 0], [44, 5, 0, 0, 0, 0, 1]]},
    "att_states": {"name": "wstates2.json", "state": [1, 2, 3], "time": [4, 5, 9]},
    "att_realtime": {"SE0": [[1, 2], [3, 4]], "metadata": {"frequency": 100}},
    "att_snapshots": {"/": {"work": {"kernel.cpp": "source_0_kernel.cpp"}}},
    "amd_smi_json": [{"gpu": 0, "power": {"socket_power": {"value": 120, "unit": "W"}}, "usage": {"gfx_activity": "37 %"},
                      "asic": {"market_name": "MI300X", "target_graphics_version": "gfx942"}}],
    "rocm_smi_json": {"card0": {"Average Graphics Package Power (W)": "120.0", "GPU use (%)": "37", "GUID": "5"},
                      "system": {"Driver version": "6.1"}},
}  # fmt: skip

TEXT: dict[str, str] = {
    "v2_printed": "ROCProfilerV2: Collecting the following counters:\n- GRBM_COUNT\n"
    'Dispatch_ID(1), GPU_ID(2), Queue_ID(1), PID(6), TID(7), Grid_Size(64), Kernel_Name("gemm"), '
    f"Begin_Timestamp({BIG}), End_Timestamp({BIG + 9}), Correlation_ID(0), GRBM_COUNT(12)\n"
    f"Domain(HIP_API_DOMAIN), Function(hipMalloc), Start_Timestamp({BIG}), End_Timestamp({BIG + 2}), Correlation_ID(3)\n"
    f"Domain(ROCTX_DOMAIN), Timestamp({BIG}), ROCTX_ID(1), ROCTX_Message(step 1)\n",
    "roctracer": "ROCTracer (pid=6):\n    HIP-trace()\n0x1 agent cpu\n"
    f"{BIG}:{BIG + 9} 6:7 hipMemcpy(dst(0x7f), src(0x1), sizeBytes(4096), kind(1)) :5\n"
    f"{BIG}:{BIG + 9} 0:1 KernelExecution:5:6\n{BIG}:{BIG + 9} 0:0 hcCommandKernel:5:6\n"
    f'{BIG} 6:7 1:0:"step 1"\n{BIG + 9} 6:7 2:0:""\n',
    "settings": "mode: profile\nname: vcopy\npath: /w/vcopy\nremaining:\n- --\n- ./vcopy\n- -n\n- '3'\n",
    "rocminfo": "HSA System Attributes\n=====\nRuntime Version:         1.1\n=====\nHSA Agents\n=====\n*******\nAgent 1\n"
    "*******\n  Name:                    gfx942\n  Uuid:                    GPU-1\n  Marketing Name:          MI300X\n"
    "  Vendor Name:             AMD\n  Node:                    4\n  Device Type:             GPU\n"
    "  Max Clock Freq. (MHz):   2100\n  Compute Unit:            304\n  SIMDs per CU:            4\n"
    "  Wavefront Size:          64(0x40)\n  Max Waves Per CU:        32(0x20)\n  Pool Info:\n    Pool 1\n"
    "      Segment:                 GLOBAL; FLAGS: COARSE GRAINED\n      Size:                    201310208(0xbffc000) KB\n",
    "counter_list": "GPU     :\t0\nName    :\tgfx942\nconfigs :\n   Method              :\thost_trap\n"
    "   Unit                :\ttime\n   Min_Interval        :\t1\n   Max_Interval        :\t18446744073709551615\n\n"
    "Counter_Name        :\tSQ_WAVES\nDescription         :\tWaves\nBlock               :\tSQ\n\n"
    "Counter_Name        :\tVALUUtil\nDescription         :\tShare\nExpression          :\t100*SQ_A/SQ_B\n\n",
    "counter_list_v1": "  gpu-agent0 : SQ_WAVES : Number of waves.\n      block SQ has 8 counters\n\n"
    "  gpu-agent0 : Busy : Share of time.\n      Busy = 100*GRBM_GUI/GRBM_COUNT\n",
    "amd_smi": "GPU: 0\n    USAGE:\n        GFX_ACTIVITY: 37 %\n    POWER:\n        SOCKET_POWER: 120 W\n    CLOCK:\n"
    "        GFX_0:\n            CLK: 132 MHz\n    TEMPERATURE:\n        EDGE: N/A\n        HOTSPOT: 40 °C\n    MEM_USAGE:\n"
    "        TOTAL_VRAM: 196592 MB\n        USED_VRAM: 284 MB\n    ASIC:\n        MARKET_NAME: MI300X\n\n",
    "rocm_smi": "============ ROCm System Management Interface ============\n============ Concise Info ============\n"
    "Device  Node  IDs              Temp        Power     Partitions          SCLK    MCLK     Fan  Perf  PwrCap  VRAM%  GPU%\n"
    "0       4     0x74a0,   50375  48.0°C      110.0W    NPS1, SPX, 0        98Mhz   1300Mhz  0%   auto  550.0W  0%     37%\n"
    "============ End of ROCm SMI Log ============\n",
    "hipconfig": "HIP version: 7.0.1\n\n==hipconfig\nHIP_PLATFORM       :amd\n\n== Linux Kernel\nHostname      :\nbox\n"
    "Linux box 6.8.0 #1 SMP x86_64\n",
    "samples": '# rocm-perf samples 1\n# {"host": "box", "vendor": "AMD", "source": "amdsmi", "boot_ns": 5000, '
    '"realtime_ns": 1760000000000000000, "gpus": [{"gpu": 0, "node": 4, "ordinal": 0, "memory_bytes": 1024}], "notices": ["x"]}\n'
    'time_ns,gpu,power_w,clock_mhz,vram_used_bytes\n5001,0,412.25,2100,\n9001,0,400,,77\n# {"readings": 2}\n',
    "run_record": '{"kind": "rocm-perf run", "version": 1, "run_id": "r", "host": "box", "pid": 77, "command": ["./app", "a b"], '
    '"folder": "/", "started_at": "2026-01-01T00:00:00Z", "profiler": "rocprofv3", "state": "running", "passes": [{"number": 1, '
    '"profiler": "rocprofv3", "purpose": "trace", "argv": ["./app"], "folder": "pass_1", "outcome": "recorded"}]}',
    "device_code": '{"kind": "rocm-perf code", "version": 1, "kernels": [{"symbol": "_Z3addPf", "name": "add(float*)", '
    '"arch": "gfx942", "file": "app", "vgprs": 32, "scratch_bytes": 64, "code_bytes": 512, "mix": [{"work": "load", '
    '"dtype": "", "width_bytes": 4, "loop": 1, "depth": 1, "count": 2, "source": "a.hip:3"}]}], "notices": []}',
    "count": '{"schema_version": 1, "kernel": "_Z3addPf", "name": "add(float*)", "gfx": "gfx942", "grid": [1024, 1, 1], '
    '"workgroup": [256, 1, 1], "executed": {"workgroups": 4, "of_workgroups": 4, "waves": 16, "wave_size": 64, "seconds": 0.1}, '
    '"roofline": {"point": {"work": [{"ceiling": "f32 vector", "amount": {"value": 1024, "unit": "FLOP"}}]}}}',
    "help": "usage: rocprofv3 [-h] [-i INPUT]\n\nROCProfilerV3 Run Script\n  version: 1.0.0\n",
}


def seeds() -> dict[str, bytes]:
    """All of them, by name."""
    return {
        **{name: _csv(row) for name, row in CSV.items()},
        "ncu": _csv(CSV["ncu"], csv.QUOTE_ALL),
        **{name: json.dumps(document).encode() for name, document in JSON.items()},
        **{name: text.encode() for name, text in TEXT.items()},
        "att_raw": b"\x11\x00\x40\x00" + bytes(4) + b"\x5a" * 64,
    }


def _csv(row: Mapping[str, object], quoting: Literal[0, 1] = csv.QUOTE_MINIMAL) -> bytes:
    """A header and the row twice: in the second, every number is one more."""
    text = io.StringIO()
    after = [value + 1 if isinstance(value, int) else value for value in row.values()]
    csv.writer(text, quoting=quoting, lineterminator="\n").writerows([list(row), list(row.values()), after])
    return text.getvalue().encode()
