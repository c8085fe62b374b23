"""The first finding on programs of known limits, recorded on an H200: what their authors say of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rocm_perf.analysis.phases.build import phases
from rocm_perf.ingest.load import load
from tests.gpu.pairs.recording import RECORDERS, Recorder
from tests.gpu.verdicts.case import Case, Plain
from tests.gpu.verdicts.catalogue import CASES, PLAIN
from tests.gpu.verdicts.judged import Judged, judged, recorded

pytestmark = pytest.mark.thorough

FOLDER = Path(__file__).parents[1] / "data" / "h200" / "verdicts"
# A gather at its roof has "nothing to gain": whether its data has to move at all is not in a recording.
DISPUTED = {("reordered_cache", "torch")}


@pytest.mark.parametrize("recorder", RECORDERS, ids=lambda recorder: recorder.name)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_an_expert_agrees(case: Case, recorder: Recorder) -> None:
    agrees = not judged(case, recorder, FOLDER).objections
    assert agrees != ((case.name, recorder.name) in DISPUTED)


@pytest.mark.parametrize("case", PLAIN, ids=lambda case: case.name)
def test_an_expert_agrees_without_a_framework(case: Plain) -> None:
    assert not judged(case, RECORDERS[0], FOLDER).objections


def test_every_case_was_recorded() -> None:
    assert all(len(recorded(case, FOLDER)) == len(RECORDERS) for case in CASES)
    assert all(recorded(case, FOLDER) == [RECORDERS[0]] for case in PLAIN)


def test_a_wrong_verdict_is_told() -> None:
    one, other = CASES[0], CASES[-1]
    right = judged(other, RECORDERS[0], FOLDER)
    (objection, *_) = Judged(one, RECORDERS[0], right.findings).objections
    assert "not host-bound" in objection
    assert Judged(one, RECORDERS[0], ()).objections == ["nothing is said"]


RECORDED = [json.loads(line) for line in (FOLDER / "cases.jsonl").read_text().splitlines()[1:]]
WARMED_UP_LONGER = {"offloaded_ahead"}  # ten steps, then a loop of six


@pytest.mark.parametrize(
    "row", [row for row in RECORDED if row["recorder"] == "cupti"], ids=lambda row: row["case"]
)
def test_the_loop_is_judged_not_what_comes_before(row: dict[str, Any]) -> None:
    division = phases(load(FOLDER / row["file"]))
    (steady,) = [phase for phase in division.rows if phase.name == "steady"]
    known = row["steps"], row["steps"] - 1  # when the last one ends may not be recorded
    by_its_own_clock = [pytest.approx(1000 * row["us_per_step"] * steps, rel=0.12) for steps in known]
    assert (steady.duration_ns in by_its_own_clock) != (row["case"] in WARMED_UP_LONGER)
