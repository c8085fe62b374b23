"""What cannot be counted is not recommended: no report names counters after saying that there are none."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

from rocm_perf import analyze, simulate
from rocm_perf.analysis.verdict.next_preset import next_preset
from rocm_perf.model.collection import CollectionRecord
from rocm_perf.model.document import Document
from rocm_perf.model.run import RunInfo
from rocm_perf.model.trace import Trace
from rocm_perf.render.page.page import page
from rocm_perf.render.report.markdown import markdown

WORKLOAD = Path(__file__).parents[4] / "examples" / "workloads" / "sync_hoisted.toml"
RECOMMENDED = re.compile(
    r"--counters|--deep|list-counters|--preset (?:compute|memory|full)\b|counters (?:would|tell)|[Cc]ount what"
)
REFUSED_BY_DRIVER = (
    "counters: hardware counters cannot be read: the library aqlprofile refuses this GPU with this ROCm. "
    "Tracing, torch.profiler, timing and static analysis remain; what remains: timing"
)


def recorded(gfx: str, rocm: str, *could_not: str) -> Document:
    """What is said of a recording of ours: kernels and calls, no counters."""
    simulated = simulate(WORKLOAD)
    record = CollectionRecord(
        run_id="run",
        host="node",
        pid=1,
        command=("./app",),
        folder="/",
        started_at="2026-11-19T12:00:00Z",
        profiler="rocprofv3",
        could_not=could_not,
        machine={"rocm": rocm, "gfx": gfx},
    )
    agents = simulated.table("agents").with_columns(pl.lit(gfx).alias("gfx"), pl.lit(gfx).alias("name"))
    tables = {name: simulated.table(name) for name in simulated if name != "counters"}
    run = RunInfo(tool="rocprofv3", command="./app", collection=record)
    return analyze(Trace({**tables, "agents": agents}, run))


def recommended(document: Document) -> set[str]:
    reports = (markdown(document), page(document))
    return {found for text in reports for found in RECOMMENDED.findall(text)}


@pytest.mark.parametrize(
    ("gfx", "rocm", "could_not"),
    [
        ("gfx1151", "6.4.1", ()),  # the catalogue knows that this release has none for this chip
        ("gfx942", "7.2.0", (REFUSED_BY_DRIVER,)),
        ("gfx1151", "7.2.0", (REFUSED_BY_DRIVER,)),
    ],
)
def test_no_report_recommends_counters_that_cannot_be_had(
    gfx: str, rocm: str, could_not: tuple[str, ...]
) -> None:
    document = recorded(gfx, rocm, *could_not)
    assert recommended(document) == set()
    assert next_preset(document) is None


@pytest.mark.parametrize(("gfx", "rocm"), [("gfx1151", "7.2.4"), ("gfx942", "6.4.1")])
def test_counters_that_can_be_had_are_recommended(gfx: str, rocm: str) -> None:
    document = recorded(gfx, rocm)
    assert {"--deep", "list-counters"} <= recommended(document)
    worth = next_preset(document)
    assert worth is not None
    assert worth.preset == "compute"


def test_the_metrics_say_why_there_are_none() -> None:
    refused = recorded("gfx942", "7.2.0", REFUSED_BY_DRIVER).metrics.unavailable
    assert refused == (
        "no counters were recorded (hardware counters cannot be read: the library aqlprofile refuses this GPU with "
        "this ROCm)"
    )
    older = recorded("gfx1151", "6.4.1").metrics.unavailable
    assert older == "no counters were recorded (gfx1151 has it from ROCm 7.2 on, and this is 6.4.1)"
