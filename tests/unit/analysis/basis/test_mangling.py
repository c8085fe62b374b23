"""Mangled names are measured before a demangler writes them out."""

from __future__ import annotations

from collections.abc import Callable

import cxxfilt
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rocm_perf.analysis.basis.mangling import unfolds_within
from rocm_perf.analysis.basis.names import LONGEST_UNFOLDED, demangle, short_name
from tests.mangled import BOMBS, doubled_arguments, doubled_parts, reference
from tests.properties import examples

ELEMENTWISE = (
    "_ZN2at6native29vectorized_elementwise_kernelILi4EZZZNS0_21clamp_min_kernel_cudaERNS_18TensorIteratorBaseE"
    "N3c106ScalarEENKUlvE_clEvENKUlvE4_clEvEUlfE_St5arrayIPcLm2EEEEviT0_T1_"
)
SMALL = 2_000
WIDEST = 40  # characters of text for one of a mangled name: `Ss`, where it is the name of a constructor


@pytest.mark.parametrize("name", BOMBS.values(), ids=BOMBS)
def test_a_name_that_would_fill_the_memory_stays_mangled(name: str) -> None:
    assert demangle(name) == name
    assert short_name(name)


@pytest.mark.parametrize("shape", [doubled_parts, doubled_arguments])
def test_what_is_short_enough_is_demangled(shape: Callable[[int], str]) -> None:
    assert demangle(shape(3)) == cxxfilt.demangle(shape(3)) != shape(3)


@pytest.mark.parametrize(
    ("name", "short"),
    [
        (ELEMENTWISE, "vectorized_elementwise_kernel<clamp_min_kernel_cuda>"),
        ("_Z1fIJifdEEvDpT_", "f"),
        ("_Z1hIiENSt9enable_ifIXsr3stdE9is_same_vIT_iEEvE4typeES1_", "h"),
        ("_ZN3foo3barIiEENSt9enable_ifIXsrSt7is_sameIT_iE5valueEvE4typeES3_", "bar"),
        ("_Z4gemmIfEvPKT_S2_PS0_i.kd", "gemm"),
    ],
)
def test_real_names_are_within_the_limit(name: str, short: str) -> None:
    assert unfolds_within(name, LONGEST_UNFOLDED // 100)
    assert short_name(name) == short


def test_the_length_with_every_reference_written_out() -> None:
    name = doubled_parts(12)
    text = len(cxxfilt.demangle(name))
    assert not unfolds_within(name, text // WIDEST)
    assert unfolds_within(name, text)


def test_lengths_within_a_name_count_bytes() -> None:
    """Else references would hide in an identifier that is shorter than it seems."""
    hidden = "_Z1f4éé" + doubled_parts(30)[4:]
    assert demangle(hidden) == hidden


def test_a_name_that_the_demangler_does_not_return_from_stays_mangled() -> None:
    assert demangle("_Z1AIXsr1AD") == "_Z1AIXsr1AD"
    assert demangle("_Z1fIS_Xsri1xEjES_DpS_IJeyEEPT0_OS_").startswith("_Z")


def test_a_name_that_is_nested_too_deeply_stays_mangled() -> None:
    deep = "_Z1f" + "P" * 100_000 + "T_" * 40
    assert demangle(deep) == deep


references = st.integers(0, 9).map(reference)
simple = st.sampled_from(["i", "y", "T_", "T0_"]) | references


def _of_several(types: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    several = st.lists(types, min_size=1, max_size=3).map("".join)
    return st.one_of(
        st.builds("{}I{}E".format, st.sampled_from(["St4pair", "1A", "N1n1BE", "S_", "S0_"]), several),
        st.builds("J{}E".format, several).map("1CI{}E".format),
        st.builds("{}{}".format, st.sampled_from(["P", "PK", "Dp", "A3_"]), types),
        st.builds("F{}E".format, several),
        st.builds("Z1fI{}Ev{}E1l".format, several, several),
        st.builds("N{}1nI{}EUl{}E_E".format, references, several, types),
    )


types = st.recursive(simple, _of_several, max_leaves=40)
names = st.builds("_Z1fI{}Ev{}".format, types, st.lists(types, min_size=1, max_size=8).map("".join))


@examples(times=5)
@given(names)
@example(doubled_parts(9))
@example(doubled_arguments(9))
def test_what_passes_is_bounded(name: str) -> None:
    if not unfolds_within(name, SMALL):
        return
    try:
        text = cxxfilt.demangle(name)
    except cxxfilt.InvalidName:
        return
    assert len(text) <= WIDEST * SMALL
