"""A candidate's code object can stand in for the original's, or the gate says why not."""

from __future__ import annotations

from typing import Any

import pytest

from rocm_perf.optimize.guards.interface import interface_passage
from tests.unit.optimize.hand_made import NUMBER, POINTER, arguments, hidden, image, kernel

_VISIBLE = arguments(POINTER, NUMBER)


def _with_hidden(*more: dict[str, Any]) -> list[dict[str, Any]]:
    return [*_VISIBLE, *more]


def test_the_same_interface_passes() -> None:
    passage = interface_passage([image(kernel())], [image(kernel(vgpr_count=80))])
    assert passage.passed
    assert passage.gate == "interface"


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"name": "_Z5otherPfi"}, "it lacks kernel _Z5scalePfi"),
        (
            {"args": arguments(NUMBER, POINTER)},
            "number 1 was global_buffer of 8 bytes at offset 0 and is by_value",
        ),
        ({"args": arguments(POINTER, NUMBER, NUMBER)}, "there are 3 instead of 2"),
        ({"args": _with_hidden(hidden("hostcall_buffer", 16, 8))}, "do not have: hidden_hostcall_buffer"),
        ({"kernarg_segment_size": 24}, "take 24 instead of 16 bytes"),
        ({"wavefront_size": 32}, "waves of 32 instead of 64 lanes"),
        ({"uses_dynamic_stack": True}, "a stack whose size is not known"),
        ({"max_flat_workgroup_size": 128}, "allows 128 work-items per block, and is launched with 256"),
    ],
)
def test_a_different_interface_is_refused(changed: dict[str, Any], words: str) -> None:
    passage = interface_passage([image(kernel())], [image(kernel(**changed))], workgroup_size=256)
    assert not passage.passed
    assert words in passage.words


def test_a_candidate_may_need_less_of_what_the_runtime_fills_in() -> None:
    block_count = hidden("block_count_x", 16)
    needing = image(kernel(args=_with_hidden(block_count), kernarg_segment_size=24))
    sparing = image(kernel(args=_VISIBLE))
    assert interface_passage([needing], [sparing]).passed
    assert not interface_passage([sparing], [needing]).passed


def test_variables_that_could_keep_results_are_refused() -> None:
    before = [image(kernel(), variables={"table": 64, "__hip_cuid_1234": 1})]
    same = [image(kernel(), variables={"table": 64, "__hip_cuid_9999": 1})]
    assert interface_passage(before, same).passed
    kept = [image(kernel(), variables={"table": 64, "_ZZ5scalePfiE4kept": 4})]
    assert interface_passage(before, kept).words == "it adds variable _ZZ5scalePfiE4kept"
    larger = [image(kernel(), variables={"table": 128})]
    assert interface_passage(before, larger).words == "variable table has 128 instead of 64 bytes"


def test_a_variable_without_a_name_is_seen_by_its_size() -> None:
    before, after = image(kernel()), image(kernel(), unnamed_bytes=4)
    assert interface_passage([before], [after]).words == "its variables take 4 instead of 0 bytes"


def test_every_chip_of_a_fat_binary_is_compared() -> None:
    both = [image(kernel()), image(kernel(), arch="gfx1100")]
    assert interface_passage(both, both).passed
    assert not interface_passage(both, both[:1]).passed
