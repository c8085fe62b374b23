"""Topics: every field of the Document belongs to one, and each can compute, find and show what it says it can."""

from __future__ import annotations

from collections import Counter
from typing import get_type_hints

import pytest

from rocm_perf.model.document import HEADER, TOPICS, Document
from rocm_perf.model.topic import Topic, resolve
from rocm_perf.render.report.file_types import FILES
from rocm_perf.render.report.schema import schema

ANALYSIS, SECTIONS = "rocm_perf.analysis", "rocm_perf.render.sections"
FLATTENED = {
    "hotspots": "kernels",
    "path": "critical_path_ns",
    "roofline": "gpus",
}  # fields with names of their own
topics = pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.name)


def test_every_field_of_the_document_has_one_topic() -> None:
    filled = Counter(field for topic in TOPICS for field in topic.fields)
    assert set(filled) | set(HEADER) == set(Document.__struct_fields__)
    assert set(filled) & set(HEADER) == set()
    assert [field for field, times in filled.items() if times > 1] == []


def test_names_are_unique() -> None:
    assert len({topic.name for topic in TOPICS}) == len(TOPICS)


@topics
def test_answers_have_the_type_of_their_field(topic: Topic) -> None:
    fields = get_type_hints(Document)
    for field, reference in topic.answers.items():
        assert get_type_hints(resolve(ANALYSIS, reference))["return"] == fields[field], reference


@topics
def test_a_topic_can_be_shown_and_its_evidence_too(topic: Topic) -> None:
    assert callable(resolve(SECTIONS, topic.section))
    assert set(topic.shown_by.split(",")) <= {other.name for other in TOPICS}
    if topic.findings:
        assert get_type_hints(resolve(ANALYSIS, topic.findings))["document"] is Document


@topics
def test_every_field_stands_in_a_file_with_a_schema(topic: Topic) -> None:
    written = {
        name
        for file in FILES
        for kind in schema(file)["$defs"].values()
        for name in kind.get("properties", ())
    }
    assert {FLATTENED.get(field, field) for field in topic.fields} <= written
