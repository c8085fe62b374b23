"""The text that every native part writes: names, JSON strings, numbers."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from rocm_perf.analysis.basis.mangling import unfolds_within
from rocm_perf.backends.native_build import NATIVE
from tests.mangled import BOMBS, doubled_arguments, doubled_parts
from tests.native.cupti import compiler

pytestmark = pytest.mark.native

SOURCE = Path(__file__).parents[2] / "native/text/program.cpp"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("text") / "program"
    parts = ("text", "mangling", "mangled_text")
    sources = (SOURCE, *(NATIVE / f"common/{part}.cpp" for part in parts))
    flags = ("-std=c++17", "-Wall", "-Wextra", "-Werror", "-I", NATIVE)
    subprocess.run([compiler(), *flags, *sources, "-o", target], check=True, timeout=1800)
    return target


def said(program: Path, function: str, argument: str | bytes) -> str:
    done = subprocess.run([program, function, argument], capture_output=True, check=True, timeout=180)
    return done.stdout.decode()


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("_Z7softmaxPfi", "softmax(float*, int)"),
        ("_ZN2at6native4fillIfEEvPT_", "void at::native::fill<float>(float*)"),
        ("f", "f"),  # the mangled name of the type float, too
        ("i", "i"),
        ("Kc", "Kc"),
        ("triton_poi_fused_0", "triton_poi_fused_0"),
        ("_Z", "_Z"),
        ("_Znonsense", "_Znonsense"),
        ("", ""),
    ],
)
def test_only_functions_are_demangled(program: Path, symbol: str, name: str) -> None:
    assert said(program, "demangled", symbol) == name


@pytest.mark.parametrize("symbol", BOMBS.values(), ids=BOMBS)
def test_a_name_that_would_fill_the_memory_stays_mangled(program: Path, symbol: str) -> None:
    assert said(program, "demangled", symbol) == symbol


@pytest.mark.parametrize(
    "symbol",
    [
        doubled_parts(6),
        doubled_arguments(6),
        "_ZN3foo3barIiEENSt9enable_ifIXsrSt7is_sameIT_iE5valueEvE4typeES3_",
        "_ZN1aIXadL_ZN1b1cIJifEEEvDpT_EEE1dEZZ1fvENKUlvE_clEvEUlfE0_PS_RKS1_DF16_Dv4_f",
        "_Z1AIXsr1AD",
        "_Z1fDpDpT_S5_",
        "_Z",
    ],
)
def test_names_are_measured_as_in_python(program: Path, symbol: str) -> None:
    limits = (10, 30, 100, 300, 1_000, 3_000, 10_000)
    native = [said(program, "unfolds_within", f"{limit} {symbol}") == "yes" for limit in limits]
    assert native == [unfolds_within(symbol, limit) for limit in limits]


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"plain", "plain"),
        (b'a "b" \\ c', 'a "b" \\ c'),
        (b"\x01\n\t\x1f\x7f", "\x01\n\t\x1f\x7f"),
        ("Größe 測試 🙂".encode(), "Größe 測試 🙂"),
        (b"a\xffb", "a�b"),
        (b"\xc0\xaf", "��"),  # overlong
        (b"\xed\xa0\x80", "���"),  # a surrogate
        (b"\xf4\x90\x80\x80", "����"),  # beyond the last character
        (b"cut \xe2\x82", "cut ��"),
    ],
)
def test_a_string_is_json_whatever_its_bytes(program: Path, raw: bytes, text: str) -> None:
    assert json.loads(said(program, "quoted", raw)) == text


def test_numbers(program: Path) -> None:
    assert said(program, "hex", str(2**64 - 1)) == "f" * 16
    assert said(program, "hex", "0") == "0"
    assert said(program, "quoted_hex", str(0x7F00)) == '"0x7f00"'
    assert said(program, "microseconds", "12345") == "12.345"
    assert said(program, "microseconds", "-7") == "-0.007"
    assert said(program, "microseconds", str(-(2**63))) == "-9223372036854775.808"
