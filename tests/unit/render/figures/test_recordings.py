"""Every figure of every kind of recording: valid, inside its frame, or with a reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocm_perf.render.figures.figure import NARROW, WIDE, Missing
from rocm_perf.render.figures.files import picture_files
from rocm_perf.render.figures.index import FIGURES, page_figure
from tests.recordings import answer
from tests.unit.render.documents import H200, SPECIMENS, WORKLOADS, recorded, simulated
from tests.unit.render.figures.drawings import check

SHARED = Path(__file__).parents[5] / "shared" / "data"


def check_all(document: object) -> int:
    """How many figures could be drawn."""
    drawings = [draw(document, width) for draw in FIGURES.values() for width in (WIDE, NARROW)]  # type: ignore[arg-type]
    for drawn in drawings:
        if isinstance(drawn, Missing):
            assert drawn.reason
        else:
            check(drawn)
    return sum(not isinstance(drawn, Missing) for drawn in drawings)


@pytest.mark.parametrize("name", WORKLOADS)
def test_simulated(name: str) -> None:
    assert check_all(simulated(name)) >= 12


@pytest.mark.thorough
@pytest.mark.parametrize("name", H200)
def test_recorded_on_an_h200(name: str) -> None:
    check_all(recorded(name))


@pytest.mark.thorough
@pytest.mark.parametrize("name", SPECIMENS)
def test_recorded_by_others(name: str) -> None:
    if not (SHARED / name).exists():
        pytest.skip("the shared recordings are not beside this checkout")
    check_all(answer(SHARED / name))


def test_pages_get_two_drawings_and_files_one() -> None:
    document = simulated("straggler")
    markup = page_figure(document, "gaps")
    assert isinstance(markup, str)
    assert markup.count("<svg ") == 2
    assert isinstance(page_figure(document, "instructions"), Missing)
    assert page_figure(document, "coverage") is None
    assert {"phases", "gaps", "kernels", "families", "path", "energy"} <= set(
        picture_files(document, "report")
    )
