"""When memory is what to look at."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import polars as pl
import pytest
from msgspec.structs import replace

from rocm_perf.analysis.memory.findings import memory_findings
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
    assert next(iter(found.items())) == (
        "memory-growth",
        "Memory grows with every step: /home/me/train.py(48): remember holds on to 3.00 MiB more",
    )


def test_with_the_capacity_it_says_how_long_it_lasts(tmp_path: Path) -> None:
    growth = told(tmp_path, train(), 10 * GIB).findings[0]
    assert growth.evidence[-1] == "at this rate the GPU is full after 3,363 more steps"


def test_growth_that_would_take_years_is_not_a_finding(tmp_path: Path) -> None:
    allocator = Allocator()
    for number in range(6):
        allocator.annotate(f"ProfilerStep#{number}", "START")
        allocator.allocate(512, frames("/home/me/train.py:3:log"))
        allocator.annotate(f"ProfilerStep#{number}", "END")
    document = told(tmp_path, allocator, 192 * GIB)
    assert [row.site for row in document.memory.growing] == ["/home/me/train.py(3): log"]
    assert "memory-growth" not in titles(document)


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
    assert list(found) == ["out-of-memory", "memory-peak", "memory-fragmented"]
    assert (
        found["out-of-memory"]
        == "Memory ran out: 1.00 GiB could not be allocated at /home/me/serve.py(7): grow"
    )


def test_nothing_is_said_of_memory_that_comes_and_goes(tmp_path: Path) -> None:
    document = told(tmp_path, train(leaks=False), 80 * GIB)
    assert list(titles(document)) == ["memory-peak"]
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
    assert list(titles(overview(part, "part"))) == ["memory-peak"]


def test_a_snapshot_says_first_who_holds_most_where_and_what_to_do(tmp_path: Path) -> None:
    found = told(tmp_path, train(leaks=False)).findings[0]
    assert (found.id, found.kind) == ("memory-peak", "memory")
    owner = found.title.partition(": ")[2].rpartition(" ")[0]
    assert found.title.startswith("At its peak the program holds ")
    assert owner
    assert re.match(r"[\w ]+: /home/me/\w+\.py\(\d+\): \w+ ", found.evidence[0])
    assert found.evidence[-1] == "only memory was recorded: nothing can be told about time"
    assert found.time_at_stake_ns is None


@pytest.mark.parametrize(
    ("place", "remedy"),
    [
        ("/usr/lib/python3.11/site-packages/torch/optim/adam.py:9:step", "AdamW8bit"),
        ("/home/me/model.py:7:forward", "torch.utils.checkpoint"),
        ("/usr/lib/python3.11/site-packages/torch/nn/modules/module.py:3:_apply", "torch.bfloat16"),
    ],
)
def test_each_owner_has_its_remedy(place: str, remedy: str, tmp_path: Path) -> None:
    allocator = Allocator()
    allocator.allocate(GIB, frames(place))
    assert remedy in told(tmp_path, allocator).findings[0].remedy


def test_what_is_cached_and_unused_comes_before_what_is_held(tmp_path: Path) -> None:
    document = told(tmp_path, train(leaks=False))
    (blocks,), peak = document.memory.fragmentation, document.memory.peaks[0].bytes
    wide = replace(document.memory, fragmentation=(replace(blocks, reserved_bytes=peak + GIB),))
    found = memory_findings(replace(document, memory=wide))[0]
    assert found.title.endswith("; 1.00 GiB more are cached and unused")
    assert "torch.cuda.empty_cache()" in found.remedy
    assert "cached" not in document.findings[0].title  # what is free in the end was needed at the peak


def test_where_kernels_were_recorded_memory_that_is_no_problem_is_no_finding() -> None:
    made = {
        "level": "CACHED",
        "operation": "ALLOC",
        "start_ns": 5,
        "end_ns": 5,
        "size_bytes": GIB,
        "address": 64,
    }
    document = overview(trace(dispatches=[kernel("k", 0, 9)], allocations=[{"agent_id": 0, **made}]), "x")
    assert document.memory.peaks
    assert "memory-peak" not in titles(document)
