"""A Perfetto trace in several files, none larger than asked for. Each is a trace of its own: a stretch of time, to
which belongs what starts in it, so nothing is lost and nothing is written twice."""

from __future__ import annotations

from itertools import chain

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rocm_perf.errors import UsageError
from rocm_perf.render.formats.perfetto_contents import Contents
from rocm_perf.render.formats.perfetto_file import Encoded
from rocm_perf.units import format_bytes


def parts(shown: Contents, most_bytes: int) -> list[Contents]:
    """The contents in the fewest stretches of time of which each fits; a part has no more tracks, names or longer
    numbers than the whole."""
    encoded = Encoded(shown)
    sizes = np.fromiter(
        (len(event) for packets in chain(encoded.slices, encoded.readings) for event in packets), np.int64
    )
    if len(encoded.head) + sizes.sum() <= most_bytes:
        return [shown]
    room = most_bytes - len(encoded.head)
    if room < sizes.max():
        least = len(encoded.head) + int(sizes.max())
        raise UsageError(
            f"no part of this trace fits into {format_bytes(most_bytes)}",
            f"the names and tracks that every part may need take {format_bytes(len(encoded.head))}",
            f"Give --split at least {format_bytes(2 * least)}, or a part of the recording with --from and --to.",
        )
    times = np.concatenate([shown.slices["start_ns"].to_numpy(), shown.readings["time_ns"].to_numpy()])
    numbers = _numbered(times, sizes, room)
    of_slice, of_reading = np.split(numbers, [shown.slices.height])
    return [
        shown.only(pl.Series(of_slice == number), pl.Series(of_reading == number))
        for number in range(int(numbers.max()) + 1)
    ]


def _numbered(times: NDArray[np.int64], sizes: NDArray[np.int64], room: int) -> NDArray[np.int64]:
    """The number of the part of each event: as many as there is room for, in the order of time."""
    order = np.argsort(times, kind="stable")
    behind = np.cumsum(sizes[order])
    numbers = np.empty(len(times), np.int64)
    first = number = 0
    while first < len(order):
        written = behind[first - 1] if first else 0
        after = int(np.searchsorted(behind, written + room, "right"))
        numbers[order[first:after]] = number
        first, number = after, number + 1
    return numbers
