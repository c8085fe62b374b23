"""The map of ranks over time, as a picture and as characters."""

from __future__ import annotations

import pytest

from rocm_perf.model.results.ranks import HeatMap, RankRow
from rocm_perf.render.drawings.characters import ASCII
from rocm_perf.render.drawings.ranks import ranks_drawing
from rocm_perf.render.figures.figure import NARROW, WIDE, Missing, in_page
from rocm_perf.render.figures.ranks import ranks_figure
from rocm_perf.render.rank_cells import states
from tests.unit.analysis.ranks.jobs import ALWAYS_LAST, reduced
from tests.unit.render.figures.drawings import check, texts

ROW = RankRow("rank 0", computing=(90, 10, 0, 0), waiting=(10, 80, 0, 10), communicating=(0, 10, 100, 30))
MOST_BYTES = 170_000  # of a page, for both widths; a real job has half of that


def map_of(count: int) -> HeatMap:
    """Ranks whose cells never show the same as their neighbours: the largest picture that there is."""
    turns = [((100, 0, 0), (0, 100, 0), (0, 0, 100))[(place + place // 3) % 3] for place in range(60)]
    shares = [tuple(turn[part] for turn in turns) for part in range(3)]
    rows = [RankRow(f"rank {rank}", *shares) for rank in range(count)]
    return HeatMap(start_ns=0, bin_ns=1_000_000, rows=tuple(rows))


def test_a_cell_shows_what_takes_most_of_its_time() -> None:
    assert states(ROW, 4) == ["computing", "waiting", "communicating", "idle"]
    assert states(ROW, 2) == ["computing", "communicating"]


def test_characters_say_the_same() -> None:
    lines = [line.plain for line in ranks_drawing(HeatMap(0, 1, (ROW,)), 100, ASCII)]
    assert lines[0] == "rank 0 #-=."
    assert "- waits in a collective for the last rank" in lines[1]


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_the_picture_of_a_job(width: float) -> None:
    from rocm_perf.analysis.ranks.build import ranks

    figure = ranks_figure(ranks(reduced(ALWAYS_LAST)), width)
    assert not isinstance(figure, Missing)
    check(figure)
    assert "rank 2" in texts(figure)


def test_the_picture_of_many_ranks_stays_small() -> None:
    from msgspec.structs import replace

    from rocm_perf.analysis.ranks.build import ranks

    many = replace(ranks(reduced(ALWAYS_LAST)), map=map_of(64))
    pictures = [ranks_figure(many, width) for width in (WIDE, NARROW)]
    written = sum(len(in_page(picture)) for picture in pictures if not isinstance(picture, Missing))
    assert 0 < written < MOST_BYTES


def test_one_rank_alone_has_no_map() -> None:
    from rocm_perf.analysis.ranks.build import ranks

    alone = ranks(reduced([(at,) for at in range(0, 500, 100)]))
    assert ranks_figure(alone) == Missing("no collective that several recorded ranks took part in")
