"""What the tool says of a recorded case, beside what an expert says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.gpu.pairs.recording import RECORDERS, Recorder, recording_name
from tests.gpu.verdicts.case import Case, Expected, Plain

from rocm_perf.analysis.overview import examine
from rocm_perf.ingest.load import load
from rocm_perf.model.finding import Finding


class Judged(NamedTuple):
    """The findings on one recording of a case, the first one first."""

    case: Case | Plain
    recorder: Recorder
    findings: tuple[Finding, ...]

    @property
    def objections(self) -> list[str]:
        """What an expert would object to."""
        return list(_objections(self.case, self.findings))


def judged(case: Case | Plain, recorder: Recorder, folder: Path) -> Judged:
    """The verdict on one recording of the folder."""
    trace = load(folder / recording_name(case, recorder))
    return Judged(case, recorder, examine(trace, case.name).findings)


def recorded(case: Case | Plain, folder: Path) -> list[Recorder]:
    """The recorders that left a recording of the case in the folder."""
    return [recorder for recorder in RECORDERS if (folder / recording_name(case, recorder)).exists()]


def _objections(case: Expected, findings: tuple[Finding, ...]) -> Iterator[str]:
    if not findings:
        yield "nothing is said"
        return
    first = findings[0]
    if first.kind not in case.kinds:
        yield f"its kind is {first.kind}, not {' or '.join(case.kinds)}"
    if not re.search(case.says, "\n".join((first.title, first.remedy, *first.evidence))):
        yield f"it does not say {case.says}"
    for finding in findings:
        if case.never and re.search(case.never, f"{finding.title}\n{finding.remedy}"):
            yield f"it says {case.never}: {finding.title}"
