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
    ],
)
def test_names_are_spelled_as_a_demangler_does(written: str, demangled: str) -> None:
    assert demangled_spelling(written) == demangled
