"""`capture`: a program that writes the draft itself stands for the injected library."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rocm_perf.cli.capture import CaptureCommand
from rocm_perf.errors import RocmPerfError
from rocm_perf.replay.load import read_snapshot
from rocm_perf.replay.store import check
from tests.unit.cli.parsing import parsed
from tests.unit.replay.toys import fake_runner

ROOT = Path(__file__).parents[3]
PROGRAM = """
import json, os, signal, sys
sys.path.insert(0, {root!r})
from pathlib import Path
from tests.unit.replay.toys import Toy, write_draft
draft = Path(os.environ["ROCM_PERF_CAPTURE_DIR"], str(os.getpid()))
print("the program's own output", os.environ["ROCM_PERF_CAPTURE_KERNEL"])
what = sys.argv[1]
if what in ("captured", "twice", "dies", "killed"):
    write_draft(draft, Toy())
if what == "twice":
    write_draft(draft.with_name("99999999"), Toy(grid=(32, 1, 1)))
if what in ("unsaved", "half-saved"):
    (draft / "memory" if what == "half-saved" else draft).mkdir(parents=True)
if what == "beside":
    (draft.with_name("99999999") / "memory").mkdir(parents=True)
    what = '{{"version": 1, "state": "no-match"}}'
if what == "killed":
    os.kill(os.getppid(), signal.SIGKILL)
if what == "dies":
    (draft / "capture.json").unlink()
    os.abort()
if what.startswith("{{"):
    draft.mkdir()
    (draft / "capture.json").write_text(what)
sys.exit(int(sys.argv[2]) if len(sys.argv) > 2 else 0)
"""


# `capture` by itself, which ends at the first call of one of its own steps as if by `kill -9`.
KILLED = """
import os, signal, sys
from rocm_perf.cli.main import main
from rocm_perf.replay import finish
if sys.argv[1]:
    setattr(finish, sys.argv[1], lambda *words, **named: os.kill(os.getpid(), signal.SIGKILL))
