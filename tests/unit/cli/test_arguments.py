"""Numbers and paths of the command line and the environment: whatever is written there, the answer is one line."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from rocm_perf.cli.main import main
from rocm_perf.environment import whole_number
from rocm_perf.errors import UsageError
from rocm_perf.ingest.io import source

NUMBERS = ("-1", "99999999999999999999999", "1e3", "0x10", "", "²")
OPTIONS = (
    ("query", "x", "SELECT 1", "--limit"),
    ("export", "x", "-o", "y", "--pid"),
    ("analyze", "x", "--top"),
    ("compare", "x", "y", "--top"),
    ("repro", "x", "--iterations"),
    ("kernels", "x", "--workgroup"),
    ("kernels", "x", "--lds"),
    ("replay", "full-vm", "x", "--iterations"),
    ("capture", "--kernel", "k", "-o", "x", "--dispatch"),
)


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("words", OPTIONS, ids=lambda words: f"{words[0]} {words[-1]}")
def test_a_number_that_makes_no_sense(
    words: tuple[str, ...], number: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main([*words, number])
    assert words[-1] in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize(
    "words",
    [
        ("analyze", ""),
        ("report", ""),
        ("query", "", "SELECT 1"),
        ("export", "", "-o", "x"),
        ("export", "x", "-o", ""),
        ("compare", "x", ""),
        ("whatif", "", "--graphs"),
        ("repro", ""),
        ("kernels", ""),
        ("replay", "info", ""),
        ("capture", "--kernel", "k", "-o", "", "--", "true"),
    ],
)
def test_an_empty_path_is_not_the_working_directory(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(words)
    assert "the path is empty" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["abc", "-1", "0", "1.5", "9" * 40, "²"])
def test_a_variable_that_is_no_number_is_named(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROCM_PERF_MAX_BYTES", text)
    with pytest.raises(UsageError, match="ROCM_PERF_MAX_BYTES="):
        importlib.reload(source)


def test_a_variable_that_is_a_number(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NUMBER", " 42 ")
    assert whole_number("NUMBER", 7) == 42
    monkeypatch.setenv("NUMBER", "")
    assert whole_number("NUMBER", 7) == 7
