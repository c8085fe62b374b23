"""The ledger and what is concluded from it, on every recorded specimen: entries add up to the judged time, no finding
is worth more than its entries, and what is worth most comes first."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from rocm_perf.analysis.overview import examine
from rocm_perf.analysis.verdict.themes import IDLE, THEMES
from rocm_perf.model.document import Document
from rocm_perf.model.finding import Finding
from rocm_perf.model.results.ledger import CAUSES
from tests.golden.test_specimens import GOLDEN
from tests.recordings import answer, recording, sampled

NAMES = [name for name, row in GOLDEN.items() if "dispatches=" in row["rows"] or "copies=" in row["rows"]]
H200 = sorted((Path(__file__).parents[1] / "data" / "h200").rglob("*.trace.json.gz"))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.whole
def test_the_judged_part_of_every_specimen(specimens: Path, name: str) -> None:
    check(examine(recording(specimens / name), name))


@pytest.mark.parametrize("name", sampled(NAMES))
def test_every_specimen_as_a_whole(specimens: Path, name: str) -> None:
    check(answer(specimens / name))


@pytest.mark.parametrize("path", [pytest.param(path, id=path.name) for path in H200])
@pytest.mark.whole
def test_every_recording_of_an_h200(path: Path) -> None:
    check(examine(recording(path), path.name))


def check(document: Document) -> None:
    check_sums(document)
    check_worth(document)
    check_order([finding for finding in document.findings if finding.id in IDLE], document)


def check_sums(document: Document) -> None:
    ledger = document.ledger
    assert sum(entry.total_ns for entry in ledger.entries) == ledger.judged_ns
    assert sum(gpu.judged_ns for gpu in ledger.gpus) == ledger.judged_ns
    for gpu in ledger.gpus:
        assert sum(entry.total_ns for entry in gpu.entries) == gpu.judged_ns
    assert all(entry.total_ns > 0 and entry.count > 0 for entry in ledger.entries)
    assert all(entry.cause in CAUSES for entry in ledger.entries)
    if ledger.idle_unknown is None and ledger.gpus:
        assert max(gpu.judged_ns for gpu in ledger.gpus) == document.judged_ns


def check_worth(document: Document) -> None:
    """No finding about idle time or copies is worth more than the entries that its remedy removes, and all of them
    together no more than what the entries of all hold."""
    ledger = document.ledger
    claimed = 0
    for theme in THEMES:
        entries = sum(entry.total_ns for entry in theme.claimed(ledger, retimed=True))
        for finding in document.findings:
            if finding.id == theme.id and finding.time_at_stake_ns is not None:
                assert finding.time_at_stake_ns <= ledger.of_one_gpu_ns(entries), finding.title
                claimed += finding.time_at_stake_ns
    removable = {
        (entry.cause, entry.place): entry.total_ns
        for theme in THEMES
        for entry in theme.claimed(ledger, retimed=True)
    }
    assert claimed <= ledger.of_one_gpu_ns(sum(removable.values())) + len(THEMES)


def check_order(about_idle: Sequence[Finding], document: Document) -> None:
    """The entry with more than half of the idle time leads; behind it, those worth most come first."""
    ledger = document.ledger
    largest = next((entry for entry in ledger.entries if entry.kind == "idle"), None)
    if not about_idle or largest is None:
        return
    if 2 * largest.total_ns > ledger.idle_ns:
        about = {theme.id for theme in THEMES if largest in theme.claimed(ledger, retimed=True)}
        if about & {finding.id for finding in about_idle}:
            assert about_idle[0].id in about, about_idle[0].title
    sure = [finding.time_at_stake_ns or 0 for finding in about_idle[1:] if finding.kind != "unrecorded-work"]
    assert sure == sorted(sure, reverse=True)
