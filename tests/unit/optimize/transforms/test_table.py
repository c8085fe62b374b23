"""Every candidate of every transform, for the programs of the testbed: it parses, changes the kernel alone, and is
right by the gates that read the source."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.optimize.candidate import Candidate, Cause
from rocm_perf.optimize.guards.precision import precision_passage
from rocm_perf.optimize.guards.safety import safety_passage
from rocm_perf.optimize.guards.text import text_passage
from rocm_perf.optimize.source.parse import Source, parse
from rocm_perf.optimize.transforms.setting import Setting
from rocm_perf.optimize.transforms.table import TRANSFORMS, ordered, proposals
from tests.unit.optimize.transforms.trying import PROGRAMS, as_launched


@cache
def parsed(path: Path) -> Source:
    return parse(path)


@cache
def proposed(path: Path) -> tuple[Candidate, ...]:
    """Everything that is proposed for a program, whatever the cause."""
    source = parsed(path)
    (kernel,) = source.kernels
    known = Setting(
        cause="unknown", arch="gfx942", wave=32, launches=(as_launched(source, kernel),), bank_conflicts=0.2
    )
    return tuple(each for one in TRANSFORMS for each in one.candidates(source, kernel, known)[0])


def test_the_cause_decides_what_is_tried_first() -> None:
    first: dict[Cause, str] = {cause: ordered(cause)[0].name for cause in get_args(Cause)}
    assert first == {
        "memory": "vector loads",
        "latency": "unroll",
        "occupancy": "launch bounds",
        "lds": "LDS padding",
        "compute": "unroll",
        "unknown": "unroll",
    }
    assert all(each.ranks.keys() <= set(get_args(Cause)) for each in TRANSFORMS)


def test_names_are_unique() -> None:
    names = [each.name for each in TRANSFORMS]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.name)
def test_proposals_come_in_the_order_of_the_transforms(path: Path) -> None:
    source = parsed(path)
    (kernel,) = source.kernels
    known = Setting(cause="occupancy", arch="gfx942", wave=64, launches=(as_launched(source, kernel),))
    candidates, refused = proposals(source, kernel, known)
    order = [each.name for each in ordered("occupancy")]
    positions = [order.index(each.by) for each in candidates]
    assert positions == sorted(positions)
    assert candidates
    assert all(each.reason for each in refused)


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.name)
@pytest.mark.whole
def test_every_candidate_passes_the_gates_of_the_source(path: Path) -> None:
    source = parsed(path)
    (kernel,) = source.kernels
    candidates = proposed(path)
    assert len({each.name for each in candidates}) == len(candidates) > 3
    for candidate in candidates:
        text = candidate.applied_to(source.text)
        checks = [safety_passage(source.text, text, kernel.qualified)]
        checks.append(precision_passage(source.text, text, kernel.qualified, flags=candidate.flags))
        if "text" not in candidate.allows:
            checks.append(text_passage(source.text, text, kernel.qualified))
        assert [each.words for each in checks if not each.passed] == [], candidate.name


@given(st.data())
def test_changes_may_follow_one_another(data: st.DataObject) -> None:
    """A second transform works on what a first one made, as rounds of the loop do."""
    path = data.draw(st.sampled_from(PROGRAMS))
    first = data.draw(st.sampled_from(proposed(path)))
    source = parse(first.applied_to(parsed(path).text))
    (kernel,) = source.kernels
    known = Setting(cause="memory", arch="gfx942", wave=64, launches=(as_launched(source, kernel),))
    transform = data.draw(st.sampled_from(TRANSFORMS))
    for second in transform.candidates(source, kernel, known)[0]:
        text = second.applied_to(source.text)
        assert not parse(text).tree.root_node.has_error
        assert "text" in second.allows or text_passage(source.text, text, kernel.qualified).passed
