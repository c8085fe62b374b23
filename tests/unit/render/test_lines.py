"""Lines of a terminal: labels in a column, verdicts whole, commands that can be copied."""

from __future__ import annotations

import io

import pytest
from rich.console import Console, RenderableType

from rocm_perf.render.lines import facts, show, uncut, verdict


def shown(*blocks: RenderableType, width: int = 30) -> list[str]:
    out = io.StringIO()
    console = Console(file=out, width=width, highlight=False)
    for block in blocks:
        show(console, block)
    return out.getvalue().splitlines()


def test_facts_stand_in_a_column() -> None:
    pairs = [
        ("On", "a GPU"),
        ("Control", "one that takes more than a line"),
        ("Control", "two"),
        ("", "of two"),
    ]
    assert shown(*facts(pairs, 30)) == [
        "On       a GPU",
        "Control  one that takes more",
        "         than a line",
        "         two",
        "         of two",
    ]
    assert facts([], 30) == []


@pytest.mark.parametrize("width", [12, 30, 80])
def test_a_verdict_is_told_to_its_end(width: int) -> None:
    rows = shown(*verdict("different", "red", ": the replay does not give the result", width), width=width)
    assert " ".join(rows) == "different: the replay does not give the result"


def test_a_command_is_neither_cut_nor_broken() -> None:
    command = "rocm-perf replay verify /a/long/path/to/a/snapshot"
    assert shown(uncut(("Next", "bold"), "  ", command)) == [f"Next  {command}"]
    assert shown(uncut("a\x1b[31m\nb")) == ["a [31m b"]
