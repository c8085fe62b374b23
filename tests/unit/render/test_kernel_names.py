"""Rows of a table of kernels that cannot be taken for one another."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.model.results.times import Hotspot
from rocm_perf.render.grid import squeezed_apart
from rocm_perf.render.kernel_names import told_apart

FUNCTOR = "Kokkos::Impl::ParallelFor<{}, Kokkos::RangePolicy<Kokkos::HIP>, Kokkos::HIP>"
LAUNCH = f"void hip_parallel_launch_local_memory<{FUNCTOR}, 1024u, 1u>({FUNCTOR})"


def spots(short: str, *kernels: str) -> list[Hotspot]:
    return [
        Hotspot(
            kernel=kernel,
            short_name=short,
            calls=1,
            total_ns=1,
            mean_ns=1.0,
            median_ns=None,
            min_ns=None,
            max_ns=None,
            share=0.1,
        )
        for kernel in kernels
    ]


@pytest.mark.parametrize(
    ("short", "kernels", "names"),
    [
        ("one", ["void one<1>()"], ["one"]),
        (
            "mul_mat_q",
            [f"void mul_mat_q<(ggml_type){kind}, 128, false>(void const*, int)" for kind in (12, 14)],
            ["mul_mat_q<12>", "mul_mat_q<14>"],
        ),
        (
            "rope_norm",
            [f"void rope_norm<true, float, {kind}>(float const*, {kind}*)" for kind in ("__half", "float")],
            ["rope_norm<__half>", "rope_norm<float>"],
        ),
        (
            "hip_parallel_launch_local_memory",
            [
                LAUNCH.format(*[name] * 2)
                for name in ("lj::PairForce<double>", "neigh::Build", "fix::Integrate")
            ],
            [f"hip_parallel_launch_local_memory<{name}>" for name in ("PairForce", "Build", "Integrate")],
        ),
        (
            "vectorized_elementwise_kernel<MulFunctor>",
            [
                f"void at::native::vectorized_elementwise_kernel<{width}, at::native::AUnary<{kind}, {kind}, "
                f"at::native::MulFunctor<{kind}>>, std::array<char*, 2ul>>(int)"
                for width, kind in ((8, "c10::BFloat16"), (4, "float"))
            ],
            [f"vectorized_elementwise_kernel<MulFunctor, {kind}>" for kind in ("BFloat16", "float")],
        ),
        ("kernel", ["void a::kernel(int)", "void b::kernel(int)"], ["kernel<a>", "kernel<b>"]),
        ("kernel", ["kernel(int*)", "kernel(double*)"], ["kernel<int*>", "kernel<double*>"]),
        (
            "Cijk MT16x16",
            ["Cijk_MT16x16_SN_NTA0_WG16", "Cijk_MT16x16_SN_NTA4_WG16"],
            ["Cijk MT16x16<NTA0>", "Cijk MT16x16<NTA4>"],
        ),
        (
            "norm",
            ["_ZN5aiter4normIDF16bLi256ELb1EEEvPT_", "_ZN5aiter4normIDF16bLi64ELb1EEEvPT_"],
            ["norm<256>", "norm<64>"],
        ),
        (
            "copy",
            ["void copy<f(int)::{lambda()#1}>(a)", "void copy<f(float)::{lambda()#1}>(a)"],
            ["copy (1)", "copy (2)"],
        ),
    ],
)
def test_what_differs_stands_behind_the_name(short: str, kernels: list[str], names: list[str]) -> None:
    told = told_apart(spots(short, *kernels))
    assert [told[kernel] for kernel in kernels] == names


@given(st.lists(st.text("kernel<>(),:*_Z123{}#-", max_size=40), max_size=6, unique=True))
def test_different_kernels_always_have_different_names(kernels: list[str]) -> None:
    told = told_apart(spots("k", *kernels))
    assert len(set(told.values())) == len(kernels)


def test_names_are_cut_where_they_do_not_differ() -> None:
    names = [
        "nvjet_sm90_hsh_64x24_64x16_2x4_h_bz_bias_TNT",
        "nvjet_sm90_hsh_64x32_64x16_2x4_h_bz_bias_TNT",
        "add",
    ]
    cut = squeezed_apart(names, 20)
    assert cut == ["nvjet_…64x24_64x16_…", "nvjet_…64x32_64x16_…", "add"]
    assert squeezed_apart(["a" * 30, "a" * 30], 10) == ["aaaa…aaaaa", "aaaa…aaaaa"]


@given(st.lists(st.text("ab_", min_size=1, max_size=60), max_size=5), st.integers(8, 40))
def test_cut_names_fit(names: list[str], room: int) -> None:
    assert all(len(name) <= room for name in squeezed_apart(names, room))
