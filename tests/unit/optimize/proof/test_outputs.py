"""What the program itself leaves: output, files, exit code."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rocm_perf.optimize.proof import private_folder
from rocm_perf.optimize.proof.outputs import OutputReference, prove_outputs, reference_outputs
from rocm_perf.optimize.proof.program import Program, ProgramError

RIGHT = "cat input.txt; echo 7 > result.txt; date +%N"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "input.txt").write_text("given\n")
    (tmp_path / "result.txt").write_text("from last week\n")
    return tmp_path


def program(folder: Path, script: str) -> Program:
    return Program(("sh", "-c", script), folder=folder, environment=dict(os.environ), timeout_s=10)


@pytest.fixture
def reference(folder: Path) -> OutputReference:
    return reference_outputs(program(folder, RIGHT))


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("cat input.txt; echo 8 > result.txt; date +%N", "result.txt: line 1: '8' instead of '7'"),
        ("cat input.txt; date +%N", "result.txt was not written"),
        ("echo other; echo 7 > result.txt; date +%N", "its output: line 1: 'other' instead of 'given'"),
        (f"{RIGHT}; exit 4", "it ended with exit code 4"),
    ],
)
def test_a_program_that_leaves_something_else(
    folder: Path, reference: OutputReference, script: str, words: str
) -> None:
    passage = prove_outputs(reference, program(folder, script))
    assert not passage.passed
    assert words in passage.words


def test_the_same_program_passes_and_the_folder_stays(folder: Path, reference: OutputReference) -> None:
    passage = prove_outputs(reference, program(folder, RIGHT))
    assert passage.passed
    assert "the same output and 1 file" in passage.words
    assert "1 number not compared" in passage.words
    assert (folder / "result.txt").read_text() == "from last week\n"


def test_a_named_file_elsewhere_is_set_aside(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """What the last run left there is not the result of this one."""
    named = tmp_path_factory.mktemp("elsewhere") / "out.txt"
    named.write_text("mine\n")
    reference = reference_outputs(program(folder, f"echo 5 > {named}"), (named,))
    assert prove_outputs(reference, program(folder, f"echo 5 > {named}")).passed
    assert "was not written" in prove_outputs(reference, program(folder, "true")).words
    assert named.read_text() == "mine\n"
    with pytest.raises(ProgramError, match="does not write"):
        reference_outputs(program(folder, "true"), (named,))


def test_a_folder_that_cannot_be_copied(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(private_folder, "_MOST_BYTES", 3)
    reference = reference_outputs(program(folder, "cat input.txt"))
    passage = prove_outputs(reference, program(folder, "cat input.txt"))
    assert passage.passed
    assert "too large or cannot be copied" in passage.words
    assert not prove_outputs(reference, program(folder, "echo other")).passed


def test_an_original_that_fails_is_said_before_any_change(folder: Path) -> None:
    with pytest.raises(ProgramError, match="fails before any change: it ended with exit code 9"):
        reference_outputs(program(folder, "exit 9"))
