"""Writes a small recording to try rocm-perf on, without a GPU: what rocprofv3 of ROCm 7 leaves behind for one
process on an MI300X that decodes with a language model and waits for the GPU after every kernel.

    python examples/first_recording.py OUT_DIR

The numbers are computed, not measured, and come out the same on every machine.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

HOST, PID = "mi300x-example", 41207
GPU, QUEUE, STREAM = 1, 1, 0
STEPS = 48
FIRST_NS = 1_248_672_525_000_000  # nanoseconds since the machine booted

# What the host pays around a kernel, in nanoseconds: this is what keeps the GPU from being busy.
LAUNCH_NS, DISPATCH_NS, WAKE_UP_NS, PYTHON_NS = 5_200, 3_900, 8_600, 3_300


def columns(header: str) -> list[str]:
    """The names in a header, which is written here with spaces instead of commas."""
    return header.split()


API_COLUMNS = columns("Domain Function Process_Id Thread_Id Correlation_Id Start_Timestamp End_Timestamp")
COPY_COLUMNS = columns(
    "Kind Direction Stream_Id Source_Agent_Id Destination_Agent_Id Correlation_Id Start_Timestamp End_Timestamp"
)
KERNEL_COLUMNS = columns(
    "Kind Agent_Id Queue_Id Stream_Id Thread_Id Dispatch_Id Kernel_Id Kernel_Name Correlation_Id "
    "Start_Timestamp End_Timestamp LDS_Block_Size Scratch_Size VGPR_Count Accum_VGPR_Count SGPR_Count "
    "Workgroup_Size_X Workgroup_Size_Y Workgroup_Size_Z Grid_Size_X Grid_Size_Y Grid_Size_Z"
)
AGENT_COLUMNS = columns(
    "Node_Id Logical_Node_Id Agent_Type Cpu_Cores_Count Simd_Count Cpu_Core_Id_Base Simd_Id_Base "
    "Max_Waves_Per_Simd Lds_Size_In_Kb Gds_Size_In_Kb Num_Gws Wave_Front_Size Num_Xcc Cu_Count Array_Count "
    "Num_Shader_Banks Simd_Arrays_Per_Engine Cu_Per_Simd_Array Simd_Per_Cu Max_Slots_Scratch_Cu "
    "Gfx_Target_Version Vendor_Id Device_Id Location_Id Domain Drm_Render_Minor Num_Sdma_Engines "
    "Num_Sdma_Xgmi_Engines Num_Sdma_Queues_Per_Engine Num_Cp_Queues Max_Engine_Clk_Ccompute "
    "Max_Engine_Clk_Fcompute Sdma_Fw_Version Fw_Version Capability Cu_Per_Engine Max_Waves_Per_Cu Family_Id "
    "Workgroup_Max_Size Grid_Max_Size Local_Mem_Size Hive_Id Gpu_Id Workgroup_Max_Dim_X Workgroup_Max_Dim_Y "
    "Workgroup_Max_Dim_Z Grid_Max_Dim_X Grid_Max_Dim_Y Grid_Max_Dim_Z Name Vendor_Name Product_Name Model_Name"
)

CPU = {
    "Agent_Type": "CPU", "Cpu_Cores_Count": 96, "Num_Xcc": 1, "Cu_Count": 96, "Max_Engine_Clk_Ccompute": 3700,
    "Family_Id": 25, "Name": "AMD EPYC 9654 96-Core Processor", "Vendor_Name": "CPU",
    "Product_Name": "AMD EPYC 9654 96-Core Processor",
}  # fmt: skip
MI300X = {
    "Node_Id": GPU, "Logical_Node_Id": GPU, "Agent_Type": "GPU", "Simd_Count": 1216, "Simd_Id_Base": 2147487744,
    "Max_Waves_Per_Simd": 8, "Lds_Size_In_Kb": 64, "Num_Gws": 64, "Wave_Front_Size": 64, "Num_Xcc": 8,
    "Cu_Count": 304, "Array_Count": 32, "Num_Shader_Banks": 32, "Simd_Arrays_Per_Engine": 1,
    "Cu_Per_Simd_Array": 10, "Simd_Per_Cu": 4, "Max_Slots_Scratch_Cu": 32, "Gfx_Target_Version": 90402,
    "Vendor_Id": 4098, "Device_Id": 29857, "Location_Id": 1280, "Drm_Render_Minor": 128, "Num_Sdma_Engines": 2,
    "Num_Sdma_Xgmi_Engines": 14, "Num_Sdma_Queues_Per_Engine": 8, "Num_Cp_Queues": 24,
    "Max_Engine_Clk_Ccompute": 3700, "Max_Engine_Clk_Fcompute": 2100, "Sdma_Fw_Version": 22, "Fw_Version": 166,
    "Capability": 746037888, "Cu_Per_Engine": 10, "Max_Waves_Per_Cu": 32, "Family_Id": 141,
    "Workgroup_Max_Size": 1024, "Grid_Max_Size": 4294967295, "Gpu_Id": 28851,
    **{f"Workgroup_Max_Dim_{axis}": 1024 for axis in "XYZ"}, **{f"Grid_Max_Dim_{axis}": 4294967295 for axis in "XYZ"},
    "Name": "gfx942", "Vendor_Name": "AMD", "Product_Name": "AMD Instinct MI300X", "Model_Name": "ip discovery",
}  # fmt: skip


@dataclass(frozen=True)
class Kernel:
    """A kernel of the model: how long it takes and what it needs."""

    name: str
    typical_ns: int
    workgroup: tuple[int, int, int]
    grid: tuple[int, int, int]  # work-items
    lds_bytes: int
    vgprs: int
    agprs: int
    sgprs: int = 96


GEMM = Kernel(
    "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT64x16x128_MI16x16x1_SN_LDSB1_AFC1_AFEM1_AFEM1_ASEM1_CLR1_"
    "CADS0_EPS0_FDSI0_GRVWA8_GRVWB8_GSUAMB_GLS0_ISA942_IU1_K1_LBSPPA512_LBSPPB256_LPA16_LPB16_LRVW8_MIAV0_"
    "MIWT1_1_MO40_NTn1_NTA4_NTB0_NTC0_NTD0_NEPBS16_NLCA1_NLCB1_ONLL1_PGR2_PLR1_PKA1_SIA3_SS1_SU0_SUM0_SUS0_"
    "SPO0_SRVW0_SSO0_SVW1_TLDS1_ULSGRO0_USL1_UIOFGRO0_USFGROn1_VWA1_VWB1_WSGRA0_WSGRB0_WG64_4_1",
    typical_ns=54_000, workgroup=(256, 1, 1), grid=(57_344, 1, 1), lds_bytes=43_520, vgprs=128, agprs=64,
)  # fmt: skip
ATTENTION = Kernel(
    "void vllm::paged_attention_ll4mi_QKV_mfma16_kernel<__hip_bfloat16, __hip_bfloat16, "
    "(vllm::Fp8KVCacheDataType)0, __hip_bfloat16, 16, 128, 256, false, 8>(__hip_bfloat16 const*, "
    "__hip_bfloat16 const*, __hip_bfloat16 const*, int, float, int const*, int const*, float*, int)",
    typical_ns=58_000, workgroup=(256, 1, 1), grid=(2_048, 8, 8), lds_bytes=24_576, vgprs=120, agprs=8,
)  # fmt: skip
LAYER_NORM = Kernel(
    "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float>(int, float, "
    "c10::BFloat16 const*, c10::BFloat16 const*, c10::BFloat16 const*, float*, float*, c10::BFloat16*)",
    typical_ns=9_400, workgroup=(64, 4, 1), grid=(2_048, 4, 1), lds_bytes=64, vgprs=36, agprs=0, sgprs=48,
)  # fmt: skip
ACTIVATION = Kernel(
    "void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous namespace)::silu_kernel("
    "at::TensorIteratorBase&)::{lambda()#1}::operator()() const::{lambda()#4}::operator()() const::"
    "{lambda(c10::BFloat16)#1}, std::array<char*, 2ul> >(int, at::native::(anonymous namespace)::silu_kernel("
    "at::TensorIteratorBase&)::{lambda()#1}::operator()() const::{lambda()#4}::operator()() const::"
    "{lambda(c10::BFloat16)#1}, std::array<char*, 2ul>)",
    typical_ns=7_100, workgroup=(256, 1, 1), grid=(114_688, 1, 1), lds_bytes=0, vgprs=24, agprs=0, sgprs=32,
)  # fmt: skip
SCALE = Kernel(
    'void model::scale<__hip_bfloat16, &(operator"" _bf16(long double)), 8>(__hip_bfloat16*, float, int)',
    typical_ns=6_300, workgroup=(256, 1, 1), grid=(65_536, 1, 1), lds_bytes=0, vgprs=16, agprs=0, sgprs=32,
)  # fmt: skip
ARG_MAX = Kernel(
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<c10::BFloat16, at::native::ArgMaxOps<float>, "
    "unsigned int, long, 4, 4> >(at::native::ReduceOp<c10::BFloat16, at::native::ArgMaxOps<float>, "
    "unsigned int, long, 4, 4>)",
    typical_ns=14_200, workgroup=(512, 1, 1), grid=(512, 8, 1), lds_bytes=8_208, vgprs=44, agprs=0, sgprs=64,
)  # fmt: skip

KERNELS = (LAYER_NORM, GEMM, ATTENTION, ACTIVATION, SCALE, ARG_MAX)
STEP = (LAYER_NORM, GEMM, ATTENTION, SCALE, GEMM, LAYER_NORM, ACTIVATION, ARG_MAX)


def jitter() -> Iterator[int]:
    """Numbers from -3 to 3, the same in every run."""
    state = 942
    while True:
        state = (state * 1_103_515_245 + 12_345) % (1 << 31)
        yield (state >> 16) % 7 - 3


@dataclass
class Recorder:
    """Plays the program forward and keeps the rows that the profiler would have written."""

    now_ns: int = FIRST_NS
    calls: list[Sequence[object]] = field(default_factory=list)
    markers: list[Sequence[object]] = field(default_factory=list)
    copies: list[Sequence[object]] = field(default_factory=list)
    kernels: list[Sequence[object]] = field(default_factory=list)
    kernel_ns: int = 0
    copy_ns: int = 0
    correlation: int = 0
    noise: Iterator[int] = field(default_factory=jitter)

    def launch(self, kernel: Kernel) -> None:
        """Launch a kernel and wait for it."""
        correlation = self._call("hipLaunchKernel", LAUNCH_NS)
        start, duration = self.now_ns + DISPATCH_NS, kernel.typical_ns * (100 + 2 * next(self.noise)) // 100
        self.kernels.append(
            ("KERNEL_DISPATCH", f"Agent {GPU}", QUEUE, STREAM, PID, len(self.kernels) + 1,
             KERNELS.index(kernel) + 1, kernel.name, correlation, start, start + duration, kernel.lds_bytes, 0,
             kernel.vgprs, kernel.agprs, kernel.sgprs, *kernel.workgroup, *kernel.grid)
        )  # fmt: skip
        self.kernel_ns += duration
        self._wait_until(start + duration)

    def copy(self, direction: str, duration: int, source: int, target: int) -> None:
        """Start a copy and wait for it."""
        correlation = self._call("hipMemcpyAsync", LAUNCH_NS)
        start = self.now_ns + DISPATCH_NS
        ends = (f"Agent {source}", f"Agent {target}")
        row = ("MEMORY_COPY", f"MEMORY_COPY_{direction}", STREAM, *ends, correlation, start, start + duration)
        self.copies.append(row)
        self.copy_ns += duration
        self._wait_until(start + duration)

    def step(self, number: int) -> None:
        """Decode one token: a range around the kernels and the copy that fetches the token."""
        start, correlation = self.now_ns, self._next_correlation()
        for kernel in STEP:
            self.launch(kernel)
        self.copy("DEVICE_TO_HOST", 4_800 + 100 * next(self.noise), GPU, 0)
        row = ("MARKER_CORE_RANGE_API", f"decode step {number}", PID, PID, correlation, start, self.now_ns)
        self.markers.append(row)

    def _wait_until(self, end_ns: int) -> None:
        self._call("hipStreamSynchronize", end_ns - self.now_ns + WAKE_UP_NS)
        self.now_ns += PYTHON_NS + 150 * next(self.noise)

    def _call(self, function: str, duration: int) -> int:
        correlation = self._next_correlation()
        start, self.now_ns = self.now_ns, self.now_ns + duration
        self.calls.append(("HIP_RUNTIME_API_EXT", function, PID, PID, correlation, start, self.now_ns))
        return correlation

    def _next_correlation(self) -> int:
        self.correlation += 1
        return self.correlation


def record() -> Recorder:
    """The whole run: the prompt goes to the GPU, then one step per token."""
    recorder = Recorder()
    recorder.copy("HOST_TO_DEVICE", 38_000, 0, GPU)
    for number in range(1, STEPS + 1):
        recorder.step(number)
    return recorder


def write(folder: Path, recorder: Recorder) -> None:
    """Write the five files where rocprofv3 puts them; other files in the folder are left alone."""
    place = folder / HOST
    place.mkdir(parents=True, exist_ok=True)
    agents = [[agent.get(column, _nothing(column)) for column in AGENT_COLUMNS] for agent in (CPU, MI300X)]
    tables: dict[str, tuple[Sequence[str], Sequence[Sequence[object]]]] = {
        "kernel_trace": (KERNEL_COLUMNS, recorder.kernels),
        "hip_api_trace": (API_COLUMNS, recorder.calls),
        "memory_copy_trace": (COPY_COLUMNS, recorder.copies),
        "marker_api_trace": (API_COLUMNS, recorder.markers),
        "agent_info": (AGENT_COLUMNS, agents),
    }
    for name, (columns, rows) in tables.items():
        with (place / f"{PID}_{name}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
            writer.writerow(columns)
            writer.writerows(rows)


def _nothing(column: str) -> int | str:
    return "" if column == "Model_Name" else 0


def main(argv: Sequence[str] | None = None) -> int:
    """Write the recording to the folder that the command line names."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("folder", type=Path, metavar="OUT_DIR", help="folder to write to")
    folder: Path = parser.parse_args(argv).folder
    recorder = record()
    write(folder, recorder)
    print(
        f"{folder}: {len(recorder.kernels)} kernels in {recorder.kernel_ns:,} ns and {len(recorder.copies)} copies in "
        f"{recorder.copy_ns:,} ns on one MI300X, with hipStreamSynchronize after each"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
