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


def chosen(names: Sequence[str]) -> list[str]:
    """The named sections, each once, or every section for "all"."""
    unknown = [name for name in names if name not in SECTIONS and name != ALL]
    if unknown or not names:
        near = get_close_matches(unknown[0], SECTIONS, n=1) if unknown else []
        meant = f"Did you mean {near[0]}? " if near else ""
        raise UsageError(
            f"there is no section {unknown[0]!r}" if unknown else "no section was named",
            next_step=f"{meant}Sections: {', '.join(SECTIONS)}, {ALL}.",
        )
    return list(SECTIONS) if ALL in names else list(dict.fromkeys(names))


def beyond_first_screen(document: Document) -> list[str]:
    """Names of the sections that have more to say than the first screen."""
    return [
        topic.name
        for topic in TOPICS
        if not topic.on_first_screen and SECTIONS[topic.name](document, 1).unavailable is None
    ]
