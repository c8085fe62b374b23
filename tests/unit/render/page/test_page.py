"""The report's page: every topic, every number as `--json` has it and explained, nothing of a recording as markup."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest
from markupsafe import escape

from rocm_perf.analysis.overview import overview
from rocm_perf.model.document import TOPICS, Document
from rocm_perf.model.tables import SCHEMAS
from rocm_perf.render import json as json_text
from rocm_perf.render.page.outline import OUTLINE, TABLES, topic_of_formula
from rocm_perf.render.page.page import ROWS, page
from rocm_perf.render.sections.index import SECTIONS
from rocm_perf.units import format_ns, format_share
from tests.recordings import answer
from tests.unit.analysis.traces import call, kernel, trace
from tests.unit.render.documents import H200, ROOT, SPECIMENS, WORKLOADS, recorded, simulated
from tests.unit.render.limits_example import judged
from tests.unit.render.page.reading import ReadCell, ReadPage

SHARED = ROOT.parent / "shared"
# Names of something rather than amounts of it: there is nothing to compute.
NAMES = {("operators", "op"), ("recording", "run"), ("recording", "ended")}
HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</script><script>alert(1)</script>",
    "{{ 7 * 7 }}",
    "javascript:alert(1)",
    "k" * 10_000,
    "a\x1b[31m\x00\x07b",
    "\u202egnp.exe\u2066",
    "אבג_kernel",
)


@cache
def read(name: str) -> ReadPage:
    return ReadPage(page(simulated(name)))


def of_class() -> list[Path]:
    """One recording of each class of those that are kept beside the repository."""
    kept = sorted((SHARED / "verdicts" / "h200").glob("*.gz")) if SHARED.is_dir() else []
    return [*(SHARED / "data" / name for name in SPECIMENS if SHARED.is_dir()), *kept]


def test_every_topic_has_a_place_and_its_tables() -> None:
    topics = [topic.name for topic in TOPICS]
    assert sorted(["findings", *(name for names in OUTLINE.values() for name in names)]) == sorted(topics)
    assert set(TABLES) == set(topics)
    assert {table for tables in TABLES.values() for table in tables} <= set(SCHEMAS)


def test_every_formula_stands_with_its_topic() -> None:
    document = simulated(WORKLOADS[0])
    shown = page(document)
    for name, formula in document.formulas.items():
        topic = topic_of_formula(name)
        is_shown = SECTIONS[topic](document, 1).unavailable is None
        assert (f"<dt><code>{name}</code></dt><dd>{escape(formula)}</dd>" in shown) == is_shown


@pytest.mark.parametrize("name", WORKLOADS)
def test_every_topic_is_shown_or_says_why_not(name: str) -> None:
    document = simulated(name)
    html, places = page(document), {attributes.get("id") for _, attributes in read(name).tags}
    for topic, describe in SECTIONS.items():
        assert topic in places
        if reason := describe(document, 1).unavailable:
            assert topic == "findings" or escaped(reason[1:]) in html


def escaped(text: str) -> str:
    """The text as HTML has it."""
    return str(escape(text))


@pytest.mark.parametrize("name", WORKLOADS)
def test_numbers_of_simulated_runs(name: str) -> None:
    check_numbers(simulated(name), read(name))


@pytest.mark.thorough
@pytest.mark.parametrize("name", H200)
def test_numbers_of_recordings(name: str) -> None:
    check_numbers(recorded(name), ReadPage(page(recorded(name))))


@pytest.mark.skipif(not SHARED.is_dir(), reason="the recordings beside the repository are not here")
@pytest.mark.thorough
@pytest.mark.parametrize("path", of_class(), ids=lambda path: path.name)
def test_numbers_of_every_class(path: Path) -> None:
    check_numbers(answer(path), ReadPage(page(answer(path))))


def check_numbers(document: Document, shown: ReadPage) -> None:
    """Each number explains itself, and is one of those that `--json` prints, or follows from such ones."""
    (run,) = json.loads(json_text.documents([document], []))["runs"]
    printed = set(numbers_in(run))
    for cell in shown.numbers:
        if (cell.topic, cell.heading) in NAMES:
            continue
        assert cell.why is not None, (cell.topic, cell.heading, cell.text)
        explanation = shown.explanations[cell.why]
        assert explanation["topic"] == cell.topic
        assert explanation.get("formula"), (cell.topic, cell.heading)
        if cell.value is not None and cell.value not in printed:
            assert cell.value in from_inputs(explanation), (cell.topic, cell.heading, cell.text)
        if cell.value is None:
            assert cell.topic == "tables", (cell.topic, cell.heading, cell.text)
    check_texts(document, shown)


def check_texts(document: Document, shown: ReadPage) -> None:
    """Numbers read as they do in the terminal and in Markdown."""
    for topic, describe in SECTIONS.items():
        tables = [table for table in shown.tables if table.topic == topic]
        section = describe(document, ROWS)
        grids = [grid for part in (section, *section.parts) for grid in part.grids]
        for table, grid in zip(tables, grids, strict=True):
            for column in grid.columns:
                if column.numeric:
                    place = grid.columns.index(column)
                    assert [row[place].text for row in table.rows] == list(column.cells)


def test_what_limits_a_kernel_is_drawn_and_every_number_explains_itself() -> None:
    document = judged()
    html = page(document)
    shown = ReadPage(html)
    check_texts(document, shown)
    tables = [table for table in shown.tables if table.topic == "kernel"]
    busy = tables[0].column("busy")
    assert [(cell.value, cell.text) for cell in busy] == [(0.9, "90.0 %"), (0.5, "50.0 %"), (0.0, "0.0 %")]
    explanation = shown.explanations[busy[0].why or 0]
    assert explanation["formula"] == "wavefronts / cycles"
    assert explanation["inputs"] == [["wavefronts", "90"], ["cycles", "100"]]
    assert "<title>busy 90.0 %, 25.0 % of that useful</title>" in html
    assert html.count('<details class="part" open>') == 1
    assert html.count('<details class="part">') == 1


def numbers_in(value: Any) -> Iterator[float]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from numbers_in(each)
    elif isinstance(value, int | float):
        yield float(value)


def from_inputs(explanation: dict[str, Any]) -> set[float]:
    """What the two inputs of an explanation may make."""
    first, second = (json.loads(text.replace(",", "")) for _, text in explanation["inputs"])
    return {first - second, *([first / second] if second else [])}


def test_rows_are_those_of_the_document() -> None:
    document = simulated(WORKLOADS[0])
    table = ReadPage(page(document)).table("kernels")
    assert [cell.value for cell in table.column("total")] == [row.total_ns for row in document.hotspots.rows]
    for cell, row in zip(table.column("total"), document.hotspots.rows, strict=True):
        assert cell.text == format_ns(row.total_ns)
    for cell, row in zip(table.column("share"), document.hotspots.rows, strict=True):
        assert (cell.value, cell.text) == (row.share, format_share(row.share))


def test_an_explanation_has_formula_inputs_and_source() -> None:
    document = simulated(WORKLOADS[0])
    shown = ReadPage(page(document))
    busy = shown.table("gpus").column("busy")[0]
    explanation = shown.explanations[busy.why or 0]
    assert "busy" in explanation["formula"]
    assert [f"{value:,}" for value in document.devices[0].busy.inputs.values()] == [
        text for _, text in explanation["inputs"]
    ]
    source = json.loads(shown.scripts["sources"])["gpus"]
    assert any(table.startswith("dispatches (") for table in source["tables"])
    assert "devices" in source["fields"]


def test_nothing_runs_but_the_page_itself() -> None:
    html = page(simulated(WORKLOADS[0]))
    shown = ReadPage(html)
    policy = next(
        tag["content"] for _, tag in shown.tags if tag.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy is not None
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    for kind, pattern in {"script": "<script>(.*?)</script>", "style": "<style>(.*?)</style>"}.items():
        (text,) = re.findall(pattern, html, re.DOTALL)
        digest = b64encode(sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    blocked = [tag for tag in shown.tags if any(name == "style" or name.startswith("on") for name in tag[1])]
    assert not blocked
    fetched = [
        tag for tag in shown.tags if tag[1].get("src") or tag[0] in ("link", "iframe", "object", "embed")
    ]
    assert not fetched


def hostile(name: str) -> Document:
    recording = trace(
        dispatches=[kernel(name, 0, 60, correlation_id=1), kernel("other", 100, 140, correlation_id=2)],
        api_calls=[call("hipLaunchKernel", 0, 5, 1), call(name, 5, 9, 2)],
    )
    run = msgspec.structs.replace(recording.run, command=name, tool=name, notices=(name,))
    return msgspec.structs.replace(overview(recording, f"runs/{name}"), run=run)


@pytest.mark.parametrize("name", HOSTILE, ids=lambda name: ascii(name[:24]))
@pytest.mark.whole
def test_names_of_a_recording_are_text(name: str) -> None:
    html = page(hostile(name))
    plain = ReadPage(page(hostile("plain")))
    shown = ReadPage(html)
    assert [tag for tag, _ in shown.tags if tag == "script"] == [
        tag for tag, _ in plain.tags if tag == "script"
    ]
    assert not [tag for tag, _ in shown.tags if tag in ("img", "iframe", "object")]
    assert not {each for each in html if not each.isprintable() and each != "\n"}
    written = "".join(each if each.isprintable() else " " for each in name).strip()
    assert written in kernel_texts(shown)


def kernel_texts(shown: ReadPage) -> str:
    cells: list[ReadCell] = shown.table("kernels").column("kernel")
    return "\n".join(cell.text for cell in cells)


def test_a_recording_of_nothing_has_a_page() -> None:
    html = page(overview(trace(), "runs/empty"))
    assert "Nothing is recorded in it." in html
