"""rocm-perf ab: verdicts and exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rocm_perf.bench.history.store import History
from rocm_perf.cli.main import main

pytestmark = pytest.mark.launches

REFERENCE = """
def base(x): return sorted(x)
def breaks(x): raise OSError("no device")
def breaks_later(x):
    import os, pathlib
    starts = pathlib.Path(__file__ + ".starts")
    started = set(starts.read_text().split()) if starts.exists() else set()
    starts.write_text(" ".join(started | {str(os.getpid())}))
    if len(started) == 2 and str(os.getpid()) not in started:
        raise OSError("no device")
    return sorted(x)
def inputs(seed): return ([float(seed % 97), 3.0, 1.0, float(seed % 89)],)
"""
CANDIDATE = """
def same(x): return sorted(x)
def slower(x):
    for _ in range(3000): sorted(x)
    return sorted(x)
def wrong(x): return x
"""
QUICK = ("--processes", "1", "--laps", "10")


@pytest.fixture
def scripts(tmp_path: Path) -> tuple[str, str]:
    (tmp_path / "reference.py").write_text(REFERENCE)
    (tmp_path / "candidate.py").write_text(CANDIDATE)
    return str(tmp_path / "reference.py"), str(tmp_path / "candidate.py")


def ab(scripts: tuple[str, str], name: str, *options: str, base: str = "base") -> int:
    reference, candidate = scripts
    return main(
        [
            "ab",
            f"{reference}:{base}",
            f"{candidate}:{name}",
            "--inputs",
            f"{reference}:inputs",
            *QUICK,
            *options,
        ]
    )


def test_wrong_is_exit_code_one(scripts: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert ab(scripts, "wrong") == 1
    printed = capsys.readouterr().out
    assert "Correct:   no" in printed
    assert "Verdict:   wrong" in printed


def test_slower_is_exit_code_one_unless_allowed(
    scripts: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert ab(scripts, "slower", "--json") == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["verdict"] == "worse"
    assert answer["correct"] is True
    assert answer["schema_version"] == 1
    assert len(answer["base"]["processes"][0]["times_ms"]) == 10
    assert ab(scripts, "slower", "--fail-on", "100000000%") == 0


def test_a_base_that_fails_is_one_line(scripts: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert ab(scripts, "same", base="breaks") == 5
    captured = capsys.readouterr()
    assert captured.err == "rocm-perf: BASE failed: it raised OSError: no device\n"
    assert captured.out == ""


def test_what_was_timed_before_base_failed_is_kept(
    scripts: tuple[str, str],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert ab(scripts, "same", "--processes", "4", "--json", "--save", base="breaks_later") == 5
    captured = capsys.readouterr()
    answer = json.loads(captured.out)
    assert [len(process["times_ms"]) for process in answer["base"]["processes"]] == [10, 10]
    assert answer["failure"] == "BASE failed: it raised OSError: no device"
    assert "rocm-perf: BASE failed: it raised OSError: no device\n" in captured.err
    assert not History().targets()


def test_a_new_that_does_not_import_is_one_line(
    scripts: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert ab(scripts, "absent") == 1
    assert "NEW failed: " in capsys.readouterr().err


def test_functions_in_one_file_are_doubted(
    scripts: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    reference, _ = scripts
    names = [f"{reference}:base", f"{reference}:base", "--inputs", f"{reference}:inputs"]
    main(["ab", *names, *QUICK])
    assert "also has BASE and the inputs, which its code could change" in capsys.readouterr().out


@pytest.mark.parametrize("options", [("--fail-on", "much"), ("--tolerance", "-1"), ("--processes", "0")])
def test_numbers_that_make_no_sense_are_refused(scripts: tuple[str, str], options: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit) as refused:
        ab(scripts, "same", *options)
    assert refused.value.code == 2


def test_both_sides_are_kept_unless_one_is_wrong(
    scripts: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert ab(scripts, "wrong", "--save") == 1
    assert not History().targets()
    ab(scripts, "same", "--save", "--fail-on", "10000%")
    assert History().targets() == [f"{scripts[0]}:base", f"{scripts[1]}:same"]
