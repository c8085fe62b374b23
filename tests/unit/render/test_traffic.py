"""The heat map of what ranks send to one another, in a terminal and on the page."""

from __future__ import annotations

from rocm_perf.model.quantity import unavailable
from rocm_perf.model.results.communication import Communication, Traffic
from rocm_perf.render.drawings.characters import ASCII
from rocm_perf.render.drawings.traffic import traffic_drawing
from rocm_perf.render.figures.figure import NARROW, Figure, Missing
from rocm_perf.render.figures.traffic import traffic_figure

TRAFFIC = Traffic(ranks=(4, 12), sent_bytes=((0, 4096), (1024, 2048)), basis="all_to_all")


def communication(traffic: Traffic | None) -> Communication:
    nothing = unavailable("", "", "not asked")
    return Communication(kernels=1, busy_ns=1, exposed_ns=1, exposed_share=nothing, rows=(), traffic=traffic)


def test_in_a_terminal() -> None:
    assert [str(line) for line in traffic_drawing(TRAFFIC, ASCII)] == [
        "bytes from each rank (rows) to each other one (columns), in all_to_all",
        " 4   ##",
        "12 ::==",
        "' ' none, # up to 4.00 KiB",
    ]


def test_on_the_page() -> None:
    figure = traffic_figure(communication(TRAFFIC), NARROW)
    assert isinstance(figure, Figure)
    text = "".join(figure.body)
    assert "rank 12 to rank 4: 1.00 KiB" in text
    assert text.count("<rect") == 4
    assert 'class="idle"' in text


def test_a_recording_that_does_not_say_it_has_no_figure() -> None:
    drawn = traffic_figure(communication(None))
    assert isinstance(drawn, Missing)
    assert drawn.reason == "the recording does not say which rank sent how much to which"
