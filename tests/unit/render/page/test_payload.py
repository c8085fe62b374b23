"""What carries document and timeline into the page. That the page's script reads it is tested in web/test."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

import polars as pl
from msgspec.structs import replace

from rocm_perf.model.results.timeline import FLOW, READING, SLICE
from rocm_perf.render.page.payload import payload
from tests.unit.render.page.payload_example import DOCUMENT, FIXTURE, NAMES, example, fixture


def unpacked(text: str) -> bytes:
    """What is carried; compressed, it may differ from one zlib to another."""
    return zlib.decompress(base64.b64decode(text))


def header(text: str) -> dict[str, Any]:
    content = unpacked(text)
    return dict(json.loads(content[4 : 4 + int.from_bytes(content[:4], "little")]))


def test_the_fixture_of_the_script_is_current() -> None:
    """If not: python -m tests.unit.render.page.payload_example"""
    written, current = json.loads(FIXTURE.read_text()), json.loads(json.dumps(fixture()))
    for text in ("payload", "without"):
        assert unpacked(written.pop(text)) == unpacked(current.pop(text))
    assert written == current


def test_nothing_of_a_name_reaches_the_page_as_it_is() -> None:
    text = payload(DOCUMENT, example())
    assert set(text) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=")
    assert header(text)["timeline"]["names"] == list(NAMES)


def test_an_empty_timeline() -> None:
    nothing = replace(
        example(),
        tracks=(),
        slices=pl.DataFrame(schema=SLICE),
        details=(),
        readings=pl.DataFrame(schema=READING),
        flows=pl.DataFrame(schema=FLOW),
        steps=pl.Series([], dtype=pl.Int64),
    )
    assert [column["count"] for column in header(payload(DOCUMENT, nothing))["columns"]] == [0] * 12


def test_ids_that_rise_are_carried_as_differences() -> None:
    steady = replace(
        example(), details=(replace(example().details[0], values=pl.Series(range(10**6, 10**6 + 1000))),)
    )
    described = header(payload(DOCUMENT, steady))
    column = described["columns"][described["timeline"]["details"][0]["values"]]
    assert column["differences"]
