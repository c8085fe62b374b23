"""`--show kernel NAME`: a word behind the list is the name of a kernel where it cannot be the recording."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocm_perf.cli.analyze import _with_kernel_named
from rocm_perf.cli.main import main

RECORDING = Path(__file__).parents[2] / "data" / "h200" / "pairs" / "gelu_fused.pt.trace.json.gz"


@pytest.mark.parametrize(
    ("words", "rewritten"),
    [
        ("run --show kernel bank", "run --show kernel:bank"),
        ("run --show gaps,kernel bank --top 3", "run --show gaps,kernel:bank --top 3"),
        ("run --show=kernel bank", "run --show=kernel:bank"),
        ("--show kernel bank run", "--show kernel:bank run"),
        ("run --show kernel taken", "run --show kernel:taken"),  # a folder has the name of a kernel
        ("--show kernel taken run", "--show kernel:taken run"),
        ("--show kernel run", "--show kernel run"),
        ("run --show kernel --json", "run --show kernel --json"),
        ("run --show kernel", "run --show kernel"),
        ("run --show kernel:bank", "run --show kernel:bank"),
        ("--show kernels run", "--show kernels run"),
    ],
)
def test_the_word_behind_kernel(
    words: str, rewritten: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").touch()
    (tmp_path / "taken").mkdir()
    assert _with_kernel_named(words.split()) == rewritten.split()


def test_a_kernel_by_a_part_of_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", str(RECORDING), "--show", "kernel", "NVJET"]) == 0
    printed = capsys.readouterr().out
    assert "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT\n11.4 % of the kernel time" in printed


def test_a_name_that_no_kernel_has(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", str(RECORDING), "--show", "kernel", "nvjte"]) == 2
    said = capsys.readouterr().err
    assert "no kernel has a name that contains 'nvjte'" in said
    assert "--show kernels lists them all" in said


def test_numbers_are_explained_in_sections(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", str(RECORDING), "--explain"]) == 2
    assert "--explain is about the tables of sections" in capsys.readouterr().err
