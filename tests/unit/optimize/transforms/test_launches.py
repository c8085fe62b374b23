"""Bounds and sizes of blocks follow what is launched, and are refused where that is not known or is assumed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rocm_perf.optimize.source.parse import parse
from rocm_perf.optimize.transforms import block_size, launch_bounds
from rocm_perf.optimize.transforms.setting import CapturedLaunch
from tests.unit.optimize.transforms.trying import Tried, captured, setting

ADD = "__global__ void k(float* x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] += 1; }\n"
ROWS = (
    "__global__ void k(float* x, int n) {"
    " for (int i = threadIdx.x; i < n; i += blockDim.x) x[blockIdx.x * n + i] = 1; }\n"
)


def bounds(text: str, arch: str = "gfx942", *launches: CapturedLaunch) -> Tried:
    return Tried(launch_bounds.TRANSFORM, text.encode(), setting(*launches, arch=arch))


def blocks(text: str, size: int = 128) -> Tried:
    kernel = parse(text.encode()).kernels[0]
    return Tried(block_size.TRANSFORM, text.encode(), setting(captured(kernel, (size, 1, 1))))


def test_bounds_are_the_largest_block_that_is_launched() -> None:
    tried = bounds(f"{ADD}int main() {{ k<<<1, 128>>>(x, n); k<<<1, dim3(64, 4)>>>(x, n); }}")
    assert "void __launch_bounds__(256) k(" in tried.text("__launch_bounds__(256)")
    assert "void __attribute__((amdgpu_waves_per_eu(4))) k(" in tried.text("amdgpu_waves_per_eu(4)")


def test_nvidia_has_blocks_of_a_multiprocessor_instead_of_waves() -> None:
    tried = bounds(f"{ADD}int main() {{ k<<<1, 256>>>(x, n); }}", "sm_90")
    assert list(tried.candidates) == [
        "__launch_bounds__(256)",
        "__launch_bounds__(256, 4)",
        "__launch_bounds__(256, 8)",
    ]


def test_a_captured_block_counts_too() -> None:
    assert "__launch_bounds__(512)" in bounds(ADD, "gfx942", CapturedLaunch(block=(512, 1, 1))).candidates


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (ADD, "not launched in this file"),
        (f"{ADD}void f(int b) {{ k<<<1, b>>>(x, n); }}", "not a constant"),
        (f"{ADD}void f() {{ k<<<1, 64>>>(x, n); run(k); }}", "in another way than a launch"),
        (ADD.replace("void k", "void __launch_bounds__(128) k"), "is there already"),
        (ADD.replace("void k", "LIMITED(128) void k"), "the macro LIMITED(128)"),
    ],
)
def test_bounds_are_refused(text: str, reason: str) -> None:
    tried = bounds(text)
    assert reason in tried.refused["__launch_bounds__"]
    assert not any("__launch_bounds__" in name for name in tried.candidates)


def test_waves_that_are_set_stay() -> None:
    text = ADD.replace("void k", "void __launch_bounds__(128, 2) k")
    assert bounds(text).refused["amdgpu_waves_per_eu"] == "the number of waves is set already"


def test_a_named_constant_changes_with_its_grid() -> None:
    tried = blocks(
        f"{ADD}int main() {{ const int threads = 128; k<<<(n + threads - 1) / threads, threads>>>(x, n); }}"
    )
    candidate = tried.candidates["block of 256 instead of 128"]
    assert candidate.geometry is not None
    assert (candidate.geometry.block, candidate.geometry.keeps_items) == ((256, 1, 1), True)
    assert candidate.allows == {"text"}
    assert "const int threads = 256;" in tried.text("block of 256 instead of 128")


def test_literals_change_with_those_of_the_grid() -> None:
    tried = blocks(f"{ADD}int main() {{ int blocks = (n + 127) / 128; k<<<blocks, 128>>>(x, n); }}")
    assert "blocks = (n + 63) / 64; k<<<blocks, 64>>>" in tried.text("block of 64 instead of 128")


def test_the_grid_stays_where_blocks_share_rows() -> None:
    tried = blocks(f"{ROWS}int main() {{ hipLaunchKernelGGL(k, dim3(rows), dim3(128), 0, 0, x, n); }}")
    geometry = tried.candidates["block of 256 instead of 128"].geometry
    assert geometry is not None
    assert not geometry.keeps_items


SHUFFLES = ADD.replace("x[i] += 1", "x[i] += __shfl_down(x[i], 1)")
TILE = ROWS.replace("{ for", "{ __shared__ float part[128]; part[threadIdx.x] = 0; for")
HALVES = ROWS.replace("{ for", "{ for (int s = 64; s > 0; s /= 2) x[s] += 1; for")
SUMS = (
    "__global__ void k(float* x, float* sums) { float s = x[blockIdx.x * blockDim.x + threadIdx.x];"
    " if (threadIdx.x == 0) sums[blockIdx.x] = s; }\n"
)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (ADD, "not launched in this file"),
        (f"{ADD}int main() {{ k<<<1, dim3(8, 8)>>>(x, n); }}", "more than one dimension"),
        (f"{ADD}int main() {{ k<<<n / 128, 128>>>(x, n); }}", "the grid depends on 128"),
        (f"{ADD}int main() {{ k<<<(n + 127) / 128, 128, 512>>>(x, n); }}", "dynamic shared memory"),
        (f"{ADD}int main() {{ k<<<(n + 127) / 128, 128>>>(x, 128); }}", "as an argument too"),
        (f"{ADD}int main() {{ k<<<4, 128>>>(x, n); }}", "threads would be missing"),
        (f"{ADD}constexpr int B = 128; int main() {{ f(B); k<<<(n + B - 1) / B, B>>>(x, n); }}", "B is used in line 2"),
        (f"{ADD}int main() {{ int B = 128; k<<<(n + B - 1) / B, B>>>(x, n); }}", "not one constant"),
        (f"{SHUFFLES}int main() {{ k<<<(n + 127) / 128, 128>>>(x, n); }}", "exchange values"),
        (f"{TILE}int main() {{ k<<<rows, 128>>>(x, n); }}", "128 in line 1 may be the size of the block"),
        (f"{HALVES}int main() {{ k<<<rows, 128>>>(x, n); }}", "64 in line 1 may be the size of the block"),
        (f"{SUMS}int main() {{ k<<<(n + 127) / 128, 128>>>(x, sums); }}", "a result of a whole block"),
        (f"{ADD}int main() {{ k<<<1, 128>>>(x, n); k<<<2, 64>>>(x, n); }}", "do not come from one literal or one"),
    ],
)  # fmt: skip
def test_blocks_are_refused(text: str, reason: str) -> None:
    tried = blocks(text)
    assert not tried.candidates
    assert reason in tried.refused["block size"]


def test_a_block_that_was_captured_with_another_size_is_not_understood() -> None:
    text = f"{ADD}int main() {{ k<<<(n + 127) / 128, 128>>>(x, n); }}"
    assert "other blocks" in blocks(text, 64).refused["block size"]


def test_larger_blocks_need_room_and_a_guard() -> None:
    unguarded = ADD.replace("if (i < n) ", "")
    tried = blocks(f"{unguarded}int main() {{ k<<<(n + 127) / 128, 128>>>(x, n); }}")
    assert list(tried.candidates) == ["block of 64 instead of 128"]
    tried = blocks(TILE.replace("128", "300") + "int main() { k<<<rows, 128>>>(x, n); }")
    assert list(tried.candidates) == ["block of 64 instead of 128", "block of 256 instead of 128"]
    assert tried.refused["block of 512"] == "the shared array part has fewer elements"


def test_an_array_by_threads_is_known_by_other_names_too() -> None:
    named = TILE.replace("[128]", "[200]").replace(
        "part[threadIdx.x] = 0;", "int t = threadIdx.x; part[t] = 0;"
    )
    assert "block of 256" in blocks(named + "int main() { k<<<rows, 128>>>(x, n); }").refused
    counted = ROWS.replace("{ for", "{ __shared__ unsigned part[32]; for").replace(
        "= 1;", "= atomicAdd(&part[i % 32], 1u);"
    )
    assert (
        "block of 256 instead of 128" in blocks(counted + "int main() { k<<<rows, 128>>>(x, n); }").candidates
    )


def test_waves_are_not_broken() -> None:
    text = f"{ADD}int main() {{ k<<<(n + 127) / 128, 128>>>(x, n); }}".encode()
    kernel = parse(text).kernels[0]
    known = replace(setting(captured(kernel, (128, 1, 1))), wave=128)
    assert "block of 64 instead of 128" not in Tried(block_size.TRANSFORM, text, known).candidates
