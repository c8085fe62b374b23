"""What the plausibility checks say about every recorded output of a real tool. Each line of sanity.tsv was read and
judged true; a specimen that is not in it raises no alarm."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from rocm_perf.analysis.trust.sanity import sanity
from rocm_perf.ingest.load import load
from rocm_perf.model.trace import Trace
from tests.golden.test_specimens import READABLE
from tests.integration.test_folders import lay_out
from tests.recordings import recording

TABLE = Path(__file__).parent / "sanity.tsv"


def expected() -> dict[str, str]:
    with TABLE.open() as file:
        return {row["file"]: row["findings"] for row in csv.DictReader(file, delimiter="\t")}


def describe(trace: Trace) -> str:
    return " ".join(f"{finding.severity}:{finding.id}" for finding in sanity(trace))


@pytest.mark.parametrize("name", READABLE)
@pytest.mark.whole
def test_specimen(specimens: Path, name: str) -> None:
    assert describe(recording(specimens / name)) == expected().get(name, "")


def test_every_line_is_a_specimen() -> None:
    assert expected().keys() <= set(READABLE)


@pytest.mark.parametrize("gpu", ["MI350", "MI100"])
def test_passes_of_one_workload_agree(specimens: Path, tmp_path: Path, gpu: str) -> None:
    prefix = f"ROCm_rocm-systems__vcopy_{gpu}_"
    lay_out(specimens, f"rocprof_compute/{prefix}*", tmp_path, prefix)
    trace = load(tmp_path)
    assert trace.table("counters")["pass_id"].n_unique() > 1
    assert describe(trace) == ""
