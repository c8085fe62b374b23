"""When memory is what to look at."""

from __future__ import annotations

import pickle
from pathlib import Path

import polars as pl
import pytest

from rocm_perf.analysis.overview import overview
from rocm_perf.ingest.load import load
from rocm_perf.model import schema
from rocm_perf.model.document import Document
from rocm_perf.model.time_window import TimeWindow
from rocm_perf.model.trace import Trace
from rocm_perf.render.sections.memory import memory_section
from tests.torch_allocator import Allocator, frames
from tests.torch_training import train
from tests.unit.analysis.traces import kernel, trace

GIB = 1 << 30


def told(folder: Path, allocator: Allocator, memory_bytes: int | None = None) -> Document:
    path = folder / "snapshot.pickle"
    path.write_bytes(pickle.dumps(allocator.snapshot()))
    recorded = load(path)
    if memory_bytes:
        agents = pl.DataFrame({"agent_id": [0], "kind": ["GPU"], "memory_bytes": [memory_bytes]})
        tables = {name: recorded.table(name) for name in recorded}
        recorded = Trace({**tables, "agents": schema.conform("agents", agents)}, recorded.run)
    return overview(recorded, "snapshot")


def titles(document: Document) -> dict[str, str]:
    return {finding.id: finding.title for finding in document.findings}


def test_a_leak_is_named_with_its_place_and_rate(tmp_path: Path) -> None:
    found = titles(told(tmp_path, train()))
    assert found == {
        "memory-growth": "Memory grows with every step: /home/me/train.py(48): remember holds on to 3.00 MiB more"
    }


def test_with_the_capacity_it_says_how_long_it_lasts(tmp_path: Path) -> None:
    (growth,) = told(tmp_path, train(), 10 * GIB).findings
    assert growth.evidence[-1] == "at this rate the GPU is full after 3,363 more steps"


def test_growth_that_would_take_years_is_not_a_finding(tmp_path: Path) -> None:
    allocator = Allocator()
    for number in range(6):
        allocator.annotate(f"ProfilerStep#{number}", "START")
        allocator.allocate(512, frames("/home/me/train.py:3:log"))
        allocator.annotate(f"ProfilerStep#{number}", "END")
    document = told(tmp_path, allocator, 192 * GIB)
    assert [row.site for row in document.memory.growing] == ["/home/me/train.py(3): log"]
    assert titles(document) == {}


def test_a_gpu_that_is_nearly_full(tmp_path: Path) -> None:
    found = titles(told(tmp_path, train(leaks=False), 140 << 20))
    assert "95.7 % of its 140 MiB were taken" in found["memory-nearly-full"]


def test_torn_memory_and_what_did_not_fit_any_more(tmp_path: Path) -> None:
    allocator = Allocator()
    blocks = [allocator.allocate(8 << 20) for _ in range(40)]
    for address in blocks[::2]:
        allocator.free(address)
    allocator.run_out(GIB, frames("/home/me/serve.py:7:grow"))
    found = titles(told(tmp_path, allocator))
    assert list(found) == ["out-of-memory", "memory-fragmented"]
    assert (
        found["out-of-memory"]
        == "Memory ran out: 1.00 GiB could not be allocated at /home/me/serve.py(7): grow"
    )


def test_nothing_is_said_of_memory_that_comes_and_goes(tmp_path: Path) -> None:
    document = told(tmp_path, train(leaks=False), 80 * GIB)
    assert titles(document) == {}
    assert memory_section(document, 5).lines[0].startswith("At the peak, ")


@pytest.mark.parametrize("rows", [[kernel("k", 0, 10)], []])
def test_without_an_allocator_the_section_says_what_to_record(rows: list[dict[str, object]]) -> None:
    document = overview(trace(dispatches=rows) if rows else Trace({}), "empty")
    assert "neither allocations nor memory readings" in (memory_section(document, 5).unavailable or "")


def test_a_part_of_a_snapshot_is_about_memory_too(tmp_path: Path) -> None:
    path = tmp_path / "snapshot.pickle"
    path.write_bytes(pickle.dumps(train(leaks=False).snapshot()))
    part = load(path, window=TimeWindow(0, 100_000))
    assert not part.has("memory_blocks")  # they are of the end
    assert titles(overview(part, "part")) == {}
