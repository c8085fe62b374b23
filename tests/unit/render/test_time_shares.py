"""The judged time as segments of a bar: nothing is lost, and what is narrow stands together."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.text import Text

from rocm_perf.model.results.ledger import CAUSES, Ledger
from rocm_perf.render.drawings.characters import ASCII, UNICODE
from rocm_perf.render.drawings.time_shares import time_bar, time_legend
from rocm_perf.render.figures.figure import Missing
from rocm_perf.render.figures.time_shares import IDLE_LOOKS, time_shares_figure
from rocm_perf.render.time_shares import FAMILIES, SHORT, idle_causes, segments
from tests.recordings import sampled
from tests.unit.render.documents import H200, recorded, simulated
from tests.unit.render.figures.drawings import check, parsed, rects, texts
from tests.unit.render.ledgers import EXAMPLE, entry, kernel_entry, ledger

SVG_TITLE = "{http://www.w3.org/2000/svg}title"


def test_families_first_then_copies_then_idle_time_and_narrow_ones_together() -> None:
    assert [(one.side, one.name, one.total_ns) for one in segments(EXAMPLE)] == [
        ("busy", "matrix products", 400),
        ("busy", "elementwise kernels", 85),
        ("busy", "copies to the GPU", 60),
        ("busy", "other work", 19),
        ("idle", "host launches", 400),
        ("idle", "host waits for the GPU", 21),
        ("idle", "other causes", 15),
    ]
    assert segments(EXAMPLE)[0].places == ("gemm_a", "gemm_b")
    assert segments(EXAMPLE)[3].places == ("softmax", "fills")


def test_one_narrow_segment_keeps_its_name() -> None:
    told = segments(ledger((kernel_entry("k", 990), entry("idle", "mpi", 10))))
    assert [one.name for one in told] == ["matrix products", "MPI"]


def test_every_cause_has_few_words_and_a_colour() -> None:
    idle = {
        cause for cause in CAUSES if not cause.startswith(("copying", "filling", "communicating", "running"))
    }
    assert idle == set(SHORT) == set(IDLE_LOOKS)
    assert all(len(words) <= 24 for words in (*SHORT.values(), *FAMILIES.values()))


def check_shares(told: Ledger) -> None:
    shown = segments(told)
    assert sum(one.total_ns for one in shown) == told.judged_ns
    assert sum(one.total_ns for one in shown if one.side == "idle") == told.idle_ns
    assert sum(one.total_ns for one in idle_causes(told)) == told.idle_ns
    assert len({one.name for one in shown}) == len(shown)


@pytest.mark.parametrize("name", sampled(H200))
def test_segments_of_recordings_are_the_judged_time(name: str) -> None:
    check_shares(recorded(name).ledger)


def test_the_bar_has_a_letter_for_each_segment() -> None:
    shown = segments(EXAMPLE)
    bar = time_bar(shown, 50, UNICODE).plain
    assert bar == "██████████A███████████B█▒C▒D░░░░░░░░░░E░░░░░░░░░FG"
    assert time_bar(shown, 50, ASCII).plain.isascii()


def plain(rows: list[Text]) -> list[str]:
    return [row.plain for row in rows]


def test_the_legend_names_each_segment_with_its_share() -> None:
    assert plain(list(time_legend(segments(EXAMPLE), 120))) == [
        "busy 56.4 %   A matrix products 40.0 %   B elementwise kernels 8.5 %   C copies to the GPU 6.0 %   "
        "D other work 1.9 %",
        "idle 43.6 %   E host launches 40.0 %   F host waits for the GPU 2.1 %   G other causes 1.5 %",
    ]
    narrow = plain(list(time_legend(segments(EXAMPLE), 60)))
    assert all(len(row) <= 60 for row in narrow)
    assert " ".join(" ".join(narrow).split()).count("%") == 9


def test_the_figure_says_what_each_part_is() -> None:
    document = simulated("sync_in_loop")
    drawn = time_shares_figure(document, 800)
    check(drawn)
    hints = [one.text or "" for one in parsed(drawn).iter(SVG_TITLE)]
    assert any(hint.startswith("idle: host launches\n") for hint in hints)
    shown = texts(drawn)
    for one in segments(document.ledger):
        assert any(one.name in text and "%" in text for text in shown)
    assert any(text.startswith("busy ") for text in shown)
    bars = [box for box in rects(drawn, "fill-1") if box.height > 20]
    assert sum(box.width for box in bars) == pytest.approx(
        800 * sum(one.share for one in segments(document.ledger)[:1]), rel=0.01
    )


@pytest.mark.parametrize("width", [360, 920])
@pytest.mark.parametrize("name", sampled(H200))
def test_figures_of_recordings_stay_in_their_frames(name: str, width: int) -> None:
    drawn = time_shares_figure(recorded(name), width)
    if isinstance(drawn, Missing):
        assert drawn.reason
    else:
        check(drawn)


def test_colours_of_idle_time_are_those_of_the_timeline() -> None:
    """The timeline in the browser shows the same causes under names of its own."""
    source = (Path(__file__).parents[3] / "web" / "src" / "timeline" / "looks.ts").read_text(encoding="utf-8")
    same = {"host sync": "waiting-for-gpu", "data loader": "loading-data", "queue gaps": "queue-gaps"}
    for name, cause in same.items():
        look = source.partition(f'"{name}": series(')[2].partition(")")[0]
        assert IDLE_LOOKS[cause] == f"fill-{look[0]}" + " faint" * ("FAINT" in look)
