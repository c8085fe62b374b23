"""Counts of executed kernels against arithmetic: work that is known, and defects that were planted."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from tests.amd_snapshots import (
    GROUPS,
    Launched,
    bank_conflict,
    block_sum,
    contended,
    divergent,
    indexed,
    matmul,
    saxpy,
    stencil,
    strided_load,
)
from tests.softgpu.counted import Shop, access, ids

pytestmark = pytest.mark.softgpu

CHIPS = ("gfx942", "gfx1151")
WAVE = {"gfx942": 64, "gfx1151": 32}
ITEMS = 64 * GROUPS


@pytest.mark.parametrize("gfx", CHIPS)
def test_saxpy(shop: Shop, gfx: str) -> None:
    elements, n = 1 << 14, (1 << 14) - 3
    result = shop.count(saxpy(elements), gfx)
    assert result.totals.flops == 2 * n
    assert (access(result, "global", "load").bytes, access(result, "global", "store").bytes) == (8 * n, 4 * n)
    footprint = result.totals.footprint
    assert footprint is not None
    arguments = 1  # line, of scalar loads
    assert (footprint.read, footprint.written) == (2 * elements // 16 + arguments, elements // 16)
    assert result.roofline.bound == "memory"
    assert ids(result) == []


@pytest.mark.parametrize("gfx", CHIPS)
def test_stencil(shop: Shop, gfx: str) -> None:
    height = 16
    inner = 510 * (height - 2)
    result = shop.count(stencil(height), gfx)
    assert result.totals.flops == 6 * inner
    assert access(result, "global", "load").bytes == 5 * 4 * inner
    assert access(result, "global", "store").bytes == 4 * inner


@pytest.mark.parametrize("gfx", CHIPS)
def test_reduction(shop: Shop, gfx: str) -> None:
    groups = 16
    result = shop.count(block_sum(256 * groups), gfx)
    assert result.totals.flops == 255 * groups
    assert access(result, "global", "load").bytes == 4 * 256 * groups
    assert access(result, "global", "store").bytes == 4 * groups
    assert result.totals.barriers == (256 // WAVE[gfx]) * groups * 9
    assert result.totals.lds is not None
    assert result.totals.lds.conflict_cycles == 0


@pytest.mark.parametrize("gfx", CHIPS)
def test_matrix_product(shop: Shop, gfx: str) -> None:
    side = 64
    result = shop.count(matmul(shift=2), gfx)
    assert result.totals.flops == 2 * side**3
    assert access(result, "global", "load").bytes == 2 * 4 * side**3 // 16
    assert access(result, "global", "store").bytes == 4 * side**2


@pytest.mark.parametrize("gfx", CHIPS)
def test_a_strided_load_asks_for_a_line_per_lane(shop: Shop, gfx: str) -> None:
    result = shop.count(strided_load(), gfx)
    load = access(result, "global", "load")
    assert (load.lines, load.bytes, load.efficiency) == (ITEMS, 4 * ITEMS, 1 / 32)
    assert access(result, "global", "store").efficiency == 1
    assert ids(result) == ["uncoalesced"]
    assert result.totals.flops == ITEMS


@pytest.mark.parametrize("gfx", CHIPS)
def test_a_bank_conflict_costs_31_cycles_of_32(shop: Shop, gfx: str) -> None:
    result = shop.count(bank_conflict(), gfx)
    lds = result.totals.lds
    assert lds is not None
    halves = 2 * 2 * GROUPS  # of 32 lanes: a store and a load
    assert (lds.cycles, lds.conflict_cycles) == (32 * halves, 31 * halves)
    assert ids(result) == ["bank-conflicts"]
    assert result.bottleneck.suspect == "LDS"


@pytest.mark.parametrize("gfx", CHIPS)
def test_padding_removes_the_conflict(shop: Shop, gfx: str) -> None:
    lds = shop.count(bank_conflict("no_bank_conflict"), gfx).totals.lds
    assert lds is not None
    assert (lds.cycles, lds.conflict_cycles) == (2 * 2 * GROUPS, 0)


@pytest.mark.parametrize("gfx", CHIPS)
def test_a_divergent_loop_works_for_a_quarter_of_the_lanes(shop: Shop, gfx: str) -> None:
    loops = 256
    result = shop.count(divergent(loops), gfx)
    assert result.totals.flops == 2 * loops * ITEMS // 4
    body = [row for row in result.instructions if row.text.startswith(("v_fma", "v_fmac", "v_dual_fma"))]
    assert sum(row.lanes for row in body) / sum(row.executions for row in body) == WAVE[gfx] / 4
    assert "divergence" in ids(result)


@pytest.mark.parametrize("gfx", CHIPS)
def test_atomics_at_one_address(shop: Shop, gfx: str) -> None:
    result = shop.count(contended(), gfx)
    atomic = access(result, "global", "atomic")
    waves = ITEMS // WAVE[gfx]
    assert (atomic.lanes, atomic.same_address) == (ITEMS, ITEMS - waves)
    assert result.totals.atomics == ITEMS
    assert ids(result) == ["contended-atomics"]


@pytest.mark.parametrize("gfx", CHIPS)
def test_an_indexed_array_moves_through_scratch(shop: Shop, gfx: str) -> None:
    result = shop.count(indexed(), gfx)
    stored, loaded = access(result, "scratch", "store"), access(result, "scratch", "load")
    assert stored.bytes + loaded.bytes == 4 * (256 + 2) * ITEMS
    assert stored.lines >= 4 * 256 * ITEMS // 128  # words of all lanes lie beside each other
    assert ids(result) == ["private-array"]


@pytest.mark.parametrize(
    ("kernel", "gfx", "each", "result_bytes"),
    [
        ("mfma_product", "gfx942", 2 * 32 * 32 * 8, 4 * 32 * 32),
        ("wmma_product", "gfx1151", 2 * 16 * 16 * 16, 4 * 16 * 16),
    ],
)
def test_matrix_units(shop: Shop, kernel: str, gfx: str, each: int, result_bytes: int) -> None:
    loops, size = 12, WAVE[gfx]
    operand, result = np.zeros(1 << 16, np.float16), np.zeros(result_bytes // 4, np.float32)
    launched = Launched(
        kernel=shop.symbol(kernel, gfx),
        before=(operand, operand, result),
        after=(operand, operand, result),
        groups=1,
        workgroup=size,
        scalars=struct.pack("<i", loops),
    )
    counts = shop.count(launched, gfx).totals
    assert [(one.dtype, one.unit, one.amount) for one in counts.operations] == [
        ("f16", "matrix", loops * each)
    ]
    store = next(one for one in counts.accesses if one.what == "store")
    assert store.bytes == result_bytes


def test_a_sample_of_equal_workgroups_gives_the_same_totals(shop: Shop) -> None:
    sampled = shop.count(saxpy(1 << 14), "gfx1151", most=8)
    assert sampled.executed.workgroups == 8
    assert sampled.totals.flops == 2 * (1 << 14)  # but for the last, which is not in the sample
    assert sampled.limits[0].startswith("scaled from 8 of 64 workgroups")


def test_source_lines_hold_all_operations(shop: Shop) -> None:
    result = shop.count(matmul(shift=1), "gfx1151", "-gline-tables-only")
    assert sum(line.flops for line in result.lines) == result.totals.flops
    assert max(result.lines, key=lambda line: line.flops).file.endswith("known_work.h")
