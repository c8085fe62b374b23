"""Which instructions wait for the one before them, and which multiply two loaded values."""

from __future__ import annotations

import pytest

from rocm_perf.analysis.emulated.dataflow import dependent, operations_in, products
from tests.unit.analysis.emulated.rows import WAVES, row


@pytest.mark.parametrize(
    ("text", "writes", "reads"),
    [
        ("v_fma_f32 v0, v1, s4, v3", {0}, [{1}, set(), {3}]),
        ("v_fmac_f32_e32 v4, v2, v3", {4}, [{2}, {3}, {4}]),
        ("v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[0:1]", {0, 1}, [{2, 3}, {4, 5}, {0, 1}]),
        ("global_load_dwordx2 v[6:7], v[0:1], off", {6, 7}, [{0, 1}, set()]),
        ("global_store_dword v[0:1], v6, off", set(), [{0, 1}, {6}, set()]),
        ("v_cmp_gt_i32_e32 vcc, s4, v0", set(), [set(), set(), {0}]),
        ("s_endpgm", set(), []),
    ],
)
def test_registers_that_an_instruction_reads_and_writes(
    text: str, writes: set[int], reads: list[set[int]]
) -> None:
    (operation,) = operations_in(text)
    assert operation.writes == writes
    assert [set(part) for part in operation.reads] == reads


def test_both_halves_of_a_dual_instruction_are_read() -> None:
    first, second = operations_in("v_dual_mul_f32 v0, v1, v2 :: v_dual_add_f32 v3, v4, v5")
    assert (set(first.writes), set(second.writes)) == ({0}, {3})


def test_a_chain_waits_from_instruction_to_instruction() -> None:
    chain = [row("v_add_f32_e32 v0, v0, v1"), row("s_nop 0", lanes=0), row("v_mul_f32_e32 v0, v0, v2")]
    apart = [
        row("v_add_f32_e32 v0, v0, v1"),
        row("v_add_f32_e32 v3, v3, v1"),
        row("v_mul_f32_e32 v0, v0, v2"),
    ]
    assert [one.text for one in dependent(chain)] == ["v_mul_f32_e32 v0, v0, v2"]
    assert list(dependent(apart)) == []


def test_the_first_instruction_of_a_loop_may_wait_for_the_last() -> None:
    before = row("v_mov_b32_e32 v9, 0")
    loop = [row("v_fma_f32 v0, v0, v1, v2", 10 * WAVES)]
    assert [one.text for one in dependent([before, *loop])] == ["v_fma_f32 v0, v0, v1, v2"]


def test_a_product_multiplies_two_loaded_values() -> None:
    loads = [row("ds_read_b32 v1, v8"), row("ds_read_b32 v2, v9")]
    scaled = row("v_fma_f32 v0, v1, s4, v0")
    of_both = row("v_fmac_f32_e32 v0, v1, v2")
    converted = [row("v_cvt_f32_f16_e32 v3, v1"), row("v_fmac_f32_e32 v0, v3, v2")]
    computed = [row("v_add_f32_e32 v1, 1.0, v1"), row("v_fmac_f32_e32 v0, v1, v2")]
    assert list(products([*loads, scaled])) == []
    assert list(products([*loads, of_both])) == [of_both]
    assert [one.text for one in products([*loads, *converted])] == ["v_fmac_f32_e32 v0, v3, v2"]
    assert list(products([*loads, *computed])) == []
