"""Passes are legal, hold everything that was asked for, and are as few as can be."""

from __future__ import annotations

import csv
from collections import Counter
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.arch import packing
from rocm_perf.arch.counter_sets import counter_sets, resolve_set
from rocm_perf.arch.counters import blocks, hardware_counters, known_chips
from rocm_perf.arch.metrics import metrics_of
from rocm_perf.arch.packing import Slots, pack
from rocm_perf.arch.passes import PassPlan, kept_together, plan_passes
from rocm_perf.errors import UsageError

GOLDEN = Path(__file__).parents[2] / "golden" / "set_passes.tsv"
COMPUTE_BOUND = (
    "SQ_WAVES",
    "SQ_WAVE_CYCLES",
    "SQ_INSTS_VALU",
    "SQ_ACTIVE_INST_VALU",
    *(f"SQ_INSTS_VALU_{operation}_F32" for operation in ("ADD", "MUL", "FMA", "TRANS")),
    "SQ_INSTS_SALU",
    "SQ_INSTS_VMEM_RD",
    "SQ_INSTS_VMEM_WR",
    "SQ_WAIT_INST_ANY",
)

# --- packing: letters are counters, a to d in a block of 2 slots, e to h in one of 3
SLOTS = Slots({letter: "AD" if letter < "e" else "EH" for letter in "abcdefgh"}, {"AD": 2, "EH": 3})


def groups(*texts: str) -> list[frozenset[str]]:
    return [frozenset(text) for text in texts]


def least_passes(wanted: list[frozenset[str]]) -> int:
    """By trying every arrangement."""
    for count in range(len(wanted) + 1):
        for places in product(range(count), repeat=len(wanted)):
            held: list[set[str]] = [set() for _ in range(count)]
            for each, at in zip(wanted, places, strict=True):
                held[at] |= each
            if all(SLOTS.fit(each) for each in held):
                return count
    raise AssertionError


group = st.frozensets(st.sampled_from("abcdefgh"), max_size=5).filter(SLOTS.fit)


@given(st.lists(group, max_size=5))
def test_no_arrangement_needs_fewer_passes(wanted: list[frozenset[str]]) -> None:
    packing = pack(wanted, SLOTS)
    assert packing.fewest
    assert len(packing.passes) == least_passes([each for each in wanted if each])
    assert all(SLOTS.fit(held) for held in packing.passes)
    assert all(any(each <= held for held in packing.passes) for each in wanted if each)


@pytest.mark.parametrize(
    ("wanted", "passes"),
    [
        (groups(), 0),
        (groups("a", "b"), 1),
        (groups("a", "b", "c"), 2),
        (groups("ab", "bc", "cd", "ad"), 4),
        (groups("ab", "b", "a"), 1),
        (groups("ae", "af", "ag"), 1),  # a is counted once
        (groups("ae", "bf", "cg"), 2),
    ],
)
def test_packing(wanted: list[frozenset[str]], passes: int) -> None:
    assert len(pack(wanted, SLOTS).passes) == passes


def test_what_is_too_much_to_search_is_packed_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "_MOST_STEPS", 3)
    wanted = groups("ab", "cd", "ac", "bd", "ae", "h", "g")
    packed = pack(wanted, SLOTS)
    assert not packed.fewest
    assert all(SLOTS.fit(held) for held in packed.passes)
    assert all(any(each <= held for held in packed.passes) for each in wanted)


# --- plans


def check(plan: PassPlan) -> None:
    """Slots are kept, and each pass counts what it is asked for."""
    slots = blocks(plan.gfx)
    for each in plan.passes:
        assert all(len(held) <= slots[name] for name, held in each.hardware.items())
        counted = {counter for held in each.hardware.values() for counter in held}
        assert all(hardware_counters(plan.gfx, name) <= counted for name in each.ask)


def test_twelve_counters_take_two_passes_not_twelve() -> None:
    plan = plan_passes(COMPUTE_BOUND, "gfx942")
    assert plan.runs == 2
    assert plan.fewest
    assert Counter(name for each in plan.passes for name in each.ask) == Counter(COMPUTE_BOUND)
    check(plan)


