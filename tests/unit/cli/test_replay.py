"""`replay`: every task through the stand-in runner, with its exit code."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rocm_perf.cli.main import main
from rocm_perf.cli.replay import ReplayCommand
from rocm_perf.errors import RocmPerfError
from tests.unit.cli.parsing import parsed
from tests.unit.replay.toys import BASE, COUNT, OTHER, Toy, code_text, fake_runner, make_snapshot

ADD = f"add 0x{BASE:x} {COUNT} 1"


@pytest.fixture(autouse=True)
def runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROCM_PERF_NATIVE_DIR", str(fake_runner(tmp_path / "native")))
    monkeypatch.delenv("FAKE_RUNNER", raising=False)
    monkeypatch.setenv("COLUMNS", "200")


@pytest.fixture
def snap(tmp_path: Path) -> str:
    return str(make_snapshot(tmp_path).folder)


def replay(*words: str) -> int:
    command = ReplayCommand()
    try:
        return command.run(parsed(command, *words))
    except RocmPerfError as error:
        print(error)
        return error.exit_code


def told(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    code = replay(*words)
    return code, capsys.readouterr().out


def answered(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    code, text = told(capsys, *words, "--json")
    return code, json.loads(text)


def test_info(snap: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROCM_PERF_NATIVE_DIR", "/nowhere")  # no runner, no GPU
    code, text = told(capsys, "info", snap)
    assert code == 0
    for words in (
        "scale(float*)",
        "64 work-items in groups of 16",
        "sm_90",
        "app --x",
        "7 files checked",
        f"0x{OTHER:x}",
    ):
        assert words in text
    code, found = answered(capsys, "info", snap)
    assert (code, found["schema_version"], len(found["regions"])) == (0, 1, 2)
    assert (found["changed_bytes"], found["launch"]) == (65536, 17)


def test_info_of_a_damaged_snapshot(snap: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = Path(snap, "kernarg.bin")
    file.write_bytes(b"x" + file.read_bytes()[1:])
    code, text = told(capsys, "info", snap)
    assert code == 6
    assert text.count("\n") == 1
    assert "kernarg.bin does not have the hash" in text


@pytest.mark.parametrize("task", ["info", "reserve-check", "full-vm", "verify"])
def test_every_task_refuses_damage(snap: str, task: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path(snap, f"memory/region_{OTHER:x}.bin.zst").unlink()
    code, text = told(capsys, task, snap)
    assert code == 6
    assert "is missing" in text


@pytest.mark.parametrize(
    ("fault", "verdict"), [("", "exact"), ("refuse", "failed"), ("relocate", "relocated")]
)
def test_reserve_check(
    snap: str, fault: str, verdict: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code = {"exact": 0, "failed": 1, "relocated": 2}[verdict]
    monkeypatch.setenv("FAKE_RUNNER", fault)
    got, found = answered(capsys, "reserve-check", snap)
    assert (got, found["verdict"]) == (code, verdict)
    assert [one["exact"] for one in found["reservations"]] == [not fault, True]
    got, text = told(capsys, "reserve-check", snap)
    assert got == code
    assert text.startswith(verdict)
    assert "0x7f0000000000" in text


def test_reserve_check_without_a_gpu(snap: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_RUNNER", "no-device")
    assert replay("reserve-check", snap) == 3
    monkeypatch.setenv("FAKE_RUNNER", "silent")
    assert replay("reserve-check", snap) == 24


def test_full_vm(snap: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = answered(capsys, "full-vm", snap, "--iterations", "30")
    assert (code, found["iterations"], len(found["timing"]["samples_ns"])) == (0, 30, 30)
    assert found["timing"]["p5_ns"] <= found["timing"]["median_ns"] <= found["timing"]["p95_ns"]
    assert found["recopy"] is True
    code, text = told(capsys, "full-vm", snap, "--no-recopy", "--cold-cache", "--warmup", "0")
    assert code == 0
    assert re.search(
        r"^Iterations +20 after 0 to warm up$\n"
        r"^Recopy +no: memory restored once, caches emptied before each$\n"
        r"^GPU time +average 1\.0\d* us, median 1\.0\d* us$\n"
        r"^Wall +\S+ \S+ in all$",
        text,
        re.MULTILINE,
    )
    assert "1.002" in text
    assert re.search(
        r"^Recopy +yes: memory restored before each", told(capsys, "full-vm", snap)[1], re.MULTILINE
    )


def test_full_vm_as_guides_write_it(snap: str) -> None:
    assert replay("full-vm", "--capture-dir", snap, "--iterations", "2") == 0


@pytest.mark.parametrize("task", ["info", "reserve-check", "full-vm", "verify"])
def test_without_a_name_the_only_snapshot_here_is_meant(
    snap: str, task: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(Path(snap).parent)
    assert replay(task) == 0
    assert f"this is of {Path(snap).name}\n" in capsys.readouterr().err


def test_without_a_name_the_usual_one_is_meant(
    snap: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    here = Path(snap).parent
    shutil.copytree(snap, here / "isolate_capture")
    monkeypatch.chdir(here)
    assert replay("full-vm") == 0
    assert "this is of isolate_capture" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("task", "status"), [("info", 2), ("full-vm", 2), ("verify", 2), ("reserve-check", 3)]
)
def test_without_a_name_several_snapshots_are_named(
    snap: str, task: str, status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    here = Path(snap).parent
    for number in range(6):
        shutil.copytree(snap, here / f"other{number}")
    shutil.copytree(snap, here / ".draft")
    monkeypatch.chdir(here)
    code, text = told(capsys, task)
    assert (code, text.count("\n")) == (status, 1)
    assert "several here: other0, other1, other2, other3, other4 and 2 more" in text


def test_without_a_name_and_without_a_snapshot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    code, text = told(capsys, "full-vm")
    assert code == 2
    assert "nor a folder isolate_capture" in text


@pytest.mark.parametrize(
    "words",
    [["--bogus"], ["snap", "extra"], ["--timeout", "never"], ["--timeout"], ["snap", "--iterations", "3"]],
)
def test_wrong_usage_of_reserve_check_does_not_look_like_an_answer(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Its 2 says that an address was given elsewhere."""
    for task, status in (("reserve-check", 3), ("info", 2)):
        with pytest.raises(SystemExit) as caught:
            main(["replay", task, *words])
        assert caught.value.code == status
        assert "usage: rocm-perf replay" in capsys.readouterr().err


