"""`launch kubernetes` against a fake kubectl: applied, followed, collected; failed, deleted; by hand."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from rocm_perf.cli.main import main
from rocm_perf.fleet.kubernetes import cluster
from rocm_perf.model.collection import FILE_NAME, CollectionRecord, PassRecord

# Answers as a cluster does whose Job ends at the third look; `cp` leaves what a pod would have recorded.
FAKE = f"""#!{sys.executable}
import json, os, pathlib, shutil, sys
log = pathlib.Path(os.environ["KUBECTL_LOG"])
with log.open("a") as out:
    out.write(" ".join(sys.argv[1:]) + "\\n")
verbs = [word for word in sys.argv[1:] if not word.startswith("-")]
if os.environ.get("KUBECTL_REFUSES") in verbs:
    sys.exit("error: forbidden")
if "pods" in verbs:
    unschedulable = dict(type="PodScheduled", status="False", reason="Unschedulable", message="no amd.com/gpu")
    pulling = dict(state=dict(waiting=dict(reason="ErrImagePull", message="no such image")))
    starting = dict(state=dict(waiting=dict(reason="ContainerCreating")))
    print(json.dumps(dict(items=[dict(status=dict(conditions=[unschedulable])),
                                 dict(status=dict(containerStatuses=[pulling, starting]))])))
elif "get" in verbs:
    looks = log.read_text().count("get job")
    ended = [dict(type=os.environ["KUBECTL_END"], status="True", reason=os.environ.get("KUBECTL_REASON", ""))]
    print(json.dumps({{"status": {{"active": 2, "conditions": ended if looks > 2 else []}}}}))
elif "logs" in verbs:
    print("[pod/a/profile] hello")
elif "cp" in verbs:
    shutil.copytree(os.environ["KUBECTL_RESULTS"], sys.argv[-1], dirs_exist_ok=True)
"""


def leave_results(folder: Path, **changes: Any) -> None:
    """Leave what the pod of a job with one rank leaves."""
    done = PassRecord(number=1, profiler="rocprofv3", purpose="trace", argv=("app",), outcome="recorded")
    record = CollectionRecord(
        run_id="run",
        state="done",
        host="rocm-perf-run-0",
        pid=1,
        rank=0,
        command=("app",),
        folder="/",
        started_at="2026-11-16T00:00:00Z",
        profiler="rocprofv3",
        passes=(done,),
    )
    place = folder / record.host / "rank0-1"
    place.mkdir(parents=True, exist_ok=True)
    (place / FILE_NAME).write_bytes(msgspec.json.encode(replace(record, **changes)))


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with a kubectl, whose cluster completes the Job."""
    tool = tmp_path / "bin" / "kubectl"
    tool.parent.mkdir()
    tool.write_text(FAKE)
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}:/usr/bin:/bin")
    monkeypatch.setenv("KUBECTL_LOG", str(tmp_path / "kubectl.log"))
    leave_results(tmp_path / "claim")
    monkeypatch.setenv("KUBECTL_RESULTS", str(tmp_path / "claim"))
    monkeypatch.setenv("KUBECTL_END", "Complete")
    monkeypatch.setattr(cluster, "LOOK_S", 0.0)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "kubectl.log"


def launch(*options: str) -> int:
    words = ["--image", "reg.example/x:1", "-o", "run", *options]
    return main(["launch", "kubernetes", *words, "--", "python", "train.py"])


