"""Launches, and where their blocks come from."""

from __future__ import annotations

import pytest

from rocm_perf.optimize.source.launches import Launch, launches_of, other_mentions
from rocm_perf.optimize.source.parse import parse
from rocm_perf.optimize.source.tree import text_of

KERNEL = """
namespace a { template <typename T> __global__ void k(T* x, int n) {} }
constexpr int THREADS = 64;
#define WIDE 512
"""


def launches(host: str) -> tuple[Launch, ...]:
    source = parse(f"{KERNEL}void host(int b) {{ {host} }}\n".encode())
    return launches_of(source, source.kernels[0])


@pytest.mark.parametrize(
    ("host", "block"),
    [
        ("a::k<float><<<4, 128>>>(x, n);", (128,)),
        ("a::k<float><<<dim3(4, 2), dim3(THREADS, 2 * 2), 0, stream>>>(x, n);", (64, 4)),
        ("dim3 block(THREADS), grid((b + 1) / 2); a::k<float><<<grid, block>>>(x, n);", (64,)),
        ("dim3 block = dim3(16, 8); a::k<float><<<1, block>>>(x, n);", (16, 8)),
        ("a::k<float><<<1, dim3{32, 4}>>>(x, n);", (32, 4)),
        ("hipLaunchKernelGGL((a::k<float>), dim3(4), dim3(WIDE), 0, 0, x, n);", (512,)),
        ("hipLaunchKernelGGL(HIP_KERNEL_NAME(a::k<float>), 4, THREADS, 0, 0, x, n);", (64,)),
        ("a::k<float><<<1, b>>>(x, n);", (None,)),
        ("{ const int b = 7; } a::k<float><<<1, b>>>(x, n);", (None,)),
    ],
)
def test_forms_of_launches(host: str, block: tuple[int | None, ...]) -> None:
    (launch,) = launches(host)
    assert launch.block_size == block
    assert [text_of(each) for each in launch.arguments] == ["x", "n"]
    assert launch.template_arguments == "<float>"


def test_shared_memory_stream_and_names() -> None:
    (launch,) = launches("a::k<float><<<b / 2, THREADS, 4 * b, stream>>>(x, n);")
    assert (text_of(launch.shared), text_of(launch.stream)) == ("4 * b", "stream")
    assert launch.names == {"b", "THREADS"}


def test_a_launch_of_another_kernel_is_not_ours() -> None:
    assert launches("other<<<1, 64>>>(x);") == ()


def test_other_uses_of_the_name_are_seen() -> None:
    source = parse(
        b"__global__ void k(int n);\n__global__ void k(int n) {}\n"
        b"void host() {\n  k<<<1, 64>>>(3);\n  cudaFuncSetAttribute(k, 1, 2);\n}\n"
    )
    assert other_mentions(source, source.kernels[0]) == (5,)
