"""The definition of a topic. The topics themselves are listed in document.py, beside the fields they fill."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import msgspec


class Topic(msgspec.Struct, frozen=True):
    """One subject of `analyze`: what it computes, what it finds and how it is shown.

    Functions are named "module:function", below analysis/ for what computes and below render/sections/ for what
    shows, because this layer imports neither.
    """

    name: str  # what `--show` takes
    section: str  # (Document, most rows) -> Section
    answers: Mapping[str, str] = msgspec.field(
        default_factory=dict
    )  # field of the Document -> (Trace) -> its value
    findings: str = ""  # (Document) -> findings
    evidence: str = ""  # sections that hold the evidence of its findings; by default its own
    parameters: tuple[str, ...] = ()  # what `analyze` lets the user choose, and its answers take
    concludes: tuple[str, ...] = ()  # fields that the verdict fills once all other fields have their answer
    formulas: tuple[str, ...] = ()  # modules with FORMULAS beside those of `answers`
    whole: bool = False  # it speaks of the whole recording, also where the others speak of its steady state
    on_first_screen: bool = False  # the first screen has it already, and does not offer it again

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields of the Document that this topic fills."""
        return (*self.answers, *self.concludes)

    @property
    def shown_by(self) -> str:
        """What `--show` takes to see the evidence of this topic's findings."""
        return self.evidence or self.name


def resolve(package: str, reference: str) -> Any:
    """The function that "module:function" names below a package; its module is imported now."""
    module, _, function = reference.partition(":")
    return getattr(import_module(f"{package}.{module}"), function)
