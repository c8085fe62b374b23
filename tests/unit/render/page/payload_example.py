"""A timeline with everything that is hard to carry, and what the page's script must read of it.

`python -m tests.unit.render.page.payload_example` writes both to web/test/payload.json, which web/test/payload.test.ts
reads; test_payload.py fails where that file is not current.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl

from rocm_perf.model.results.timeline import FLOW, READING, SLICE, SliceDetail, Timeline, Track
from rocm_perf.render.page.payload import payload

FIXTURE = Path(__file__).parents[4] / "web" / "test" / "payload.json"
DAY_NS = 86_400 * 10**9  # beyond 2^32 ns, and 2^46
NAMES = (
    "<script>alert(1)</script>",
    "x" * 10_000,
    "line\nbreak\x00\x1b[31m\u2028",
    "\u202emal \U0001f680 ünï",
    "</script><!--",
)
DOCUMENT = {"label": NAMES[0], "wall_ns": 2**53 - 1, "nothing": None}


def example() -> Timeline:
    """Two tracks of slices, one without any, and a counter."""
    slices = [
        (0, 5, 0, 0, 1, 5, False),
        (5, DAY_NS, 1, 0, 1, DAY_NS - 5, True),
        (DAY_NS, DAY_NS + 2**33, 2, 255, 7, 2**32, False),
        (3, 3, 3, 0, 1, 0, False),
        (DAY_NS, DAY_NS + 1, 4, 1, 1, 1, True),
    ]
    return Timeline(
        begin_ns=2**60 + 1,
        length_ns=DAY_NS + 2**33,
        names=NAMES,
        labels=("script", *NAMES[1:]),
        tracks=(
            Track(kind="thread", group=NAMES[3], title=NAMES[2], first=3, length=2),
            Track(kind="counter", group="GPU 0", title="power", unit="W", first=0, length=3),
            Track(kind="ranges", group="GPU 0", title="none", first=3, length=0),
            Track(kind="queue", group="GPU 0", title="queue 1", first=0, length=3),
        ),
        slices=pl.DataFrame(slices, schema=SLICE, orient="row"),
        details=(
            SliceDetail("id", "", 0, pl.Series([2**53 - 1, None, 0])),
            SliceDetail("grid", "", 0, pl.Series([None, 4, 0], dtype=pl.UInt32), is_text=True),
            SliceDetail("share", "", 3, pl.Series([0.5, None])),
            SliceDetail("less than nothing", "ns", 3, pl.Series([-1, 2])),
        ),
        readings=pl.DataFrame([(0, 1.5), (10, -2.0), (DAY_NS, 1e300)], schema=READING, orient="row"),
        flows=pl.DataFrame([(3, 2), (4, 0)], schema=FLOW, orient="row"),
        steps=pl.Series([5, DAY_NS], dtype=pl.Int64),
        judged=(5, DAY_NS),
        thinned="some were merged",
        notes=(NAMES[4],),
    )


def expected() -> dict[str, Any]:
    """The same as the page's script has it, NaN as null."""
    shown = example()
    return {
        "beginNs": str(2**60 + 1),
        "lengthNs": DAY_NS + 2**33,
        "names": list(shown.names),
        "labels": list(shown.labels),
        "tracks": [_track(shown, track) for track in shown.tracks],
        "flows": {"fromTrack": [0, 0], "fromSlice": [0, 1], "toTrack": [3, 3], "toSlice": [2, 0]},
        "steps": [5, DAY_NS],
        "judged": [5, DAY_NS],
        "thinned": "some were merged",
        "notes": [NAMES[4]],
    }


def _track(shown: Timeline, track: Track) -> dict[str, Any]:
    slices = shown.slices_of(track)
    read = track.length if track.kind == "counter" else 0
    return {
        "kind": track.kind,
        "group": track.group,
        "title": track.title,
        "unit": track.unit,
        "slices": {
            "start": slices["start_ns"].to_list(),
            "end": slices["end_ns"].to_list(),
            "name": slices["name"].to_list(),
            "depth": slices["depth"].to_list(),
            "count": slices["count"].to_list(),
            "busy": slices["busy_ns"].to_list(),
            "onPath": slices["on_path"].cast(pl.UInt8).to_list(),
            "details": [
                {
                    "label": known.label,
                    "unit": known.unit,
                    "isText": known.is_text,
                    "values": known.values.to_list(),
                }
                for known in shown.details
                if known.first == track.first and slices.height
            ],
        },
        "at": shown.readings["at_ns"].slice(track.first, read).to_list(),
        "value": shown.readings["value"].slice(track.first, read).to_list(),
    }


def fixture() -> dict[str, Any]:
    """What the file holds: the text, the same without a timeline, and what to read of it."""
    return {
        "payload": payload(DOCUMENT, example()),
        "without": payload(DOCUMENT, None),
        "document": DOCUMENT,
        "timeline": expected(),
    }


if __name__ == "__main__":
    FIXTURE.write_text(json.dumps(fixture(), indent=1) + "\n")
