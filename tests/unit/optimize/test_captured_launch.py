"""What a captured dispatch tells transforms."""

from __future__ import annotations

import struct
from types import SimpleNamespace
from typing import Any, cast

from rocm_perf.optimize.captured_launch import captured_launch
from rocm_perf.optimize.source.parse import parse
from rocm_perf.optimize.transforms.setting import Pointer
from rocm_perf.replay.snapshot import Region, Snapshot

SOURCE = b"__global__ void k(const float* in, float* out, unsigned n, float scale, double d, short s) {}"
KERNARG = struct.pack("<QQIfdh6x", 0x1010, 0x2000, 4_000_000_000, 0.5, 2.25, -3)
PLACES = [(0, 8), (8, 8), (16, 4), (20, 4), (24, 8), (32, 2)]


def snapshot() -> Snapshot:
    regions = (Region(base=0x1000, size=0x100, kind="device"), Region(base=0x3000, size=0x100, kind="device"))
    return cast(Snapshot, SimpleNamespace(dispatch=SimpleNamespace(workgroup=(64, 1, 1)), regions=regions))


def launched(places: list[tuple[int, int]]) -> Any:
    return captured_launch(snapshot(), KERNARG, parse(SOURCE).kernel("k").parameters, places)


def test_values_and_pointers_by_the_names_of_the_source() -> None:
    launch = launched(PLACES)
    assert launch.block == (64, 1, 1)
    assert launch.values == {"n": 4_000_000_000, "scale": 0.5, "d": 2.25, "s": -3}
    assert launch.pointers == {"in": Pointer(0x1010, 0x1000), "out": Pointer(0x2000, None)}


def test_arguments_that_do_not_fit_to_the_source_tell_nothing() -> None:
    assert not launched(PLACES[:-1]).values
    wide = [*PLACES[:2], (16, 8), *PLACES[3:]]  # an unsigned of eight bytes is another type
    assert "n" not in launched(wide).values