def test_without_apply_the_objects_are_written_and_the_commands_said(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert launch() == 0
    said = capsys.readouterr().err
    folder = log.parent / "run" / "launch"
    assert f"kubectl apply --filename {folder}/kubernetes.yaml" in said
    assert f"kubectl cp rocm-perf-run-results:/results/run {log.parent}/run" in said
    assert "rocm-perf launch kubernetes --collect" in said
    assert {"kubernetes.yaml", "results-pod.yaml"} <= {file.name for file in folder.iterdir()}
    assert not log.exists()


def test_applied_it_is_followed_and_collected(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = log.parent / "config.json"
    config.write_text('{"k8s": {"namespace": "ml", "kubeconfig": "/k", "colour": 1}}')
    assert launch("--apply", "--no-analyze", "--config", str(config)) == 0
    said = capsys.readouterr().err
    assert "not used here: k8s.colour" in said
    assert "Job rocm-perf-run is complete" in said
    calls = log.read_text().splitlines()
    assert all(call.startswith("--kubeconfig /k --namespace ml ") for call in calls)
    verbs = [call.split()[4] for call in calls if "get pods" not in call]
    assert verbs == ["apply", "get", "get", "get", "logs", "apply", "wait", "cp", "delete"]
    assert "waiting: Unschedulable: no amd.com/gpu; ErrImagePull: no such image" in said
    assert "ContainerCreating" not in said
    assert (log.parent / "run" / "launch" / "pods.log").read_text() == "[pod/a/profile] hello\n"
    assert list((log.parent / "run").glob("*/rank0-*/rocm-perf-run.json"))


def test_a_job_that_fails_delivers_what_was_recorded(
    log: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KUBECTL_END", "Failed")
    monkeypatch.setenv("KUBECTL_REASON", "DeadlineExceeded")
    leave_results(log.parent / "claim", state="failed", exit_code=9)
    assert launch("--apply", "--no-analyze", "--json") == 9
    captured = capsys.readouterr()
    assert json.loads(captured.out)["launched"]["state"] == "timed out"
    assert list((log.parent / "run").glob("*/rank0-*"))


def test_ctrl_c_deletes_the_job_and_collects(
    log: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(_seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cluster, "time", SimpleNamespace(sleep=interrupted))
    assert launch("--apply", "--no-analyze") == 130
    calls = log.read_text()
    assert calls.index("logs") < calls.index("delete job rocm-perf-run --cascade=foreground")
    assert list((log.parent / "run").glob("*/rank0-*"))


@pytest.mark.parametrize(
    ("verb", "expected"),
    [
        ("apply", (5, "The objects are in")),
        ("cp", (5, "its results are not here: kubectl cp")),
        ("logs", (0, "is not kept")),
    ],
)
def test_what_the_cluster_refuses_is_said(
    log: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    verb: str,
    expected: tuple[int, str],
) -> None:
    monkeypatch.setenv("KUBECTL_REFUSES", verb)
    code, words = expected
    assert launch("--apply", "--no-analyze") == code
    said = capsys.readouterr().err
    assert words in said
    assert "error: forbidden" in said


def test_without_kubectl_apply_says_what_to_type(
    log: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cluster, "shutil", SimpleNamespace(which=lambda _name: None))
    assert launch("--apply") == 3
    assert "kubectl is not installed" in capsys.readouterr().err
    assert main(["launch", "kubernetes", "--collect", "run"]) == 3


def test_a_dry_run_prints_the_objects_as_json_too(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert launch("--dry-run", "--json") == 0
    plan = json.loads(capsys.readouterr().out)["plan"]
    assert set(plan["files"]) == {"kubernetes.yaml", "results-pod.yaml"}
    assert not (log.parent / "run").exists()


@pytest.mark.parametrize(
    ("words", "code", "why"),
    [
        (["--", "python"], 2, "which image"),
        (["--image", "x"], 2, "no application"),
        (["--image", "x", "--config", "none.json", "--", "a"], 6, "cannot read none.json"),
        (["--image", "x", "-o", "a", "--run-id", "b", "--", "a"], 2, "both name the run"),
        (["--image", "x", "--", "torchrun", "a.py"], 0, ""),
        (["--image", "x", "--nproc-per-node", "2", "--", "torchrun", "a.py"], 2, "started twice"),
    ],
)
def test_bad_requests_are_explained(
    log: Path, capsys: pytest.CaptureFixture[str], words: list[str], code: int, why: str
) -> None:
    assert main(["launch", "kubernetes", "--dry-run", *words]) == code
    assert why in capsys.readouterr().err
    assert not log.exists()
