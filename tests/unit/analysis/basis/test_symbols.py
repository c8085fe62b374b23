"""Symbols of GPU code and kernels of recordings, as tools spell them."""

from __future__ import annotations

import pytest

from rocm_perf.analysis.basis.symbols import bare_name, matcher, symbols_of, words_of

SPILLED = "_Z7spilledILi128EfEvPT0_"  # void spilled<128, float>(float*)
INNER = "_ZN12_GLOBAL__N_15innerEPf"  # (anonymous namespace)::inner(float*)


@pytest.mark.parametrize(
    ("name", "bare"),
    [
        ("void ns::k<3, float>(float*, int)", "ns::k<3,float>"),
        ("void ns::k<(int)3, (bool)1>(float*)", "ns::k<3,true>"),
        ("k<3ul, float>(T2 *, int)", "k<3,float>"),
        ("saxpy.kd", "saxpy"),
        ("saxpy(float, float*) [clone .kd]", "saxpy"),
        ("void <unnamed>::f(int)", "(anonymousnamespace)::f"),
        ("std::enable_if<(3 > 2), void>::type f<int>(int)", "f<int>"),
        (SPILLED, "spilled<128,float>"),
        ("triton_poi_fused_add_0", "triton_poi_fused_add_0"),
        ("", ""),
        (")", ")"),
    ],
)
def test_bare_names(name: str, bare: str) -> None:
    assert bare_name(name) == bare


@pytest.mark.parametrize(
    "spelling",
    [
        SPILLED,
        SPILLED + ".kd",
        "void spilled<128, float>(float*)",
        "void spilled<128, float>(float*) [clone .kd]",
        "spilled<128, float>(T2 *)",
        "void spilled<(int)128, float>(float *)",
    ],
)
def test_spellings_of_one_kernel(spelling: str) -> None:
    symbols = [SPILLED, "_Z7spilledILi64EfEvPT0_", INNER]
    assert symbols_of([spelling], symbols) == {spelling: SPILLED}
    assert [matcher([spelling])(symbol) for symbol in symbols][::2] == [True, False]


def test_a_name_without_parameters_fits_one_symbol_or_none() -> None:
    overloads = ["_Z1kPf", "_Z1kPd"]
    assert symbols_of(["k(T1 *)"], overloads) == {}
    assert symbols_of(["k(float*)"], overloads) == {"k(float*)": "_Z1kPf"}
    assert symbols_of(["k(T1 *)"], overloads[:1]) == {"k(T1 *)": "_Z1kPf"}


def test_the_words_of_kernels() -> None:
    assert words_of(["void spilled<128, float>(float*)", INNER, "saxpy.kd"]) == ("inner", "saxpy", "spilled")
    assert words_of(["saxpy", "void f::operator()(int)"]) == ()  # any file may have it
