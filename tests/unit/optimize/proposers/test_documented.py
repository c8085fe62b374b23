"""docs/proposers.md says what is exchanged: every field, and an answer that can be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocm_perf.optimize.proposers.exchange import (
    Allowed,
    EarlierAttempt,
    KernelProfile,
    KernelText,
    Patch,
    ProposalAnswer,
    ProposalRequest,
    read_answer,
)

PAGE = (Path(__file__).parents[4] / "docs" / "proposers.md").read_text()
STRUCTS = (ProposalRequest, KernelText, KernelProfile, EarlierAttempt, Allowed, ProposalAnswer, Patch)


@pytest.mark.parametrize("struct", STRUCTS, ids=lambda struct: struct.__name__)
def test_every_field_is_named(struct: type[ProposalRequest]) -> None:
    named = [field for field in struct.__struct_fields__ if f"`{field}`" in PAGE or f'"{field}"' in PAGE]
    assert named == list(struct.__struct_fields__)


def test_the_answer_of_the_page_is_one() -> None:
    example = PAGE.partition("```json\n")[2].partition("```")[0]
    assert [patch.name for patch in read_answer(example.encode()).patches] == ["unroll by 4", "restrict"]
