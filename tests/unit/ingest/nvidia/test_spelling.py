from __future__ import annotations

import pytest

from rocm_perf.ingest.nvidia.spelling import demangled_spelling


@pytest.mark.parametrize(
    ("written", "demangled"),
    [
        (
            "vector_add(const float *, const float *, float *, int)",
            "vector_add(float const*, float const*, float*, int)",
        ),
        ("histogram(const unsigned int *, unsigned int *)", "histogram(unsigned int const*, unsigned int*)"),
        (
            "void k<(int)4, const T<int> &, (bool)1>(T<const float *>)",
            "void k<4, T<int> const&, true>(T<float const*>)",
        ),
        ("k(const float *const, const at::Foo<(unsigned int)2>)", "k(float const* const, at::Foo<2u> const)"),
        ("sm90_xmma_gemm_f16", "sm90_xmma_gemm_f16"),
        ("constant_fill(int)", "constant_fill(int)"),
        ("k<a < b>(const", "k<a < b>(const"),
        ("<unnamed>::f(const volatile int *)", "(anonymous namespace)::f(int const volatile*)"),
        (
            "void k<N::A>(lambda) [[x]::[lambda(int) (instance 2)]::operator ()() const",
            "void k<N::A>(lambda) [[x]::{lambda(int)#2}::operator()() const",
        ),
        ("void tmpl<3, float>(T2 *, const T2 &, int)", "void tmpl<3, float>(float*, float const&, int)"),
        ("void p<float, int>(int, T1 *...)", "void p<float, int>(int, float*, int*)"),
        ("void d<H<float>>(T1::Params, const T1 *)", "void d<H<float>>(H<float>::Params, H<float> const*)"),
        (
            "void e<void g<int>(const T1 &)::[lambda(T1) (instance 1)]>(int, T1)",
            "void e<void g<int>(int const&)::{lambda(T1)#1}>(int, void g<int>(int const&)::{lambda(T1)#1})",
        ),
        ("void short_of<int>(T1, T3)", "void short_of<int>(T1, T3)"),
        ("T1", "T1"),
    ],
)
def test_names_are_spelled_as_a_demangler_does(written: str, demangled: str) -> None:
    assert demangled_spelling(written) == demangled


@pytest.mark.parametrize(
    "name", ["k<" * 3000, "k" + "<T1>(T1)" * 1500, "k<" + "a, " * 400 + "a>(" + "T1, " * 3000]
)
def test_names_that_would_grow_without_end_stay(name: str) -> None:
    assert len(demangled_spelling(name)) <= 9 * max(len(name), 128)
