"""What holds for the verdict on the judged part of every recorded output of a real tool."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocm_perf.analysis.overview import examine
from tests.golden.test_specimens import GOLDEN
from tests.recordings import recording
from tests.whole_answer import check_answer

pytestmark = pytest.mark.thorough

IDLE = ("sync", "host-bound", "copies")


@pytest.mark.parametrize("name", [name for name, row in GOLDEN.items() if not row["refused"]])
def test_specimen(specimens: Path, name: str) -> None:
    document = examine(recording(specimens / name), name)
    check_answer(document)
    judged = document.judged_ns
    claimed = [one.time_at_stake_ns or 0 for one in document.findings if one.kind in IDLE]
    assert not document.devices or sum(claimed) <= judged
    projected = {one.saved_ns for one in document.projections}
    for finding in document.findings:
        if finding.kind in IDLE and finding.projected_speedup is not None:
            assert (finding.time_at_stake_ns or 0) <= max(projected)