def test_reads_and_writes_do_not_fit_one_pass_of_the_l2() -> None:
    plan = plan_passes(["FETCH_SIZE", "WRITE_SIZE"], "gfx942")
    assert [each.ask for each in plan.passes] == [("FETCH_SIZE",), ("WRITE_SIZE",)]
    assert [each.hardware for each in plan.passes] == [
        {"TCC": ("TCC_BUBBLE", "TCC_EA0_RDREQ", "TCC_EA0_RDREQ_32B")},
        {"TCC": ("TCC_EA0_WRREQ", "TCC_EA0_WRREQ_64B")},
    ]
    assert plan_passes(["FETCH_SIZE", "WRITE_SIZE"], "gfx90a").runs == 1


def test_a_group_that_cannot_fit_is_refused_with_its_block() -> None:
    with pytest.raises(
        UsageError, match=r"5 counters of TCC, which has 4 slots: TCC_BUBBLE.*Leave out 1 of them"
    ):
        plan_passes([], "gfx942", together=[["FETCH_SIZE", "WRITE_SIZE"]])


def test_hardware_counters_are_shared() -> None:
    names = ["TCC_EA0_RDREQ_sum", "FETCH_SIZE", "TCC_EA0_RDREQ_32B_sum", "TCC_BUBBLE_sum", "TCC_EA0_RDREQ"]
    plan = plan_passes(names, "gfx942")
    assert plan.runs == 1
    assert set(plan.passes[0].ask) == set(names)
    assert plan.passes[0].describe().endswith("(TCC 3 of 4)")


def test_what_belongs_together_stays_together() -> None:
    plan = plan_passes(COMPUTE_BOUND, "gfx942", together=[["SQ_WAVES", "SQ_WAIT_INST_ANY", "SQ_INSTS_SALU"]])
    assert plan.runs == 2
    assert any({"SQ_WAVES", "SQ_WAIT_INST_ANY", "SQ_INSTS_SALU"} <= set(each.ask) for each in plan.passes)


def test_the_inputs_of_a_metric_share_a_pass() -> None:
    plan = plan_passes(["vector_f16_flops", "vector_f32_flops", "vector_f64_flops", "l2_hit_rate"], "gfx942")
    assert plan.runs == 2
    for dtype in ("F16", "F32", "F64"):
        inputs = {f"SQ_INSTS_VALU_{op}_{dtype}" for op in ("ADD", "MUL", "TRANS", "FMA")}
        assert any(inputs <= set(each.ask) for each in plan.passes)
    check(plan)


def test_a_metric_too_large_for_a_pass_is_split_where_it_may_be_and_it_is_said() -> None:
    plan = plan_passes(["dram_gbps", "l1_hit_rate"], "gfx942")
    assert plan.runs == 2
    assert "dram_gbps: its 5 counters do not fit in one pass; its values combine several" in plan.notes
    read = {"TCC_BUBBLE_sum", "TCC_EA0_RDREQ_sum", "TCC_EA0_RDREQ_32B_sum"}
    assert any(read <= set(each.ask) for each in plan.passes)
    check(plan)


def test_a_metric_is_asked_for_by_counters_that_the_chip_has() -> None:
    (only,) = plan_passes(["achieved_occupancy", "l2_hit_rate"], "gfx1100").passes
    assert set(only.ask) == {"SQ_WAVE_CYCLES", "GRBM_GUI_ACTIVE", "GL2C_HIT_sum", "GL2C_MISS_sum"}


def test_unknown_names_are_refused_with_what_was_meant() -> None:
    with pytest.raises(
        UsageError,
        match=r"SQ_WAVEZ is not a counter.*SQ_WAVES.*; SQ_INSTS_TEX_LOAD does not exist on gfx942",
    ):
        plan_passes(["SQ_WAVES", "SQ_WAVEZ"], "gfx942", together=[["SQ_INSTS_TEX_LOAD"]])
    with pytest.raises(
        UsageError, match="metric flops cannot be recorded on gfx1100: it has no known formula"
    ):
        plan_passes(["flops"], "gfx1100")
    with pytest.raises(UsageError, match="gfx94"):
        plan_passes(["SQ_WAVES"], "gfx9421")


