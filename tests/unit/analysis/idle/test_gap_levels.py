"""Levels that divide the work alike share their gaps, whatever the numbers of queues and streams are."""

from __future__ import annotations

import pytest

from rocm_perf.analysis.idle.gaps import gaps
from tests.unit.analysis.traces import kernel, trace

_TIMES = ((0, 10), (5, 20), (30, 40), (100, 110))
_ONE, _TWO, _TURNED, _LATER = (1, 1, 1, 1), (1, 2, 1, 2), (2, 1, 2, 1), (1, 1, 2, 2)


def _idle(queues: tuple[int, ...], streams: tuple[int, ...]) -> dict[str, list[int]]:
    rows = [
        kernel("k", start, end, queue_id=queue, stream_id=stream)
        for (start, end), queue, stream in zip(_TIMES, queues, streams, strict=True)
    ]
    places = gaps(trace(dispatches=rows)).places
    return {
        level: [place.idle_ns for place in places if place.level == level]
        for level in ("gpu", "queue", "stream")
    }


@pytest.mark.parametrize(
    ("queues", "streams", "expected"),
    [
        (_ONE, _ONE, {"gpu": [70], "queue": [70], "stream": [70]}),
        (_TWO, _TWO, {"gpu": [70], "queue": [20, 80], "stream": [20, 80]}),
        (_TWO, _TURNED, {"gpu": [70], "queue": [20, 80], "stream": [80, 20]}),
        (_ONE, _TWO, {"gpu": [70], "queue": [70], "stream": [20, 80]}),
        (_TWO, _ONE, {"gpu": [70], "queue": [20, 80], "stream": [70]}),
        (_LATER, _TWO, {"gpu": [70], "queue": [0, 60], "stream": [20, 80]}),
    ],
)
def test_each_level_has_its_own_idle_time(
    queues: tuple[int, ...], streams: tuple[int, ...], expected: dict[str, list[int]]
) -> None:
    assert _idle(queues, streams) == expected
