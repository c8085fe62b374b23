"""Planted limits, compiled for AMD chips and executed: exact counts, the cause by its name, and not in the repaired
form."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pytest

from rocm_perf.model.results.count import Counting, TallyName
from tests.amd_snapshots import Launched
from tests.planted_tallies import WRITE_AGAIN, planted_tallies
from tests.softgpu.counted import Shop, ids, tally
from tests.softgpu.planted_limits import EXECUTED, FEW_ITEMS, HELD, STEPS, launched, per_workgroup

pytestmark = pytest.mark.softgpu

CHIPS = ("gfx942", "gfx1100", "gfx1151")
WAVE = {"gfx90a": 64, "gfx942": 64, "gfx1100": 32, "gfx1151": 32}


@dataclass(frozen=True)
class Planted:
    """A kernel with a limit, the same work without it, and what one workgroup is to be counted with.

    `once`: instructions, which all waves of a workgroup execute; `each`: lanes, bytes, lines and cycles.
    """

    kernel: str
    repaired: str
    cause: str
    once: Mapping[TallyName, float]  # by a wave
    each: Mapping[TallyName, float]  # by a workgroup
    items: int | None = None


# A step loads a word of a row of 32: all 32 lanes that LDS serves together meet one bank. A row is stored by 8
# instructions of 16 B, of which LDS serves 8 lanes together, which meet the same four banks.
_CYCLES_CONFLICTING = 64 * STEPS + 8 * 64
_CYCLES_FREE = 2 * STEPS + 8 * 8

PLANTED = (
    Planted("conflicting", "conflict_free", "bank-conflicts", {},
            {"lds cycles": _CYCLES_CONFLICTING, "lds conflicts": _CYCLES_CONFLICTING - _CYCLES_FREE}),
    Planted("of_structures", "of_arrays", "uncoalesced", {},
            {"load bytes": 4 * 64, "load lines": 32 * 64 / 128, "dense load lines": 4 * 64 / 128}),
    Planted("copy_bytes", "copy_wide", "narrow-accesses", {"narrow accesses": 2}, {"load bytes": 64}),
    Planted("copy_halves", "copy_wide", "narrow-accesses", {"narrow accesses": 2}, {"load bytes": 128}),
    Planted("doubles", "floats", "accidental-f64", {"f64": STEPS, "f64 conversions": 2 * STEPS}, {}),
    Planted("doubles", "true_doubles", "accidental-f64", {"f64": STEPS}, {}),
    Planted("quarters", "whole_waves", "divergence", {}, {}),
    Planted("special", "polynomial", "special-functions", {"special": 2 * STEPS}, {}),
    Planted("divided", "shifted", "integer-division",
            {"integer divisions": STEPS, "special": STEPS, "conversions": 2 * STEPS}, {}),
    Planted("barriers", "no_barriers", "barriers", {"barriers": 2 * STEPS}, {}),
    Planted("each_atomic", "one_atomic", "many-atomics", {"atomics": STEPS},
            {"atomic lanes": 64 * STEPS, "contended lanes": 0}),
    Planted("in_scratch", "in_lds", "private-array", {}, {"scratch bytes": 4 * 64 * (64 + 2)}),
    Planted("one_chain", "eight_chains", "dependent-arithmetic", {}, {}, FEW_ITEMS),
)  # fmt: skip


@pytest.mark.parametrize("gfx", CHIPS)
@pytest.mark.parametrize("planted", PLANTED, ids=lambda one: f"{one.kernel}-{one.repaired}")
def test_a_planted_limit_is_named_and_its_repair_is_not(shop: Shop, planted: Planted, gfx: str) -> None:
    limited = _count(shop, planted.kernel, gfx, planted.items)
    groups = limited.executed.of_workgroups
    waves = groups * limited.workgroup[0] / WAVE[gfx]
    counted = {name: tally(limited, name) for name in (*planted.once, *planted.each)}
    assert counted == {
        **{name: amount * waves for name, amount in planted.once.items()},
        **{name: amount * groups for name, amount in planted.each.items()},
    }
    assert ids(limited)[0] == planted.cause
    finding = limited.findings[0]
    assert finding.severity == "warning"
    assert finding.remedy
    repaired = _count(shop, planted.repaired, gfx, planted.items)
    assert planted.cause not in ids(repaired)
    for kernel, result in ((planted.kernel, limited), (planted.repaired, repaired)):
        assert per_workgroup(result) == pytest.approx(planted_tallies()[gfx][kernel]), WRITE_AGAIN


@pytest.mark.parametrize("gfx", CHIPS)
def test_spilled_registers_are_named_and_enough_of_them_are_not(shop: Shop, gfx: str) -> None:
    spilled, held = (_count(shop, kernel, gfx) for kernel in ("spilling", "holding"))
    assert (
        tally(spilled, "load bytes")
        == tally(held, "load bytes")
        == 4 * HELD * 64 * held.executed.of_workgroups
    )
    assert tally(spilled, "spilled registers") > HELD
    assert tally(spilled, "scratch bytes") > tally(spilled, "load bytes")
    assert ids(spilled)[0] == "spills"
    assert (tally(held, "scratch bytes"), "spills" in ids(held)) == (0, False)


@pytest.mark.parametrize("gfx", CHIPS)
def test_atomics_that_meet_are_named_and_added_up_first_they_are_not(shop: Shop, gfx: str) -> None:
    met, added = (_count(shop, kernel, gfx) for kernel in ("histogram", "counted_first"))
    groups, waves = met.executed.of_workgroups, 64 // WAVE[gfx]
    assert tally(met, "atomic lanes") == 64 * groups
    assert tally(met, "contended lanes") == (64 - 8 * waves) * groups  # values 0 to 7 are in each wave
    assert ids(met)[0] == "contended-atomics"
    assert (tally(added, "atomic lanes"), tally(added, "contended lanes")) == (8 * groups, 0)
    assert "contended-atomics" not in ids(added)


@pytest.mark.parametrize(("gfx", "matrix"), [("gfx942", "mfma_product"), ("gfx1100", "wmma_product")])
def test_a_product_without_matrix_units_is_named(shop: Shop, gfx: str, matrix: str) -> None:
    plain = _count(shop, "plain_product", gfx)
    waves = 256 // WAVE[gfx]
    assert (
        tally(plain, "products of loads") >= STEPS / 2 * waves * plain.executed.of_workgroups
    )  # two at once, packed
    assert ids(plain)[0] == "matrix-units-unused"
    repaired = shop.count(_matrix_product(shop.symbol(matrix, gfx), WAVE[gfx]), gfx)
    assert tally(repaired, "matrix") == STEPS
    assert "matrix-units-unused" not in ids(repaired)


@pytest.mark.parametrize("gfx", CHIPS)
def test_a_quarter_of_the_lanes_works_in_the_loop(shop: Shop, gfx: str) -> None:
    counted = _count(shop, "quarters", gfx)
    body = [row for row in counted.instructions if row.text.startswith(("v_fma", "v_fmac", "v_dual_fma"))]
    assert sum(row.lanes for row in body) / sum(row.executions for row in body) == WAVE[gfx] / 4


def test_scratch_of_gfx90a_is_scratch(shop: Shop) -> None:
    counted = _count(shop, "in_scratch", "gfx90a")
    assert tally(counted, "scratch bytes") == 4 * 64 * (64 + 2) * counted.executed.of_workgroups
    assert {one.space for one in counted.totals.accesses} == {"global", "scratch", "scalar"}
    assert ids(counted)[0] == "private-array"
    assert ids(_count(shop, "spilling", "gfx90a"))[0] == "spills"


def test_the_source_line_of_a_limit_is_named(shop: Shop) -> None:
    counted = shop.count(launched("doubles"), "gfx1151", "-gline-tables-only", most=EXECUTED)
    place = next(sentence for sentence in counted.findings[0].evidence if sentence.startswith("most at"))
    assert "limits.hip:" in place
    assert "`v_fma_f64" in place


def _matrix_product(kernel: str, size: int) -> Launched:
    operand, result = np.zeros(16 * 64 * STEPS, np.float16), np.zeros(1024, np.float32)
    arrays = (operand, operand, result)
    return Launched(kernel, arrays, arrays, 1, size, struct.pack("<i", STEPS))


def _count(shop: Shop, kernel: str, gfx: str, items: int | None = None) -> Counting:
    launch = launched(kernel) if items is None else launched(kernel, items)
    folder = shop.folder / kernel
    folder.mkdir()
    return replace(shop, folder=folder).count(launch, gfx, most=EXECUTED)
