"""The first finding beside an expert's verdict, for recordings that somebody read by hand without any tool."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import tomli

from rocm_perf.analysis.overview import examine
from rocm_perf.ingest.load import load_files
from rocm_perf.model.finding import Finding

pytestmark = pytest.mark.whole

FEWEST = 34  # of 36: experts differ, too


@dataclass(frozen=True)
class Judged:
    """One recording: what the expert wants, and what was said first."""

    wanted: dict[str, Any]
    findings: tuple[Finding, ...]

    @property
    def first(self) -> Finding | None:
        return next(iter(self.findings), None)

    @property
    def agrees(self) -> bool:
        """Whether the first finding is of the expert's kind, names what must be named, and says nothing wrong."""
        if self.first is None:
            return False
        kinds = (self.wanted["kind"], *self.wanted.get("also_ok", ()))
        named = all(re.search(name, statements(self.first)) for name in self.wanted["names"])
        return self.first.kind in kinds and named and not self.wrong(self.first)

    def wrong(self, finding: Finding) -> bool:
        return re.search(self.wanted["never"], statements(finding), re.IGNORECASE) is not None


def statements(finding: Finding) -> str:
    return " | ".join((finding.title, *finding.evidence, finding.remedy))


@cache
def judged(folder: Path) -> tuple[Judged, ...]:
    wanted = tomli.loads((folder.parent / "verdicts" / "verdicts.toml").read_text())["recording"]
    return tuple(Judged(row, said(folder, row)) for row in wanted)


def said(folder: Path, row: dict[str, Any]) -> tuple[Finding, ...]:
    paths = [folder / name for name in (row["path"], *row.get("also", ()))]
    (run,) = load_files(paths)
    return examine(run.trace, row["path"]).findings if run.trace else ()


@pytest.fixture
def verdicts(specimens: Path) -> tuple[Judged, ...]:
    if not (specimens.parent / "verdicts").is_dir():
        pytest.skip("the expert's verdicts are not on this machine")
    return judged(specimens)


def test_the_first_finding_is_the_experts(verdicts: tuple[Judged, ...]) -> None:
    rows = [
        f"{'ok ' if row.agrees else 'NOT'} {row.wanted['kind']:28} "
        f"{row.first.kind if row.first else 'nothing':28} {row.wanted['path']}"
        for row in verdicts
    ]
    print("\n".join(rows))
    assert sum(row.agrees for row in verdicts) >= FEWEST, "\n" + "\n".join(rows)


def test_every_finding_says_what_it_is_about(verdicts: tuple[Judged, ...]) -> None:
    assert [finding.id for row in verdicts for finding in row.findings if finding.kind is None] == []


def test_nothing_that_would_be_wrong_is_said_among_the_first_three(verdicts: tuple[Judged, ...]) -> None:
    wrong = [
        (row.wanted["path"], finding.id)
        for row in verdicts
        for finding in row.findings[:3]
        if row.wrong(finding)
    ]
    assert wrong == []