main(["capture", "--kernel", "scale", "--vendor", "nvidia", *sys.argv[2:]])
"""


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("ROCM_PERF_NATIVE_DIR", str(fake_runner(tmp_path / "native")))
    for name in ("HSA_TOOLS_LIB", "ROCP_TOOL_LIBRARIES", "CUDA_INJECTION64_PATH"):
        monkeypatch.delenv(name, raising=False)
    program = tmp_path / "app.py"
    program.write_text(PROGRAM.format(root=str(ROOT)))
    return [sys.executable, str(program)]


def capture(output: Path, *words: str) -> int:
    command = CaptureCommand()
    try:
        return command.run(
            parsed(command, "--kernel", "scale", "--vendor", "nvidia", "-o", str(output), *words)
        )
    except RocmPerfError as error:
        print(error, file=sys.stderr)
        return error.exit_code


def account(**fields: object) -> str:
    return json.dumps({"version": 1, "state": "no-match", **fields})


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name not in ("app.py", "native"))


def test_a_capture(app: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert capture(tmp_path / "snap", "--", *app, "captured") == 0
    out, err = capfd.readouterr()
    assert out == "the program's own output scale\n"
    assert "Captured  scale(float*)\nDispatch  3 of those that match, launch 17 of the program\n" in err
    assert err.endswith(f"rocm-perf replay verify {tmp_path}/snap\n")
    snapshot = read_snapshot(tmp_path / "snap")
    assert check(snapshot) == 7
    assert snapshot.dispatch.kernel == "_Z5scalePf"
    assert left(tmp_path) == ["snap"]


def test_options_reach_the_snapshot(
    app: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert capture(tmp_path / "snap", "--no-outputs", "--no-compress", "--json", "--", *app, "captured") == 0
    manifest = read_snapshot(tmp_path / "snap").manifest
    assert not manifest.outputs
    assert {entry.stored for entry in manifest.files.values()} == {"raw"}
    out, err = capfd.readouterr()
    report = json.loads(out)
    assert (report["dispatch"], report["changed_bytes"]) == (3, None)
    assert err == "the program's own output scale\n"


def test_what_to_do_next(app: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """As a command that can be copied, and that works."""
    deep = tmp_path / ("deep " * 30) / "my snap"
    assert capture(deep, "--", *app, "captured") == 0
    assert f"rocm-perf replay verify '{deep}'\n" in capfd.readouterr().err
    assert capture(tmp_path / "bare", "--no-outputs", "--", *app, "captured") == 0
    err = capfd.readouterr().err
    assert f"rocm-perf replay full-vm {tmp_path}/bare\n" in err
    assert "replay verify" not in err


def test_the_programs_exit_code_is_ours(
    app: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert capture(tmp_path / "snap", "--", *app, "captured", "7") == 7
    assert read_snapshot(tmp_path / "snap").manifest.outputs
    assert "exit code 7" in capfd.readouterr().err
    assert capture(tmp_path / "other", "--", *app, "dies") == 134
    assert "the program ended by SIGABRT" in capfd.readouterr().err


def test_a_kernel_that_never_matches(
    app: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    seen = account(
        launches=12, matched=0, names_seen={"gemm": 9, "scalar_mul": 3}, not_seen=["2 graph launches"]
    )
    assert capture(tmp_path / "snap", "--", *app, seen) == 5
    err = capfd.readouterr().err
    assert "no kernel matched 'scale': there were 12 launches of 2 kernels. 2 graph launches\n" in err
    assert [line.split() for line in err.splitlines()[-2:]] == [["3", "scalar_mul"], ["9", "gemm"]]
    assert left(tmp_path) == []


def test_a_kernel_that_runs_only_in_graphs(
    app: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    seen = account(launches=1, matched=0, names_seen={"scale": 1}, not_seen=["graph launches: 5"])
    assert capture(tmp_path / "snap", "--", *app, seen) == 5
    assert "nothing that matched 'scale' could be captured: graph launches: 5" in capfd.readouterr().err


def test_too_few_dispatches_match(app: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert capture(tmp_path / "snap", "--dispatch", "5", "--", *app, account(launches=12, matched=2)) == 5
    assert "matched 2 dispatches: number 5 was asked for" in capfd.readouterr().err


def test_a_program_that_uses_no_gpu(
    app: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert capture(tmp_path / "snap", "--", *app, "nothing") == 5
    assert "used no GPU" in capfd.readouterr().err


def test_a_program_that_dies_in_the_middle(
    app: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert capture(tmp_path / "snap", "--", *app, "dies") == 134
    assert "ended in the middle" in capfd.readouterr().err
    assert left(tmp_path) == []


@pytest.mark.parametrize("what", ["unsaved", "half-saved"])
def test_a_disk_too_full_even_to_say_so(
    app: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str], what: str
) -> None:
    """The program ends well, and the library could not write its account."""
    assert capture(tmp_path / "snap", "--", *app, what) == 6
    assert (
        f"nothing could be written to {tmp_path}, not even why: its disk may be full"
        in capfd.readouterr().err
    )
    assert left(tmp_path) == []


def test_a_process_that_dies_while_it_saves_beside_one_that_matched_nothing(
    app: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert capture(tmp_path / "snap", "--", *app, "beside", "3") == 3
    assert "ended in the middle" in capfd.readouterr().err


def test_refused_and_failed(app: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    refused = account(state="refused", reason="argument 2 points into managed memory")
    assert capture(tmp_path / "snap", "--", *app, refused) == 25
    assert "argument 2 points into managed memory. --allow-uncovered" in capfd.readouterr().err
    assert capture(tmp_path / "snap", "--", *app, account(state="failed", reason="disk full")) == 6
    assert left(tmp_path) == []


def test_several_processes_captured(
    app: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert capture(tmp_path / "snap", "--json", "--", *app, "twice") == 0
    first, second = left(tmp_path)
    report = json.loads(capfd.readouterr().out)
    both = [read_snapshot(tmp_path / name).manifest for name in (first, second)]
    assert report["snapshots"] == [str(tmp_path / first), str(tmp_path / second)]
    assert report["raw_bytes"] == sum(one.raw_bytes for one in both)
    assert report["stored_bytes"] == sum(one.stored_bytes for one in both)
    assert (report["regions"], report["changed_bytes"]) == (4, 2 * 65536)
    assert (report["launches"], report["matched"]) == (40, 6)
    assert second == "snap-99999999"
    assert read_snapshot(tmp_path / second).dispatch.grid == (32, 1, 1)
    assert read_snapshot(tmp_path / first).dispatch.grid == (64, 1, 1)


def test_existing_snapshots(app: list[str], tmp_path: Path) -> None:
    assert capture(tmp_path / "snap", "--", *app, "captured") == 0
    assert capture(tmp_path / "snap", "--", *app, "captured") == 2
    assert capture(tmp_path / "snap", "--force", "--", *app, "captured") == 0


def test_the_programs_own_dashes(app: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert capture(tmp_path / "snap", "--dry-run", "--", *app, "--json", "--", "x") == 0
    out = capfd.readouterr().out
    assert f"{app[1]} --json -- x\n" in out
    assert "CUDA_INJECTION64_PATH=" in out
    assert capture(tmp_path / "snap", "--dry-run", "--json", "--", *app, "x y") == 0
    plan = json.loads(capfd.readouterr().out)
    assert (plan["command"], plan["snapshot"]) == ([*app, "x y"], str(tmp_path / "snap"))
    assert plan["environment"]["ROCM_PERF_CAPTURE_KERNEL"] == "scale"
    assert left(tmp_path) == []


def test_refused_before_it_starts(app: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert capture(tmp_path / "snap", "--", str(tmp_path / "nothing")) == 2
    monkeypatch.setenv("CUDA_INJECTION64_PATH", "/other.so")
    assert capture(tmp_path / "snap", "--", *app, "captured") == 2
    assert os.environ["CUDA_INJECTION64_PATH"] == "/other.so"
    assert left(tmp_path) == []


def killed(step: str, output: Path, *words: str) -> None:
    """Run `capture` until it is killed in this step, or, without one, by the program that it runs."""
    command = [sys.executable, "-c", KILLED, step, "-o", str(output), *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()


def snapshots(folder: Path) -> list[str]:
    """What passes for a snapshot, also among hidden folders."""
    names = []
    for path in folder.glob("*/manifest.json"):
        with contextlib.suppress(RocmPerfError):
            names.append(read_snapshot(path.parent).folder.name)
    return sorted(names)


@pytest.mark.launches
@pytest.mark.parametrize("step", ["", "pack_all", "_write_manifest"])
def test_a_capture_that_is_killed_leaves_nothing_that_passes_for_a_snapshot(
    app: list[str], tmp_path: Path, step: str
) -> None:
    output = tmp_path / "snap"
    killed(step, output, "--", *app, "captured" if step else "killed")
    assert not output.exists()
    assert snapshots(tmp_path) == []
    assert capture(output, "--", *app, "captured") == 0
    assert check(read_snapshot(output)) == 7


@pytest.mark.launches
@pytest.mark.parametrize("step", ["_sync_folder", "_takes_name", "_set_aside", "_remove"])
def test_a_capture_that_is_killed_while_it_replaces_a_snapshot_leaves_a_whole_one(
    app: list[str], tmp_path: Path, step: str
) -> None:
    output = tmp_path / "snap"
    assert capture(output, "--", *app, "captured") == 0
    killed(step, output, "--force", "--", *app, "captured")
    assert check(read_snapshot(output)) == 7
    assert capture(output, "--force", "--", *app, "captured") == 0
    assert check(read_snapshot(output)) == 7
