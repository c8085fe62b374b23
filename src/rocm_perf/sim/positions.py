"""The line of every value in a TOML text. tomli returns values without lines, and has already checked the text."""

from __future__ import annotations

import re

Path = tuple[str | int, ...]

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_STRINGS = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}' r"|'''.*?'{3,5}" r'|"(?:\\.|[^"\\\n])*"' r"|'[^'\n]*'", re.DOTALL
)
_SCALAR = re.compile(r"[^,\]}#\n]*")
_SPACE = re.compile(r"[ \t]*")


def positions(text: str) -> dict[Path, int]:
    """The line of each value, counted from one, by its path: `("thread", 0, "steps", 2)`."""
    return _Scanner(text).scan()


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._line = 1
        self._lines: dict[Path, int] = {}
        self._tables: dict[Path, int] = {}  # how many of each [[array of tables]] so far

    def scan(self) -> dict[Path, int]:
        table: Path = ()
        self._skip(_BLANK)
        while self._at < len(self._text):
            if self._text[self._at] == "[":
                table = self._header()
            else:
                self._assignment(table)
            self._skip(_BLANK)
        return self._lines

    def _header(self) -> Path:
        double = self._text.startswith("[[", self._at)
        line = self._line
        self._at += 2 if double else 1
        names = self._key()
        self._at += 2 if double else 1
        table: Path = ()
        for name in names:
            if table in self._tables:  # below the last table of an array
                table = (*table, self._tables[table] - 1)
            table = (*table, name)
        if double:
            self._tables[table] = self._tables.get(table, 0) + 1
            self._lines.setdefault(table, line)
            table = (*table, self._tables[table] - 1)
        elif table in self._tables:
            table = (*table, self._tables[table] - 1)
        self._lines.setdefault(table, line)
        return table

    def _assignment(self, table: Path) -> None:
        line = self._line
        names = self._key()
        self._at += 1  # the equals sign
        for depth in range(1, len(names) + 1):
            self._lines.setdefault((*table, *names[:depth]), line)
        self._value((*table, *names))

    def _key(self) -> Path:
        names: list[str] = []
        while True:
            self._skip(_SPACE)
            quoted = self._text[self._at] in "\"'"
            name = self._skip(_STRINGS if quoted else _BARE)
            names.append(name[1:-1] if quoted else name)
            self._skip(_SPACE)
            if self._text[self._at] != ".":
                return tuple(names)
            self._at += 1

    def _value(self, path: Path) -> None:
        self._skip(_SPACE)
        opening = self._text[self._at]
        self._lines.setdefault(path, self._line)
        if opening == "[":
            self._list(path)
        elif opening == "{":
            self._inline(path)
        else:
            self._skip(_STRINGS if opening in "\"'" else _SCALAR)

    def _list(self, path: Path) -> None:
        number = 0
        while self._more("]"):
            self._value((*path, number))
            number += 1
        self._at += 1

    def _inline(self, path: Path) -> None:
        while self._more("}"):
            self._assignment(path)
        self._at += 1

    def _more(self, closing: str) -> bool:
        """Skip the opening bracket or a comma, and return whether another value follows."""
        self._skip(_BLANK)
        if self._text[self._at] in "[{," and self._text[self._at] != closing:
            self._at += 1
            self._skip(_BLANK)
        return self._text[self._at] != closing

    def _skip(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self._text, self._at)
        if match is None or not match[0]:
            return ""
        self._at = match.end()
        self._line += match[0].count("\n")
        return match[0]
