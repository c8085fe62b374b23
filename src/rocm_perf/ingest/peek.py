"""A first look at the content of a file, enough to recognise its format; the name is never used."""

from __future__ import annotations

import re
from functools import cached_property

from rocm_perf.ingest.io import csv, json, sqlite
from rocm_perf.ingest.io.source import Content, Source

_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


class Peek:
    """The first 64 KiB of a source, in whatever form an adapter asks for."""

    def __init__(self, source: Source) -> None:
        self.source = source

    @cached_property
    def _start(self) -> Content:
        return self.source.start()

    @property
    def head(self) -> bytes:
        return self._start.data

    @property
    def damage(self) -> str | None:
        """Why the head is incomplete, if the file is damaged that early."""
        return self._start.damage

    @cached_property
    def text(self) -> str:
        """The head as text, without a byte-order mark and terminal colours."""
        return _ANSI.sub("", self.head.decode("utf-8", "replace").removeprefix("\ufeff"))

    @cached_property
    def is_binary(self) -> bool:
        return b"\x00" in self.head

    @cached_property
    def is_sqlite(self) -> bool:
        return self.head.startswith(sqlite.MAGIC)

    @cached_property
    def sqlite_tables(self) -> tuple[str, ...]:
        """Tables of the database; empty if the file is not one."""
        if not self.is_sqlite:
            return ()
        with sqlite.open_database(self.source) as database:
            return database.tables

    @cached_property
    def json_kind(self) -> str | None:
        """'object' or 'array'; None if the text is not JSON."""
        first = self.text.lstrip()[:1]
        return {"{": "object", "[": "array"}.get(first)

    @cached_property
    def json_keys(self) -> tuple[str, ...]:
        """Top-level keys of a JSON object, as far as the head shows them."""
        return json.top_level_keys(self.text.encode()) if self.json_kind == "object" else ()

    @cached_property
    def csv_header(self) -> tuple[str, ...]:
        """The first line as CSV column names; empty if the file cannot be CSV."""
        if self.is_binary or self.json_kind:
            return ()
        return csv.header(self.text)
