"""The Chrome JSON beside an XPlane file says the same, and is not counted twice."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.load import load
from rocm_perf.ingest.sniff import sniff
from tests.unit.ingest.xplane.test_space import CUDA, read
from tests.xplane import Plane, space

COMPARED = {
    "dispatches": ["kernel", "agent_id", "grid_x", "workgroup_x", "vgprs", "correlation_id", "op_id"],
    "api_calls": ["domain", "name", "tid", "correlation_id", "op_id"],
    "ranges": ["name", "source", "on_gpu"],
    "copies": ["kind", "size_bytes"],
    "ops": ["name", "category", "op_id"],
}


def chrome(*planes: Plane) -> bytes:
    """As XLA converts planes: processes, threads, and microseconds."""
    events: list[dict[str, object]] = []
    for pid, plane in enumerate(planes, 1):
        events.append({"ph": "M", "pid": pid, "name": "process_name", "args": {"name": plane.name}})
        for line in plane.lines:
            thread = {"pid": pid, "tid": line.number}
            events.append({"ph": "M", **thread, "name": "thread_name", "args": {"name": line.name}})
            events += [
                {"ph": "X", **thread, "name": event.name, "ts": event.start_ps / 1e6, "dur": event.length_ps / 1e6,
                 "args": {name: str(value) for name, value in event.stats.items()}}
                for event in line.events
            ]  # fmt: skip
    return gzip.compress(json.dumps({"displayTimeUnit": "ns", "traceEvents": [*events, {}]}).encode())


def test_it_says_what_the_xplane_file_says(tmp_path: Path) -> None:
    file = tmp_path / "host.trace.json.gz"
    file.write_bytes(chrome(*CUDA))
    adapter = sniff(Source(file))
    assert adapter.name == "jax-chrome-json"
    part, whole = adapter.read(Source(file)), read(tmp_path, space(*CUDA))
    for table, columns in COMPARED.items():
        assert part.tables[table].select(columns).rows() == whole.tables[table].select(columns).rows(), table


def test_a_log_folder_is_one_run_read_once(tmp_path: Path) -> None:
    folder = tmp_path / "plugins" / "profile" / "2026_01_01_00_00_00"
    folder.mkdir(parents=True)
    (folder / "box.xplane.pb").write_bytes(space(*CUDA))
    (folder / "box.trace.json.gz").write_bytes(chrome(*CUDA))
    (folder / "perfetto_trace.json.gz").write_bytes(chrome(*CUDA))
    trace = load(tmp_path)
    assert trace.rows("dispatches") == 3
    assert any("box.trace.json.gz left out: box.xplane.pb holds the same run" in n for n in trace.run.notices)
    assert not trace.run.losses
