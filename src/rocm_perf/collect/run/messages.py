"""What a profiler printed -> what it means and what to do. The texts are data: messages.toml."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from typing import Literal

import msgspec

from rocm_perf.arch.toml import read_toml

Whose = Literal["machine", "profiler", "application", "note"]
_FILE = "messages.toml"
_GLOG = re.compile(r"^([IWEF])\d{8} \d\d:\d\d:\d\d\.\d+ +\d+ \S+\] ?(.*)$")
_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_TROUBLE = re.compile(r"error|fatal|abort|fault|fail|exception|cannot|unable|denied", re.IGNORECASE)
_LONGEST = 200


class Message(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One text and its meaning."""

    name: str
    text: str  # regular expression
    whose: Whose
    meaning: str
    next_step: str
    stops: str = ""  # what the machine cannot do: "all", or the purpose of a run

    @property
    def sentence(self) -> str:
        return f"{self.meaning}. {self.next_step}".rstrip().rstrip(".")


class _Messages(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    message: tuple[Message, ...]


@cache
def messages() -> tuple[Message, ...]:
    """All texts that are known, the most telling first."""
    data = (resources.files("rocm_perf.collect.run") / _FILE).read_bytes()
    return msgspec.convert(read_toml(data, _FILE), _Messages).message


def known_in(printed: str, *whose: Whose) -> tuple[Message, ...]:
    """The known messages in what was printed."""
    return tuple(
        message
        for message in messages()
        if message.whose in whose and re.search(message.text, printed, re.IGNORECASE | re.MULTILINE)
    )


def last_words(printed: str) -> str:
    """The line that most likely tells why a run failed, if there is one. Log lines are not failures by themselves, so
    this is for runs that did fail."""
    lines = [_ANSI.sub("", line).strip() for line in printed.splitlines()]
    logged = [(entry.group(1), entry.group(2)) for line in lines if (entry := _GLOG.match(line))]
    for level in "FE":
        texts = [text for letter, text in logged if letter == level and "Opened result file" not in text]
        if texts:
            return texts[-1][:_LONGEST]
    plain = [line for line in lines if not _GLOG.match(line) and _TROUBLE.search(line)]
    return plain[-1][:_LONGEST] if plain else ""
