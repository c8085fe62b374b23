"""The comparison's page."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from msgspec.structs import replace as changed

from rocm_perf.analysis.compare.populations import compare
from rocm_perf.analysis.overview import examine
from rocm_perf.analysis.timeline.build import timeline
from rocm_perf.api import recordings_of
from rocm_perf.cli.main import main
from rocm_perf.model import bundle
from rocm_perf.model.results.comparison import Comparison
from rocm_perf.model.trace import Trace
from rocm_perf.render.page.comparison import comparison_page
from rocm_perf.sim.workload import read_workload
from tests.sim.recorded import recorded
from tests.unit.analysis.compare.programs import MM, RELU, Op, program

pytestmark = pytest.mark.whole

WORKLOADS = Path(__file__).parents[4] / "examples" / "workloads"
HOSTILE = "</script><img src=x onerror=alert(1)>\u202e"


@cache
def trace(name: str, seed: int = 0) -> Trace:
    return recorded(replace(read_workload(WORKLOADS / f"{name}.toml"), seed=seed))


@cache
def comparison(runs: int = 1) -> Comparison:
    before, after = (
        [one for seed in range(runs) for one in recordings_of(trace(name, seed), f"{name}{seed}")]
        for name in ("sync_in_loop", "sync_hoisted")
    )
    return compare(before, after, ("before", "after"))


def test_the_answer_stands_at_the_top_with_both_walls() -> None:
    page = comparison_page(comparison())
    top = page[page.index("<main>") : page.index('id="findings"')]
    assert "2.46x faster" in top
    assert "one run each: no interval" in top
    assert re.findall(r'class="time">([^<]*)<', top) == ["117 us", "2.46x faster", "47.7 us"]


def test_repeats_have_intervals() -> None:
    page = comparison_page(comparison(runs=3))
    assert re.search(r"2\.4\dx to 2\.4\dx at 95 %", page)
    assert "median of 3 runs" in page
    assert "Ratio of after to before with intervals" in page


def test_findings_that_went_and_the_waterfall_are_shown() -> None:
    page = comparison_page(comparison())
    gone = page[page.index("<h3>Gone</h3>") : page.index("<h3>On both sides</h3>")]
    assert "The host waits for the GPU" in gone
    assert page.count('class="figure on-wide"') == 1
    assert page.count('class="figure on-narrow"') == 1


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        (("v1", "v2"), ("v1", "v2")),
        (("a recording with a long name", "v2"), ("before", "after")),
        (("same", "same"), ("before", "after")),
    ],
)
def test_cards_tables_and_the_picture_call_the_sides_the_same(
    labels: tuple[str, str], names: tuple[str, str]
) -> None:
    before, after = (recordings_of(trace(name), name) for name in ("sync_in_loop", "sync_hoisted"))
    compared = compare(before, after, labels)
    page = comparison_page(compared)
    cards = re.findall(r'<div class="side">\s*<p class="soft">([^<]*)<', page)
    parts = page[page.index('id="where-the-difference-comes-from"') :]
    headings = re.findall(r'<th scope="col" class="number">([^<]*)<', parts)
    rows = re.findall(r"<td>([^<]*)</td><td class=\"number\"", page[page.index('id="runs"') :])
    picture = re.findall(r"<text[^>]*>([^<]*)</text>", parts)
    assert tuple(cards) == tuple(headings[1:3]) == tuple(rows) == names
    assert set(names) <= set(picture)
    assert not {"base", "new"} & {*cards, *headings, *rows, *picture}
    assert f"{names[1]} minus {names[0]}, in nanoseconds" in page


def test_operators_are_shown_with_the_numbers_of_json_or_the_reason_why_not() -> None:
    assert "No framework operator was recorded" in operators_of(comparison_page(comparison()))
    faster = of_operators(program(MM, RELU), program(MM._replace(gpu_us=60), Op("aten::sum", 5)))
    shown = operators_of(comparison_page(faster))
    assert "<span>aten::mm</span>" in shown
    assert f'data-value="{faster.operators[0].gpu.difference}"' in shown
    assert "Only before: aten::relu (20.0 us on the GPU)." in shown
    assert "Only after: aten::sum (5.00 us on the GPU)." in shown


def operators_of(page: str) -> str:
    return page[page.index('<section id="operators"') : page.index('<section id="runs"')]


def of_operators(base: Trace, new: Trace) -> Comparison:
    return compare(recordings_of(base, "base"), recordings_of(new, "new"))


def test_numbers_are_those_of_json() -> None:
    wall = comparison().waterfall
    assert wall is not None
    page = comparison_page(comparison())
    for part in wall.parts:
        for value in (part.base_ns, part.new_ns, part.difference_ns):
            assert f'data-value="{value}"' in page


def test_both_timelines_are_in_the_page_or_neither() -> None:
    drawn = [timeline(trace(name), examine(trace(name), name)) for name in ("sync_in_loop", "sync_hoisted")]
    assert 'id="payload-new"' in comparison_page(comparison(), drawn)
    assert (
        "payload-"
        not in comparison_page(comparison(), [drawn[0], None]).split("<main>")[1].split("<script>")[0]
    )


def test_hostile_names_are_text_and_the_policy_is_strict() -> None:
    hostile = changed(
        comparison(),
        base=changed(comparison().base, label=HOSTILE),
        notes=(HOSTILE,),
        kernels=tuple(changed(row, kernel=HOSTILE, new_kernel=HOSTILE) for row in comparison().kernels),
        findings=tuple(changed(row, title=HOSTILE) for row in comparison().findings),
    )
    page = comparison_page(hostile)
    assert "<img" not in page
    assert "\u202e" not in page
    assert page.count("<script>") == 1
    assert "default-src &#39;none&#39;" in page


def test_the_run_in_the_middle_is_the_one_with_the_median_wall() -> None:
    side = comparison(runs=3).base
    walls = [(run.wall_ns or 0) / run.steps for run in side.runs]
    assert walls[side.middle] == sorted(walls)[1]


def test_compare_writes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("sync_in_loop", "sync_hoisted"):
        bundle.write(trace(name), tmp_path / name)
    page = tmp_path / "compare.html"
    assert (
        main(["compare", str(tmp_path / "sync_in_loop"), str(tmp_path / "sync_hoisted"), "-o", str(page)])
        == 0
    )
    assert f"wrote {page}" in capsys.readouterr().err
    assert 'id="timeline-base"' in page.read_text()