def test_help_of_reserve_check_is_not_wrong_usage() -> None:
    with pytest.raises(SystemExit) as caught:
        main(["replay", "reserve-check", "--help"])
    assert caught.value.code == 0


def test_full_vm_of_another_code_object(
    snap: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "new.ptx").write_text(code_text(ADD, "time 7000"))
    code, found = answered(capsys, "full-vm", snap, "--cubin", str(tmp_path / "new.ptx"))
    assert (code, found["timing"]["min_ns"]) == (0, 7000)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--iterations", "0"], "must be from 1 to 2,147,483,647"),
        (["--iterations", "9" * 20], "must be from 1 to 2,147,483,647"),
        (["--iterations", "1e9"], "'1e9' is not a whole number"),
        (["--warmup", "-1"], "must be from 0 to"),
        (["--warmup", "9" * 20], "must be from 0 to"),
        (["--timeout", "0"], "more than 0 and at most 1,000,000 seconds"),
        (["--timeout", "nan"], "more than 0 and at most 1,000,000 seconds"),
        (["--timeout", "inf"], "more than 0 and at most 1,000,000 seconds"),
        (["--timeout", "soon"], "'soon' is not a number of seconds"),
    ],
)
def test_numbers_that_make_no_sense(
    snap: str, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        replay("full-vm", snap, *words)
    assert caught.value.code == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("fault", "code"), [("refuse", 1), ("relocate", 2), ("no-device", 3), ("out-of-memory", 22), ("hang", 23)]
)
def test_each_failure_has_its_code(snap: str, fault: str, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_RUNNER", fault)
    assert replay("full-vm", snap, "--timeout", "2" if fault == "hang" else "60") == code


def test_another_gpu(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = str(make_snapshot(tmp_path / "other", Toy(gfx="sm_80")).folder)
    code, text = told(capsys, "full-vm", other)
    assert code == 21
    assert "sm_80" in text


def test_verify(snap: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = told(capsys, "verify", snap)
    assert code == 0
    assert text.startswith("same: the replay gives the application's result")
    assert text.count("failed as it must") == 3
    (tmp_path / "bad.ptx").write_text(code_text(f"add 0x{BASE:x} {COUNT} 2"))
    code, text = told(capsys, "verify", snap, "--hsaco", str(tmp_path / "bad.ptx"))
    assert code == 1
    assert f"region 0x{BASE:x}, offset 2 (written by the kernel)" in text
    assert "as f32 1 and 2" in text
    code, found = answered(capsys, "verify", snap, "--hsaco", str(tmp_path / "bad.ptx"))
    assert (code, found["verdict"], found["captured"]["verdict"]) == (1, "different", "same")


def test_verify_with_a_tolerance(snap: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "near.ptx").write_text(code_text(f"add 0x{BASE:x} {COUNT} 1.001"))
    new = ("--cubin", str(tmp_path / "near.ptx"))
    assert replay("verify", snap, *new) == 1
    capsys.readouterr()
    code, text = told(capsys, "verify", snap, *new, "--tolerance", "f16=0,0", "--tolerance", "f32=0,0.01")
    assert code == 0
    assert text.startswith("same within tolerance")
    assert replay("verify", snap, "--tolerance", "f32") == 2


def test_verify_without_an_oracle_needs_no_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ROCM_PERF_NATIVE_DIR", "/nowhere")
    bare = str(make_snapshot(tmp_path, outputs=False).folder)
    code, text = told(capsys, "verify", bare)
    assert code == 1
    assert text.startswith("cannot be verified")


def test_compare(snap: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, time in (("a", 3000), ("b", 2000)):
        (tmp_path / f"{name}.ptx").write_text(code_text(ADD, f"time {time}"))
    a, b = str(tmp_path / "a.ptx"), str(tmp_path / "b.ptx")
    code, found = answered(capsys, "compare", snap, "--cubin", a, "--cubin", b)
    assert (code, found["verdict"], len(found["base"]["samples_ns"])) == (0, "better", 100)
    assert found["interval"][0] <= 1.5 <= found["interval"][1]
    assert answered(capsys, "compare", snap, "--cubin", b, "--cubin", a)[1]["verdict"] == "worse"
    assert (
        answered(capsys, "compare", snap, "--cubin", a, "--cubin", a)[1]["verdict"] == "no difference shown"
    )
    code, text = told(capsys, "compare", snap, "--cubin", b, "--iterations", "4")
    assert code == 0
    assert text.startswith("no difference shown (fewer than 10 iterations): B against A, speedup 0.5")
    assert re.search(r"^A +captured$", text, re.MULTILINE)
    assert replay("compare", snap) == 2


def test_a_difference_within_the_noise_of_one_code_object(
    snap: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same code, loaded a second time, takes 5 % longer here: 4 % of another then say nothing."""
    for name, time in (("a", 3000), ("b", 2885), ("c", 2700)):
        (tmp_path / f"{name}.ptx").write_text(code_text(ADD, f"time {time}"))
    a, b, c = (str(tmp_path / f"{name}.ptx") for name in "abc")
    assert answered(capsys, "compare", snap, "--cubin", a, "--cubin", b)[1]["verdict"] == "better"
    monkeypatch.setenv("FAKE_RUNNER", "again-slower")
    found = answered(capsys, "compare", snap, "--cubin", a, "--cubin", b)[1]
    assert found["verdict"] == "no difference shown"
    assert found["noise"] == pytest.approx(0.05, abs=0.003)
    assert answered(capsys, "compare", snap, "--cubin", a, "--cubin", c)[1]["verdict"] == "better"
    text = told(capsys, "compare", snap, "--cubin", a, "--cubin", b)[1]
    assert re.search(r"a difference\s+of up to 5\.\d+ % is noise", text)


@pytest.mark.parametrize("width", [80, 160])
def test_times_are_never_cropped(
    snap: str, width: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    (tmp_path / "slow.ptx").write_text(code_text(ADD, "time 98765432"))
    slow = str(tmp_path / "slow.ptx")
    for words in (["full-vm", snap, "--cubin", slow], ["compare", snap, "--cubin", slow, "--cubin", slow]):
        text = told(capsys, *words)[1]
        assert "…" not in text
        assert "98.765" in text
        assert "milliseconds" in text
        assert max(map(len, text.splitlines())) <= width


def test_verdicts_are_never_cropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    bare = str(make_snapshot(tmp_path, outputs=False).folder)
    text = told(capsys, "verify", bare)[1]
    assert " ".join(text.split()).startswith(
        "cannot be verified: the snapshot does not hold the state after the kernel: capture it again, with --outputs"
    )
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("words", [["full-vm"], ["verify"], ["reserve-check"], ["compare", "--hsaco", "B"]])
def test_dry_runs_run_nothing(
    snap: str,
    words: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "b.ptx").write_text(code_text(ADD))
    given = [str(tmp_path / "b.ptx") if word == "B" else word for word in words[1:]]
    monkeypatch.setenv("ROCM_PERF_NATIVE_DIR", "/nowhere")
    code, text = told(capsys, words[0], snap, *given, "--dry-run")
    assert code == 0
    assert text.startswith("version 1\nmode ")
    code, found = answered(capsys, words[0], snap, *given, "--dry-run")
    assert (code, found) == (0, {"schema_version": 1, "plan": text.splitlines()})


@pytest.mark.parametrize("words", [["full-vm"], ["full-vm", "--hsaco", "B"], ["compare", "--hsaco", "B"]])
def test_a_dry_run_shows_the_plan_that_the_runner_gets(
    snap: str,
    words: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "b.ptx").write_text(code_text(ADD))
    given = [str(tmp_path / "b.ptx") if word == "B" else word for word in words[1:]]
    plan = tmp_path / "plan"
    runner = tmp_path / "native" / "replay_cuda"
    runner.rename(runner.with_name("real"))
    runner.write_text(f'#!/bin/sh\ncp "$1" {plan}\nexec {runner.with_name("real")} "$1"\n')
    runner.chmod(0o755)
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    assert replay(words[0], snap, *given) == 0
    capsys.readouterr()
    shown = told(capsys, words[0], snap, *given, "--dry-run")[1]
    assert shown == re.sub(rf"{tmp_path}/tmp/[^/]+", "WORK", plan.read_text())
    assert "code B" in shown or words[0] != "compare"


def test_a_dry_run_looks_at_the_code_object(
    snap: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for task in ("full-vm", "verify", "compare"):
        code, text = told(capsys, task, snap, "--hsaco", str(tmp_path / "none.hsaco"), "--dry-run")
        assert (code, text.count("\n")) == (6, 1)
        assert "there is no file" in text


def test_a_dry_run_of_what_cannot_be_verified(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bare = str(make_snapshot(tmp_path, outputs=False).folder)
    code, text = told(capsys, "verify", bare, "--dry-run")
    assert code == 1
    assert text.startswith("cannot be verified")


@pytest.mark.parametrize("kind", ["missing", "a file", "closed"])
def test_a_temporary_folder_that_cannot_be_used(
    snap: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "tmp"
    if kind == "a file":
        folder.write_text("")
    if kind == "closed":
        if os.geteuid() == 0:
            pytest.skip("nothing is closed to root")
        folder.mkdir(mode=0o500)
    monkeypatch.setenv("TMPDIR", str(folder))
    code, text = told(capsys, "full-vm", snap)
    assert code == 6
    assert f"TMPDIR is {folder}: " in text


def shown_to_nobody(*words: str) -> tuple[int, str]:
    """Exit code and stderr where the reader of stdout has left before the first byte."""
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "rocm_perf.cli.main", *words]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    return done.returncode, done.stderr


@pytest.mark.launches
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_reader_that_leaves_does_not_change_the_answer(snap: str, form: list[str], tmp_path: Path) -> None:
    (tmp_path / "bad.ptx").write_text(code_text(f"add 0x{BASE:x} {COUNT} 2"))
    assert shown_to_nobody("replay", "verify", snap, *form) == (0, "")
    assert shown_to_nobody("replay", "verify", snap, "--hsaco", str(tmp_path / "bad.ptx"), *form) == (1, "")
    assert shown_to_nobody("replay", "info", snap, *form) == (0, "")


def test_verify_says_what_it_does_on_a_terminal(snap: str) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "rocm_perf.cli.main", "replay", "verify", snap]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=theirs, text=True, check=False)
    os.close(theirs)
    lines = os.read(ours, 1 << 16).decode().split("\r\x1b[K")[1:]
    os.close(ours)
    assert lines[0].startswith("reading 321 KiB of ")
    assert lines[1] == "replay 1: as captured"
    replays = lines[1:-1]
    assert [line.split(":")[0] for line in replays] == [f"replay {n}" for n in range(1, len(replays) + 1)]
    assert {"kernel not launched", "half of the grid"} <= {line.split(": ")[1] for line in replays}
    assert lines[-1] == ""  # wiped
    assert done.stdout.startswith("same: ")