def test_a_metric_whose_counters_came_later_is_refused_with_the_release() -> None:
    with pytest.raises(UsageError, match=r"dram_read_bytes cannot be recorded on gfx1151.*7\.2"):
        plan_passes(["dram_read_bytes"], "gfx1151", "7.0")


def test_other_names_are_told() -> None:
    plan = plan_passes(["L2CacheMiss"], "gfx942")
    assert plan.passes[0].ask == ("TCC_MISS_sum",)
    assert any(note.startswith("L2CacheMiss on gfx942 is TCC_MISS_sum") for note in plan.notes)


def test_an_accumulation_takes_two_slots() -> None:
    (only,) = plan_passes(["MeanOccupancyPerCU"], "gfx942").passes
    assert len(only.hardware["SQ"]) == 2


def test_description() -> None:
    lines = plan_passes(["FETCH_SIZE", "WRITE_SIZE", "SQ_WAVES"], "gfx942").describe()
    assert lines == (
        "2 passes on gfx942: the application runs 2 times",
        "pass 1: FETCH_SIZE SQ_WAVES (SQ 1 of 8, TCC 3 of 4)",
        "pass 2: WRITE_SIZE (TCC 2 of 4)",
    )
    assert plan_passes(["SQ_WAVES"], "gfx942").describe()[0] == "1 pass on gfx942: the application runs once"


def test_constants_cost_nothing() -> None:
    assert plan_passes(["CU_NUM"], "gfx942").describe()[1] == "pass 1: CU_NUM"
    assert plan_passes(["SQ_WAVES", "CU_NUM"], "gfx942").runs == 1
    assert plan_passes([], "gfx942").runs == 0


@pytest.mark.parametrize("gfx", ["gfx906", "gfx908", "gfx90a", "gfx942", "gfx950"])
def test_all_metrics_of_a_chip_can_be_planned(gfx: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        packing, "_MOST_STEPS", 10_000
    )  # a user's search for fewer passes goes on for seconds
    plan = plan_passes([name for name in metrics_of(gfx) if recordable(name, gfx)], gfx)
    check(plan)
    assert plan.runs <= 8


def recordable(name: str, gfx: str) -> bool:
    try:
        return bool(plan_passes([name], gfx).runs)
    except UsageError:
        return False


@pytest.mark.whole
def test_every_set_on_every_chip() -> None:
    """set_passes.tsv: how often the application runs for each set; `-` where the chip has none of its counters."""
    with GOLDEN.open() as file:
        golden = {row["gfx"]: row for row in csv.DictReader(file, delimiter="\t")}
    assert golden == {gfx: sets_of(gfx) for gfx in known_chips()}


def sets_of(gfx: str) -> dict[str, str]:
    return {"gfx": gfx, **{name: str(runs(name, gfx) or "-") for name in counter_sets()}}


def runs(name: str, gfx: str) -> int:
    resolved = resolve_set(name, gfx)
    plan = plan_passes(resolved.counters, gfx, together=resolved.passes)
    check(plan)
    assert plan.fewest
    return plan.runs


def test_counters_that_one_metric_needs_stay_in_one_pass() -> None:
    wanted = resolve_set("memory_bound", "gfx942").counters
    alone = plan_passes(wanted, "gfx942")
    plan = plan_passes(wanted, "gfx942", together=kept_together(wanted, "gfx942"))
    assert any({"TCC_HIT_sum", "TCC_MISS_sum"} <= set(each.ask) for each in plan.passes)
    assert plan.runs == alone.runs  # here, keeping them together costs nothing


def test_a_single_counter_is_no_group() -> None:
    assert kept_together(["SQ_WAVES"], "gfx942") == ()
