"""Prometheus text, as its own client library reads it."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from rocm_perf import api
from rocm_perf.cli.demo import workload_file
from rocm_perf.model.document import Document
from rocm_perf.render.formats import prometheus

parser = pytest.importorskip("prometheus_client.parser", reason="prometheus-client is not installed")

Values = dict[tuple[str, frozenset[tuple[str, str]]], float]


def parsed(path: Path) -> Values:
    values: Values = {}
    for family in parser.text_string_to_metric_families(path.read_text()):
        assert family.type == "gauge"
        assert family.documentation
        assert re.fullmatch("rocm_perf_[a-z_]+", family.name)
        for sample in family.samples:
            key = (sample.name, frozenset(sample.labels.items()))
            assert key not in values
            values[key] = sample.value
    return values


def value(values: Values, name: str, **labels: str) -> float:
    return values[f"rocm_perf_{name}", frozenset(labels.items())]


@pytest.fixture(scope="module")
def document() -> Document:
    return api.analyze(api.simulate(workload_file("sync_in_loop")))


def test_the_gauges_say_what_the_document_says(document: Document, tmp_path: Path) -> None:
    prometheus.write(document, tmp_path / "x.prom")
    values = parsed(tmp_path / "x.prom")
    gpu = document.devices[0]
    assert value(values, "wall_seconds") == pytest.approx((document.wall_ns or 0) / 1e9)
    assert value(values, "gpu_busy_ratio", node="0", gpu=str(gpu.agent_id)) == gpu.busy.value
    for row in document.hotspots.rows:
        assert value(values, "kernel_calls", kernel=row.kernel) == row.calls
        assert value(values, "kernel_seconds", kernel=row.kernel) == row.total_ns / 1e9
    for cause in document.gaps.causes:
        assert value(values, "idle_cause_seconds", cause=cause.cause) == cause.total_ns / 1e9
    assert len([key for key in values if key[0] == "rocm_perf_finding_info"]) == len(document.findings)


def test_hostile_names_are_values_of_labels(document: Document, tmp_path: Path) -> None:
    names = ['a"} 1\nrocm_perf_evil 2', "back\\slash\\n", "\u202ex", "long" * 2500, "not UTF-8 \udcff"]
    rows = tuple(
        msgspec.structs.replace(document.hotspots.rows[0], kernel=name, calls=place)
        for place, name in enumerate(names)
    )
    hotspots = msgspec.structs.replace(document.hotspots, rows=rows)
    prometheus.write(msgspec.structs.replace(document, hotspots=hotspots), tmp_path / "x.prom")
    values = parsed(tmp_path / "x.prom")
    assert ("rocm_perf_evil", frozenset()) not in values
    shown = [name.replace("\udcff", "\\xff") for name in names]
    assert [value(values, "kernel_calls", kernel=name) for name in shown] == [0, 1, 2, 3, 4]


def test_thousands_of_kernels_are_not_thousands_of_series(document: Document, tmp_path: Path) -> None:
    rows = tuple(
        msgspec.structs.replace(document.hotspots.rows[0], kernel=f"k{number}") for number in range(5000)
    )
    hotspots = msgspec.structs.replace(document.hotspots, rows=rows)
    prometheus.write(msgspec.structs.replace(document, hotspots=hotspots), tmp_path / "x.prom")
    values = parsed(tmp_path / "x.prom")
    assert len([key for key in values if key[0] == "rocm_perf_kernel_calls"]) == prometheus.MOST_KERNELS
