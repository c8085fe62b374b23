"""Trends in characters and in a picture."""

from __future__ import annotations

from xml.etree import ElementTree

from rocm_perf.render.trend import plot, sparkline
from rocm_perf.render.trend_picture import Dot, Trend, trend_picture

SVG = "{http://www.w3.org/2000/svg}"
DOTS = [Dot(1.0, (0.9, 1.1), "first"), Dot(2.0, None, "<second>"), Dot(3.0, (0.0, 1e9), "third")]


def test_a_line_of_blocks_from_the_lowest_to_the_highest() -> None:
    assert sparkline([1.0, 2.0, None, 8.0]) == "▁▂·█"
    assert sparkline([5.0, 5.0]) == "▁▁"
    assert sparkline([9.0, 1.0, 2.0], width=2) == "▁█"
    assert sparkline([]) == sparkline([], width=1) == ""


def test_a_plot_has_one_dot_for_each_value_and_a_line_at_a_step() -> None:
    lines = plot([1.0, 1.0, 2.0], ("2 ms", "1 ms"), steps={2})
    assert lines[0] == "2 ms ┤  •"
    assert lines[-1] == "1 ms ┤••┊"
    assert "".join(lines).count("•") == 3


def test_a_plot_shows_the_last_values_and_their_steps() -> None:
    lines = plot([9.0, 1.0, 2.0], ("2", "1"), steps={2}, width=2)
    assert (lines[0], lines[-1]) == ("2 ┤ •", "1 ┤•┊")


def test_a_picture_has_a_dot_for_each_run_and_a_line_for_each_step() -> None:
    trend = Trend(title="a <b>", unit="ms", dots=DOTS, steps=[(2, "+50 %")])
    picture = ElementTree.fromstring(trend_picture("Runs & steps", [trend]))
    heights = [float(dot.get("cy", "0")) for dot in picture.iter(f"{SVG}circle")]
    assert heights == sorted(heights, reverse=True)
    assert [one.text for one in picture.iter(f"{SVG}title")] == ["Runs & steps", "first", "<second>", "third"]
    assert sum(line.get("class") == "change" for line in picture.iter(f"{SVG}line")) == 1
    assert "+50 %" in [one.text for one in picture.iter(f"{SVG}text")]


def test_an_absurd_interval_stays_in_its_panel() -> None:
    picture = ElementTree.fromstring(trend_picture("t", [Trend(title="t", unit="ms", dots=DOTS)]))
    places = [float(line.get(name, "0")) for line in picture.iter(f"{SVG}line") for name in ("y1", "y2")]
    assert min(places) >= 0
    assert max(places) <= float(picture.get("height", "0"))


def test_one_run_and_none_at_all_are_pictures_too() -> None:
    for dots in (DOTS[:1], []):
        assert (
            ElementTree.fromstring(trend_picture("t", [Trend(title="t", unit="ms", dots=dots)])).tag
            == f"{SVG}svg"
        )
