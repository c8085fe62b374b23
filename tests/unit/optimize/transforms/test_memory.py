"""Vector loads and padded arrays: made where they are right, refused where they might not be."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rocm_perf.optimize.source.parse import parse
from rocm_perf.optimize.transforms import lds_padding, vector_loads
from rocm_perf.optimize.transforms.setting import CapturedLaunch, Pointer
from tests.unit.optimize.transforms.trying import Tried, setting

HEAD = "for (int i = threadIdx.x; i < n; i += blockDim.x)"

GRID = "for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)"


def vectors(body: str, parameters: str = "const float* x, float* y, int n", capture: bool = True) -> Tried:
    text = (
        f"__global__ void k({parameters}) {{ float sum = 0; __shared__ float part[64];\n{body}\n}}\n".encode()
    )
    return Tried(vector_loads.TRANSFORM, text, None if capture else setting())


def test_a_shared_loop_reads_and_writes_four_elements() -> None:
    tried = vectors(f"{HEAD} y[i] = 2 * x[i];")
    text = tried.text("four elements at once: loop in line 2")
    assert "const float4 x_vector0 = reinterpret_cast<const float4*>(x)[i_vector];" in text
    assert "y_vector1.w = 2 * x_vector0.w;" in text
    assert "& 15ull) == 0 ? n / 4 : 0;" in text
    assert "for (int i = 4 * i_vectors + threadIdx.x; i < n; i += blockDim.x) {" in text


def test_a_barrier_hands_elements_from_thread_to_thread() -> None:
    loops = f"{HEAD} y[i] = 2 * x[i];\n{{}}\n{HEAD} y[i] += 1;"
    tried = vectors(loops.format("__syncthreads();"))
    assert list(tried.candidates) == [
        "four elements at once: loops in lines 2, 4",
        "four elements at once: loop in line 2",
        "four elements at once: loop in line 4",
    ]
    for between in (
        "if (n > 4) __syncthreads();",
        "__syncwarp();",
        "for (int k = 0; k < n; ++k) __syncthreads();",
    ):
        assert not vectors(loops.format(between)).candidates
    assert not vectors(f"for (int k = 0; k < 2; ++k) {{ {loops.format('__syncthreads();')} }}").candidates


def test_reads_alone_need_no_captured_dispatch() -> None:
    assert vectors(f"{HEAD} sum += x[i];", capture=False).candidates


def test_offsets_are_part_of_the_address() -> None:
    tried = vectors("for (int k = 0; k < n; ++k) sum += x[threadIdx.x * n + k];")
    text = tried.text("four elements at once: loop in line 2")
    assert "reinterpret_cast<const float4*>(x + (threadIdx.x * n))[k_vector]" in text


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (f"{HEAD} y[i] = 2 * x[i];\n{HEAD} sum += y[i];", "y is also used in line 3"),
        (f"{HEAD} {{ if (i < 7) sum += x[i]; }}", "only under a condition"),
        (f"{HEAD} sum = x[i];", "what it leaves in sum depends"),
        (f"{HEAD} sum += sum * x[i];", "what it leaves in sum depends"),
        (f"{HEAD} part[i] = x[i];", "it uses shared memory"),
        ("for (int i = threadIdx.x; i < n; i += 64) sum += x[i];", "share it"),
        ("for (int i = 1; i < n; ++i) sum += x[i];", "share it"),
        ("for (int i = 0; i < n; ++i) y[i] = y[i + 1];", "y at several places"),
        (f"{HEAD} {{ sum += x[i]; __syncthreads(); }}", "other threads take part"),
        (f"{HEAD} {{ sum += x[i]; ++x; }}", "x changes within it"),
        (f"{GRID} sum += x[i];", "what it leaves in sum depends"),
    ],
)  # fmt: skip
def test_vector_loads_are_refused(body: str, reason: str) -> None:
    tried = vectors(body)
    assert any(reason in each for each in tried.refused.values()), (tried.refused, list(tried.candidates))
    assert "four elements at once: loop in line 2" not in tried.candidates


@pytest.mark.parametrize(
    ("then", "is_safe"),
    [
        ("part[threadIdx.x] = sum;", True),
        ("sum += __shfl_down(sum, 1); sum = part[0]; y[0] = sum;", True),
        ("sum = part[0]; y[threadIdx.x] = sum;", True),
        ("y[threadIdx.x] = sum;", False),
        ("const float mean = sum / n; part[0] = mean;", False),
        ("if (sum > 3) y[0] = 1;", False),
        ("x += 1; part[threadIdx.x] = sum; y[threadIdx.x] = sum;", False),
    ],
)
def test_what_a_thread_has_summed_up_goes_to_the_block_first(then: str, is_safe: bool) -> None:
    tried = vectors(f"{HEAD} sum += x[i];\n{then}")
    assert bool(tried.candidates) is is_safe
    assert is_safe or "before the threads of the block have joined" in next(iter(tried.refused.values()))


def test_what_may_overlap_is_refused() -> None:
    tried = vectors(f"{HEAD} y[i] = 2 * x[i];", capture=False)
    assert "may overlap" in tried.refused["four elements at once: loop in line 2"]
    assert vectors(
        f"{HEAD} y[i] = 2 * x[i];", "const float* x, float* __restrict__ y, int n", capture=False
    ).candidates


def test_a_captured_address_that_is_not_aligned_is_refused() -> None:
    text = f"__global__ void k(const float* x, float* y, int n) {{ float s = 0; {HEAD} s += x[i]; }}".encode()
    launch = CapturedLaunch(block=(64, 1, 1), pointers={"x": Pointer(4100, 4096), "y": Pointer(8192, 8192)})
    assert (
        "not aligned"
        in Tried(vector_loads.TRANSFORM, text, setting(launch)).refused[
            "four elements at once: loop in line 1"
        ]
    )


@pytest.mark.parametrize(
    "parameters", ["const double* x, float* y, int n", "const volatile float* x, float* y, int n"]
)
def test_other_types_have_no_vectors(parameters: str) -> None:
    assert not vectors(f"{HEAD} sum += x[i];", parameters).candidates


@pytest.mark.parametrize(
    ("pointer", "is_float"),
    [
        ("const float* p = x + n;", True),
        ("const float *p = x, *q = x;", True),
        ("const int* p = reinterpret_cast<const int*>(x);", False),
        ("const float4* p = reinterpret_cast<const float4*>(x);", False),
        ("auto p = reinterpret_cast<const int*>(x);", False),
        ("const float** p = &x;", False),
    ],
)
def test_a_pointer_to_another_type_has_other_elements(pointer: str, is_float: bool) -> None:
    assert bool(vectors(f"{pointer} {HEAD} sum += p[i];").candidates) is is_float


def test_nor_does_a_cast_in_the_loop_have_them() -> None:
    assert not vectors(f"{HEAD} sum += reinterpret_cast<const int*>(x)[i];").candidates


def test_a_loop_over_vectors_is_left_alone() -> None:
    once = vectors(f"{HEAD} sum += x[i];")
    again = Tried(vector_loads.TRANSFORM, once.only.applied_to(once.source.text))
    assert not again.candidates


def padded(
    body: str, declaration: str = "__shared__ float tile[N][N];", conflicts: float | None = None
) -> Tried:
    text = f"constexpr int N = 32;\n__global__ void k(float* x) {{ {declaration} {body} }}\n".encode()
    return Tried(lds_padding.TRANSFORM, text, replace(setting(), bank_conflicts=conflicts))


def test_a_column_read_side_by_side_is_padded() -> None:
    tried = padded("tile[threadIdx.y][threadIdx.x] = x[0]; x[1] = tile[threadIdx.x][threadIdx.y];")
    assert "float tile[N][N + 1];" in tried.text("padding of tile")
    tried = padded("int r = threadIdx.x; x[1] = tile[r][3];", "__shared__ float tile[N][2 * 8];")
    assert "tile[N][(2 * 8) + 1];" in tried.text("padding of tile")


def test_counters_are_evidence_too() -> None:
    rows = "x[0] = tile[3][threadIdx.x];"
    assert "no counter shows" in padded(rows).refused["padding of tile"]
    assert padded(rows, conflicts=0.3).candidates


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("x[0] = tile[threadIdx.x][0]; float* p = &tile[0][0]; p[3] = 1;", "as a whole"),
        ("x[0] = tile[threadIdx.x][0]; use(tile);", "as a whole"),
        ("x[0] = tile[threadIdx.x][0] + sizeof(tile);", "as a whole"),
        ("x[0] = tile[threadIdx.x][0]; float* p = tile[1];", "as a whole"),
    ],
)
def test_arrays_whose_rows_are_counted_on_stay(body: str, reason: str) -> None:
    assert reason in padded(body).refused["padding of tile"]


def test_padding_must_fit_into_shared_memory() -> None:
    tried = padded("x[0] = tile[threadIdx.x][0];", "__shared__ float tile[384][32];")
    assert "more than a block may have" in tried.refused["padding of tile"]


def test_dynamic_shared_memory_is_left_alone() -> None:
    text = b"__global__ void k(float* x) { extern __shared__ float tile[][32]; x[0] = tile[threadIdx.x][0]; }"
    tried = Tried(lds_padding.TRANSFORM, text, setting())
    assert not tried.candidates
    assert not parse(text).unreadable
