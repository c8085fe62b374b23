"""Names of kernels that different tools spell differently."""

from __future__ import annotations

import lzma
from pathlib import Path

import cxxfilt
import pytest

from rocm_perf.ingest.kernel_names import kernel_key, same_kernels

# What `ncu --print-kernel-base` mangled and demangled wrote for 101 kernels of torch 2.11 and of a program that has
# every kind of template argument (Nsight Compute 2025.3.1, H200).
NAMES = Path(__file__).parents[2] / "data" / "h200" / "names" / "ncu_names.tsv.xz"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("void tmpl<3, float>(T2 *, int)", "void outer::tmpl<3, float>(float*, int)"),
        ("void k<(int)4, (bool)1>(float *)", "void k<4, true>(float*)"),
        ("void k<1, (short)-3>(int)", "void k<(outer::Kind)1, (short)-3>(int)"),
        ("void k<A<B>>(int)", "void k<A<B> >(int)"),
        ("<unnamed>::f(int)", "(anonymous namespace)::f(int)"),
        ("k(int)", "k(int) [clone .kd]"),
        (
            "void k<bool n::f<int>(T1)::[lambda(int) (instance 2)]>(T1)",
            "void k<a::n::f<int>(int)::{lambda(int)#2}>(x)",
        ),
        ("k<A::operator ()(int)>(int)", "k<A::operator()(int)>(int)"),
    ],
)
def test_one_kernel_has_one_key(one: str, other: str) -> None:
    assert kernel_key(one) == kernel_key(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("void k<3>(int)", "void k<4>(int)"),
        ("void k<float*>(int)", "void k<float const*>(int)"),
        ("void k<f(int)::{lambda()#1}>(int)", "void k<g(int)::{lambda()#1}>(int)"),
        ("void k<unsigned int>(int)", "void k<int>(int)"),
        ("loop_fusion_1", "loop_fusion_2"),
        ("loop fusion 1", "fusion 1"),
    ],
)
def test_two_kernels_have_two(one: str, other: str) -> None:
    assert kernel_key(one) != kernel_key(other)


def test_overloads_are_told_apart_by_their_parameters() -> None:
    named = {"f(float *)", "f(int *)"}
    assert same_kernels(named, {"n::f(float*)", "n::f(int*)"}) == {
        "f(float *)": "n::f(float*)",
        "f(int *)": "n::f(int*)",
    }


def test_what_could_be_either_is_neither() -> None:
    assert same_kernels({"f(int *)"}, {"a::f(int*)", "b::f(int*)"}) == {}
    assert same_kernels({"f(int)", "g"}, {"f(int)", "a::f(int)", "n::g<3>(int)"}) == {"g": "n::g<3>(int)"}


def test_nsight_compute_and_a_demangler() -> None:
    rows = [line.split("\t") for line in lzma.decompress(NAMES.read_bytes()).decode().splitlines()]
    demangled = {
        ncu: cxxfilt.demangle(mangled) if mangled.startswith("_Z") else mangled for mangled, ncu in rows
    }
    differently = {ncu: name for ncu, name in demangled.items() if ncu != name}
    assert (len(rows), len(differently)) == (101, 95)
    assert same_kernels(demangled.keys(), demangled.values()) == differently
