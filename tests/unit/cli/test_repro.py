"""`repro`: choosing an operator, and refusing in words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rocm_perf.cli.main import main


def event(name: str, op_id: int, ts: int, shapes: object = None) -> dict[str, Any]:
    args: dict[str, object] = {"External id": op_id}
    if shapes is not None:
        args |= {
            "Input Dims": shapes,
            "Input type": ["float", "float"],
            "Input Strides": [],
            "Concrete Inputs": ["", ""],
        }
    return {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": 10, "args": args}


def recording(folder: Path, *events: dict[str, Any]) -> Path:
    """A torch trace; every operator launches one kernel, as long as its id."""
    gpu: list[dict[str, Any]] = []
    for place in events:
        number, start = place["args"]["External id"], place["ts"]
        shared = {"correlation": number, "External id": number}
        gpu.append({"ph": "X", "cat": "cuda_runtime", "name": "hipLaunchKernel", "pid": 1, "tid": 1, "ts": start + 1,
                    "dur": 1, "args": shared})  # fmt: skip
        gpu.append({"ph": "X", "cat": "kernel", "name": f"k{number}", "pid": 0, "tid": 0, "ts": 1000 * number,
                    "dur": number, "args": {**shared, "device": 0, "stream": 0}})  # fmt: skip
    path = folder / "trace.json"
    path.write_text(json.dumps({"schemaVersion": 1, "deviceProperties": [], "traceEvents": [*events, *gpu]}))
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return recording(
        tmp_path,
        event("aten::mm", 3, 100, [[4, 8], [8, 2]]),
        event("aten::mm", 9, 200, [[40, 80], [80, 20]]),
        event("aten::add", 5, 300, [[4], [4]]),
        event("aten::relu", 7, 400),
    )


def test_the_list_names_ids_by_gpu_time(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["repro", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:4]] == ["9", "5", "3"]
    assert "--op ID" in lines[-1]
    assert main(["repro", str(path), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(row["op_id"], row["gpu_ns"]) for row in rows] == [(9, 9000), (5, 5000), (3, 3000)]


def test_by_id_and_by_name(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["repro", str(path), "--op", "3"]) == 0
    assert "(4, 8)" in capsys.readouterr().out
    target = tmp_path / "r.py"
    assert main(["repro", str(path), "--op", "mm", "-o", str(target), "--iterations", "4"]) == 0
    assert "(40, 80)" in target.read_text()
    assert "ITERATIONS = 4" in target.read_text()
    assert main(["repro", str(path), "--op", "mm", "-o", str(target)]) == 2
    assert main(["repro", str(path), "--op", "aten::mm", "-o", str(target), "--force"]) == 0


@pytest.mark.parametrize(
    ("op", "words"),
    [
        ("²", "no operator '²'"),
        ("9" * 30, "no operator"),
        ("999", "no operator '999'"),
        ("frob", "no operator 'frob'"),
        ("relu", "record_shapes=True"),
    ],
)
def test_refusals(path: Path, op: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["repro", str(path), "--op", op]) == 2
    assert words in capsys.readouterr().err


def test_recordings_without_shapes_or_operators(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["repro", str(recording(tmp_path, event("aten::mm", 3, 100)))]) == 2
    assert "record_shapes=True" in capsys.readouterr().err
    other = tmp_path / "x_kernel_stats.csv"
    other.write_text(
        '"Name","Calls","TotalDurationNs","AverageNs","Percentage","MinNs","MaxNs","StdDev"\n"k",1,1,1,1,1,1,0\n'
    )
    assert main(["repro", str(other)]) == 5
    assert "no framework operator" in capsys.readouterr().err
