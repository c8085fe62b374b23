"""Spellings of other tools and of older guides: what to type instead. The table is foreign_spellings.toml."""

from __future__ import annotations

from importlib import resources
from typing import Literal

import msgspec

from rocm_perf.errors import UsageError

_FILE = "foreign_spellings.toml"
_UNRECOGNISED = "unrecognized arguments: "


class Spelling(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"kind": "is"}):
    """Something that users type because a guide says so, and what to use instead."""

    spelled: str
    of: str
    use: str
    example: str
    kind: Literal["option", "verb", "argument"] = "option"
    on: tuple[str, ...] = ("profile", "counters", "trace")

    @property
    def answer(self) -> str:
        """What it is, and what to use."""
        return f"{self.spelled} comes from {self.of}: here use {self.use}"


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    spelling: tuple[Spelling, ...]


def spellings() -> tuple[Spelling, ...]:
    """Return every row of the table."""
    from rocm_perf.arch.toml import read_toml

    data = (resources.files("rocm_perf.cli") / _FILE).read_bytes()
    return msgspec.convert(read_toml(data, _FILE), _Table).spelling


def verb_of_another_tool(word: str) -> UsageError | None:
    """Return what to say of a verb that is none of ours; None if the table does not have it."""
    return _error([row for row in spellings() if row.kind == "verb" and row.spelled == word])


def refusal(verb: str, message: str) -> UsageError | None:
    """Return what to say instead of argparse's message about the arguments of a verb; None where nothing is better."""
    if not message.startswith(_UNRECOGNISED):
        return None
    left = message.removeprefix(_UNRECOGNISED).split(" ")
    names = {word.partition("=")[0] for word in left}
    of_verb = [row for row in spellings() if row.kind != "verb" and verb in row.on]
    only_words = not any(word.startswith("-") for word in left)
    known = [row for row in of_verb if row.spelled in names]
    return _error(known or [row for row in of_verb if row.kind == "argument" and only_words])


def _error(rows: list[Spelling]) -> UsageError | None:
    if not rows:
        return None
    return UsageError("; ".join(row.answer for row in rows), next_step=f"For example: {rows[0].example}")
