"""What the command line does, as functions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import rocm_perf
from rocm_perf import api
from rocm_perf.cli.main import main
from rocm_perf.errors import InputError, UsageError
from tests.unit.analysis.traces import kernel, trace
from tests.unit.render.documents import ROOT

PAIRS = ROOT / "tests" / "data" / "h200" / "pairs"
BEFORE, AFTER = PAIRS / "products_sync.pt.trace.json.gz", PAIRS / "products_batched.pt.trace.json.gz"


@pytest.mark.whole
def test_compare_says_what_the_verb_says(capsys: pytest.CaptureFixture[str]) -> None:
    labels = BEFORE.name, AFTER.name
    comparison = rocm_perf.compare(BEFORE, str(AFTER), labels=labels, fail_on=["wall>3%"])
    assert main(["compare", str(BEFORE), str(AFTER), "--fail-on", "wall>3%", "--json"]) == 4
    said = json.loads(capsys.readouterr().out)
    assert (comparison.wall.base, comparison.wall.new) == (said["wall"]["base"], said["wall"]["new"])
    assert [row.id for row in comparison.findings] == [row["id"] for row in said["findings"]]
    assert [check.outcome for check in comparison.checks] == [check["outcome"] for check in said["checks"]]
    assert (comparison.base.label, comparison.new.label) == labels


@pytest.mark.whole
def test_compare_takes_traces_and_several_runs_of_a_side() -> None:
    slow, fast = (
        [trace(dispatches=[kernel("k", 0, length + run)]) for run in range(3)] for length in (900, 300)
    )
    comparison = rocm_perf.compare(slow, fast, whole=True)
    assert len(comparison.base.runs) == len(comparison.new.runs) == 3
    assert comparison.wall.ratio == pytest.approx(301 / 901, rel=1e-3)
    assert comparison.wall.verdict == "better"


@pytest.mark.whole
def test_compare_takes_a_folder_of_several_runs(tmp_path: Path) -> None:
    for recording in (BEFORE, AFTER):
        (tmp_path / recording.name).write_bytes(recording.read_bytes())
    assert len(api.compare(tmp_path, AFTER).base.runs) == 2


def test_what_cannot_be_compared_is_refused_before_anything_is_read() -> None:
    with pytest.raises(UsageError, match="median is that of a kernel"):
        rocm_perf.compare("not there", "not there", fail_on=["median>3%"])
    with pytest.raises(InputError, match="does not exist"):
        rocm_perf.compare("not there", "not there")
