"""Which preset is worth a second recording."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from rocm_perf import analyze, simulate
from rocm_perf.analysis.verdict.next_preset import next_preset
from rocm_perf.model.document import Document
from rocm_perf.model.finding import Finding

WORKLOADS = Path(__file__).parents[4] / "examples" / "workloads"


@pytest.fixture(scope="module")
def waiting() -> Document:
    return analyze(simulate(WORKLOADS / "sync_in_loop.toml"))


@pytest.fixture(scope="module")
def busy() -> Document:
    return analyze(simulate(WORKLOADS / "sync_hoisted.toml"))


def test_an_idle_gpu_is_the_hosts_doing(waiting: Document) -> None:
    worth = next_preset(waiting)
    assert worth is not None
    assert worth.preset == "api_overhead"
    assert "66.8 %" in worth.reason


def test_calls_that_were_recorded_are_not_asked_for_again(waiting: Document) -> None:
    agents = tuple(
        msgspec.structs.replace(agent, gfx="sm_90", name="NVIDIA H200") for agent in waiting.agents
    )
    worth = next_preset(msgspec.structs.replace(waiting, agents=agents))
    assert worth is None or worth.preset != "api_overhead"


def test_matrix_products_ask_for_compute(busy: Document) -> None:
    document = msgspec.structs.replace(
        busy, bottlenecks=msgspec.structs.replace(busy.bottlenecks, kernels=())
    )
    worth = next_preset(document)
    assert worth is not None
    assert worth.preset == "compute"
    assert "matrix products" in worth.reason


def test_the_first_finding_decides(busy: Document) -> None:
    finding = Finding("exposed-communication", "warning", "waits", kind="communication")
    worth = next_preset(msgspec.structs.replace(busy, findings=(finding, *busy.findings)))
    assert worth is not None
    assert worth.preset == "communication"


def test_counters_are_here_already(busy: Document) -> None:
    assert next_preset(msgspec.structs.replace(busy, tables={"counters": 5})) is None


def test_without_kernels_nothing_is_advised(busy: Document) -> None:
    hotspots = msgspec.structs.replace(busy.hotspots, rows=())
    assert next_preset(msgspec.structs.replace(busy, hotspots=hotspots)) is None
