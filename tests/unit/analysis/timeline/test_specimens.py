"""Timelines of what the real tools recorded: one of each kind that fills other tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocm_perf.analysis.timeline.build import timeline
from rocm_perf.render.page.payload import payload
from tests.golden.test_specimens import GOLDEN
from tests.recordings import answer, recording

SPANS = ("dispatches", "copies", "api_calls", "ops", "ranges")


def kinds() -> list[str]:
    """The first recording of each format and set of tables."""
    first: dict[tuple[str, ...], str] = {}
    for name, row in GOLDEN.items():
        if not row["refused"]:
            tables = [part.partition("=")[0] for part in row["rows"].split()]
            first.setdefault((row["format"], *tables), name)
    return list(first.values())


@pytest.mark.thorough
@pytest.mark.parametrize("name", kinds())
def test_specimen(specimens: Path, name: str) -> None:
    trace, document = recording(specimens / name), answer(specimens / name)
    shown = timeline(trace, document)
    assert payload(document, shown)
    if shown is None:
        assert not any(trace.table(table)["end_ns"].count() for table in SPANS)
        return
    own = [track for track in shown.tracks if track.kind in ("queue", "copies")]
    busy = sum(int(shown.slices_of(track)["count"].sum()) for track in own)
    assert busy == sum(device.dispatches + device.copies for device in document.devices)
