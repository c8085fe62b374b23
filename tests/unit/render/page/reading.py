"""A report's page, read back: its tables, its data, its elements."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from html.parser import HTMLParser
from typing import Any


@dataclass
class ReadCell:
    """One cell of a table, or anything else that explains itself."""

    topic: str
    heading: str
    attributes: dict[str, str | None]
    text: str = ""

    @property
    def is_number(self) -> bool:
        return "number" in (self.attributes.get("class") or "").split()

    @property
    def value(self) -> float | None:
        """The number behind the text."""
        raw = self.attributes.get("data-value")
        return None if raw is None else float(raw)

    @property
    def why(self) -> int | None:
        place = self.attributes.get("data-why")
        return None if place is None else int(place)


@dataclass
class ReadTable:
    """One table, row by row."""

    topic: str
    headings: list[str] = field(default_factory=list)
    rows: list[list[ReadCell]] = field(default_factory=list)

    def column(self, heading: str) -> list[ReadCell]:
        return [cell for row in self.rows for cell in row if cell.heading == heading]


class ReadPage(HTMLParser):
    """A page as its readers and tests see it."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tables: list[ReadTable] = []
        self.scripts: dict[str, str] = {}
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self._topic = ""
        self._inside: list[str] = []
        self._script: str | None = None
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self.tags.append((tag, attributes))
        self._inside.append(tag)
        if tag == "section":
            self._topic = attributes.get("id") or ""
        elif tag == "table":
            self.tables.append(ReadTable(self._topic))
        elif tag == "th":
            self.tables[-1].headings.append("")
        elif tag == "tr":
            self.tables[-1].rows.append([])
        elif tag == "td":
            table = self.tables[-1]
            heading = table.headings[len(table.rows[-1])]
            table.rows[-1].append(ReadCell(self._topic, heading, attributes))
        elif tag == "script":
            self._script = attributes.get("id") or ""
            self.scripts[self._script] = ""

    def handle_endtag(self, tag: str) -> None:
        if tag == "thead":
            self.tables[-1].rows.clear()
        if tag == "script":
            self._script = None
        while self._inside and self._inside.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if self._script is not None:
            self.scripts[self._script] += data
        elif "th" in self._inside:
            self.tables[-1].headings[-1] += data
        elif "td" in self._inside:
            self.tables[-1].rows[-1][-1].text += data

    @cached_property
    def explanations(self) -> list[dict[str, Any]]:
        listed: list[dict[str, Any]] = json.loads(self.scripts["explanations"])
        return listed

    @property
    def numbers(self) -> list[ReadCell]:
        """Every cell that shows a number."""
        cells = [cell for table in self.tables for row in table.rows for cell in row]
        return [cell for cell in cells if cell.is_number and cell.text.strip() not in ("", "-", "-?")]

    def table(self, topic: str, place: int = 0) -> ReadTable:
        return [table for table in self.tables if table.topic == topic][place]
