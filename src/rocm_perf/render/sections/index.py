"""All sections by the name that `analyze --show` takes, in the order of a report. Topics name them."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from rocm_perf.errors import UsageError
from rocm_perf.model.document import TOPICS, Document
from rocm_perf.model.topic import resolve
from rocm_perf.render.sections.section import Describe

SECTIONS: dict[str, Describe] = {
    topic.name: resolve("rocm_perf.render.sections", topic.section) for topic in TOPICS
}
ALL = "all"
_KERNEL = "kernel:"  # before the name of one


def chosen(names: Sequence[str]) -> list[str]:
    """The named sections, each once, or every section for "all"."""
    unknown = [
        name for name in names if name not in SECTIONS and name != ALL and not name.startswith(_KERNEL)
    ]
    if unknown or not names:
        near = get_close_matches(unknown[0], SECTIONS, n=1) if unknown else []
        meant = f"Did you mean {near[0]}? " if near else ""
        raise UsageError(
            f"there is no section {unknown[0]!r}" if unknown else "no section was named",
            next_step=f"{meant}Sections: {', '.join(SECTIONS)}, {ALL}; kernel:NAME shows one kernel.",
        )
    if ALL not in names:
        return list(dict.fromkeys(names))
    return [*SECTIONS, *(name for name in names if name.startswith(_KERNEL))]


def names_in(text: str) -> list[str]:
    """Return the sections that a list names. The name of a kernel may hold commas between brackets."""
    names, depth, start = [], 0, 0
    for place, character in enumerate(text):
        depth = max(depth + (character in "<([{") - (character in ">)]}"), 0)
        if character == "," and not depth:
            names.append(text[start:place])
            start = place + 1
    return [name.strip() for name in (*names, text[start:]) if name.strip()]


def kernel_name(name: str) -> str | None:
    """Return the kernel that a section is about, if it is about one: "kernel:NAME"."""
    return name.removeprefix(_KERNEL) if name.startswith(_KERNEL) else None


def beyond_first_screen(document: Document) -> list[str]:
    """Names of the sections that have more to say than the first screen."""
    return [
        topic.name
        for topic in TOPICS
        if not topic.on_first_screen and SECTIONS[topic.name](document, 1).unavailable is None
    ]
