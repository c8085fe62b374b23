"""Figures made of bars: idle time, families, the critical path, instructions."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from rocm_perf.model.results.gaps import Gaps
from rocm_perf.model.results.kernels import Families, FamilyTotal
from rocm_perf.model.results.sync import Waiting
from rocm_perf.render import svg
from rocm_perf.render.figures.families import families_figure
from rocm_perf.render.figures.figure import NARROW, Figure, Missing
from rocm_perf.render.figures.idle import idle_figure
from rocm_perf.render.figures.instructions import sampled_figure
from rocm_perf.render.figures.parts import Part, legend
from rocm_perf.render.figures.path import path_figure
from rocm_perf.render.figures.waiting import waiting_figure
from tests.unit.render.documents import simulated
from tests.unit.render.figures.drawings import SVG, check, parsed, rects, texts

STRAGGLER = simulated("straggler")


def bars(figure: Figure, top: float) -> list[svg.Box]:
    """The parts of the bar at this height, in their order."""
    looks = {one.get("class", "") for one in parsed(figure).iter(f"{SVG}rect")}
    parts = {box for look in looks for box in rects(figure, look) if box.top == top and box.height == 22}
    return sorted(parts, key=lambda box: box.left)


def test_busy_and_idle_time_of_every_gpu_fill_its_bar() -> None:
    drawn = idle_figure(STRAGGLER.gaps, STRAGGLER.devices, width=500)
    assert isinstance(drawn, Figure)
    for row in range(len(STRAGGLER.devices)):
        parts = bars(drawn, row * 30)
        assert parts[-1].right == pytest.approx(500, abs=0.1)
        assert sum(part.width for part in parts) == pytest.approx(500 - parts[0].left, abs=0.1)
    named = [text for text in texts(drawn) if text.startswith("GPU")]
    assert named == [f"GPU {number} (rank {number - 2})" for number in range(2, 6)]


def test_the_busy_part_is_as_wide_as_the_gpu_was_busy() -> None:
    device = min(STRAGGLER.devices, key=lambda row: row.agent_id or 0)
    drawn = idle_figure(STRAGGLER.gaps, [device], width=500)
    assert isinstance(drawn, Figure)
    busy, *rest = bars(drawn, 0)
    assert busy.width / (busy.width + sum(part.width for part in rest)) == pytest.approx(
        device.busy.value, abs=1e-3
    )


def test_idle_time_without_gaps_says_why() -> None:
    gaps = replace(STRAGGLER.gaps, unavailable="no dispatch has a time")
    assert idle_figure(gaps, STRAGGLER.devices) == Missing("no dispatch has a time")
    assert isinstance(idle_figure(STRAGGLER.gaps, ()), Missing)


def test_idle_time_that_no_gap_accounts_for_is_not_given_away() -> None:
    gaps: Gaps = replace(STRAGGLER.gaps, places=())
    assert any(
        text.startswith("nothing recorded 22.0 %") for text in texts(idle_figure(gaps, STRAGGLER.devices))
    )


def test_a_full_bar_of_a_family_is_all_kernel_time() -> None:
    rows = (
        FamilyTotal("gemm", 2, 10, 750, 0.75, ("hipBLASLt",)),
        FamilyTotal("other", 1, 5, 250, 0.25, ()),
    )
    families = Families(
        rows=rows, gemm_share=STRAGGLER.families.gemm_share, unclassified_share=STRAGGLER.families.gemm_share
    )
    drawn = families_figure(families, width=600)
    full = rects(drawn, "idle")[0]
    assert rects(drawn, "fill-1")[0].width == pytest.approx(0.75 * full.width, abs=0.02)
    assert rects(drawn, "fill-8")[0].width == pytest.approx(0.25 * full.width, abs=0.02)
    assert families_figure(replace(families, rows=())) == Missing("no kernels were recorded")


def test_the_path_is_as_wide_as_the_picture_and_its_kernels_have_their_slack() -> None:
    drawn = path_figure(STRAGGLER.path, width=NARROW)
    check(drawn)
    looks = {one.get("class", "") for one in parsed(drawn).iter(f"{SVG}rect")}
    whole = [box for look in looks for box in rects(drawn, look) if box.height == 26]
    assert sum(box.width for box in whole) == pytest.approx(NARROW, abs=0.1)
    assert sum("slack" in text for text in texts(drawn)) == 1 + len(STRAGGLER.path.by_kernel)


def test_a_path_without_links_says_what_is_missing() -> None:
    empty = replace(STRAGGLER.path, links=0, missing=("host calls",))
    assert path_figure(empty) == Missing("host calls")


def test_samples_that_were_not_taken_say_so() -> None:
    assert sampled_figure(STRAGGLER.pc_samples) == Missing(STRAGGLER.pc_samples.unavailable or "")


def test_a_legend_wraps_and_stays_in_its_width() -> None:
    parts = [Part(name="n" * 80, value=1, look="idle", said="12 ms (3.0 %)") for _ in range(5)]
    key = legend(parts, left=0, top=0, width=200)
    assert key.height == 5 * 20
    check(Figure(title="legend", width=200, height=key.height, body=key.body))


def test_waiting_is_as_long_as_it_lasted_in_both_parts() -> None:
    row = Waiting(name="hipDeviceSynchronize", calls=3, total_ns=400, useful_ns=300, lost_ns=100)
    short = Waiting(name="hipEventSynchronize", calls=1, total_ns=100, useful_ns=100, lost_ns=0)
    drawn = waiting_figure(replace(STRAGGLER.sync, functions=(row, short), unavailable=None), width=600)
    check(drawn)
    (long, brief), (lost,) = (
        [box for box in rects(drawn, look) if box.height == 12] for look in ("fill-1", "fill-6")
    )
    assert long.width == pytest.approx(3 * brief.width, abs=0.05)
    assert lost.left == pytest.approx(long.right, abs=0.02)
    assert lost.width == pytest.approx(brief.width, abs=0.02)


def test_no_waiting_says_so() -> None:
    nobody = replace(STRAGGLER.sync, functions=(), unavailable=None)
    assert waiting_figure(nobody) == Missing("no call waited for the GPU")
