"""speedscope files: by the rules of its importer, and with every slice of the recording."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import jsonschema
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.ingest.load import load
from rocm_perf.model.trace import Trace
from rocm_perf.render.formats import speedscope
from rocm_perf.sim.engine import simulate
from rocm_perf.sim.gpu import find_gpu
from rocm_perf.sim.record import record
from rocm_perf.sim.workload import Workload
from tests.properties import examples
from tests.sim.strategies import workloads
from tests.unit.render.formats.test_perfetto import SHOWN, made

# speedscope's file-format-spec.ts, as far as evented profiles go.
_EVENT = {
    "type": "object",
    "properties": {
        "type": {"enum": ["O", "C"]},
        "frame": {"type": "integer", "minimum": 0},
        "at": {"type": "number"},
    },
    "required": ["type", "frame", "at"],
    "additionalProperties": False,
}
_PROFILE = {
    "type": "object",
    "properties": {
        "type": {"const": "evented"},
        "name": {"type": "string"},
        "unit": {"const": "nanoseconds"},
        "startValue": {"type": "number"},
        "endValue": {"type": "number"},
        "events": {"type": "array", "items": _EVENT},
    },
    "required": ["type", "name", "unit", "startValue", "endValue", "events"],
    "additionalProperties": False,
}
_FRAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
_FILE = {
    "type": "object",
    "properties": {
        "$schema": {"const": "https://www.speedscope.app/file-format-schema.json"},
        "shared": {
            "type": "object",
            "properties": {"frames": {"type": "array", "items": _FRAME}},
            "required": ["frames"],
        },
        "profiles": {"type": "array", "items": _PROFILE},
        "name": {"type": "string"},
        "exporter": {"type": "string"},
    },
    "required": ["$schema", "shared", "profiles"],
}


def imported(path: Path) -> Counter[tuple[str, int, int]]:
    """Every frame with its start and end, read by the importer's rules: what was opened last is closed first, times
    never decrease, and nothing stays open."""
    document: dict[str, Any] = json.loads(path.read_bytes())
    jsonschema.validate(document, _FILE)
    frames = [frame["name"] for frame in document["shared"]["frames"]]
    shown: Counter[tuple[str, int, int]] = Counter()
    for profile in document["profiles"]:
        opened: list[tuple[int, int]] = []
        now = profile["startValue"]
        for event in profile["events"]:
            assert now <= event["at"] <= profile["endValue"]
            now = event["at"]
            if event["type"] == "O":
                opened.append((event["frame"], now))
            else:
                frame, start = opened.pop()
                assert frame == event["frame"]
                shown[frames[frame], start, now] += 1
        assert not opened
    return shown


def recorded(trace: Trace) -> Counter[tuple[int, int]]:
    """Starts and ends of everything shown, from the first start on; shadows of ranges on GPUs are not."""
    frames = [trace.table(table) for table in SHOWN]
    on_host = [frame.filter(~frame["on_gpu"]) if "on_gpu" in frame.columns else frame for frame in frames]
    rows = [row for frame in on_host for row in frame.select("start_ns", "end_ns").iter_rows()]
    first = min((start for start, _ in rows), default=0)
    return Counter((start - first, end - first) for start, end in rows)


def times(shown: Counter[tuple[str, int, int]]) -> Counter[tuple[int, int]]:
    summed: Counter[tuple[int, int]] = Counter()
    for (_, start, end), count in shown.items():
        summed[start, end] += count
    return summed


@examples(times=0.4)
@given(workloads())
def test_a_random_run_has_every_slice(workload: Workload) -> None:
    trace = record(simulate(workload, find_gpu("sim:MI300X")))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x.speedscope.json"
        speedscope.write(trace, path)
        assert times(imported(path)) == recorded(trace)


@examples(times=1.5)
@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 6)), min_size=1, max_size=12))
def test_overlapping_kernels_go_to_further_profiles(spans: list[tuple[int, int]]) -> None:
    rows = [
        {"kernel": f"k{number}", "start_ns": start, "end_ns": start + length, "agent_id": 2, "queue_id": 1}
        for number, (start, length) in enumerate(spans)
    ]
    trace = made(dispatches=rows)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x.speedscope.json"
        speedscope.write(trace, path)
        assert times(imported(path)) == recorded(trace)


def test_hostile_names_stay_names(tmp_path: Path) -> None:
    names = ['</script>"\\', "\x00\x1b[31m\n", "\u202eright to left", "x" * 10_000]
    rows = [
        {"kernel": name, "start_ns": place, "end_ns": place + 1, "queue_id": 0}
        for place, name in enumerate(names)
    ]
    speedscope.write(made(dispatches=rows), tmp_path / "x")
    assert {name for name, _, _ in imported(tmp_path / "x")} == set(names)


def test_processes_are_told_apart_where_there_are_several(tmp_path: Path) -> None:
    call = {"domain": "hip", "name": "f", "start_ns": 1, "end_ns": 2, "tid": 1}
    speedscope.write(made(api_calls=[call | {"pid": 7}, call | {"pid": 8}]), tmp_path / "x")
    profiles = json.loads((tmp_path / "x").read_bytes())["profiles"]
    assert [profile["name"] for profile in profiles] == ["process 7 THREAD (1)", "process 8 THREAD (1)"]


def test_a_real_torch_trace(specimens: Path, tmp_path: Path) -> None:
    trace = load(next(iter(sorted((specimens / "torch_trace").glob("*mi300*.json.gz")))))
    speedscope.write(trace, tmp_path / "x")
    shown = imported(tmp_path / "x")
    assert times(shown) == recorded(trace)
