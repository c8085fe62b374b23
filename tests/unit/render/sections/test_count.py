"""What `count` prints: complete, and no wider than the terminal."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from rocm_perf.analysis.emulated.build import counting
from rocm_perf.render import json
from rocm_perf.render.screen.count import print_count
from tests.unit.analysis.emulated.rows import LANES, SAXPY, WAVES, observed, row

CONFLICT = row("ds_load_b32 v0, v1", bytes=4 * LANES, lds_cycles=32 * WAVES, lds_conflicts=31 * WAVES)


def printed(width: int, time_ns: float | None = None) -> str:
    out = io.StringIO()
    console = Console(file=out, width=width)
    result = counting(observed(*SAXPY, CONFLICT), time_ns=time_ns)
    print_count(result, console, by_line=True, next_command="rocm-perf")
    return out.getvalue()


@pytest.mark.parametrize("width", [80, 160])
def test_everything_is_said_and_fits(width: int) -> None:
    text = printed(width)
    assert max(map(len, text.splitlines())) <= width
    joined = " ".join(text.split())
    for words in (
        "Memory-bound on this GPU",
        "from 0.125 (no cache) to 0.167 FLOP/B (every line once); the ridge is at 116",
        "96.9 % of the LDS cycles are bank conflicts",
        "share of the roof: unavailable (emulation has no time",
        "By source line unavailable: the code object has no line tables",
        "no hit rates",
    ):
        assert words in joined


def test_a_time_gives_it_a_place_under_the_roof() -> None:
    text = " ".join(printed(160, time_ns=3072).split())
    assert "it takes 3.07 us: 0.0213 TFLOP/s, 0.128 TB/s or more; 50 % of memory (DRAM)" in text


def test_json_is_whole_and_has_a_version() -> None:
    import msgspec

    document = msgspec.json.decode(json.encode(counting(observed(*SAXPY))))
    assert document["schema_version"] == 1
    assert len(document["instructions"]) == len(SAXPY)
    assert document["roofline"]["intensity_most"]["formula"]
