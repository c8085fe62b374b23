"""The sets that users know by name, on every chip: counter_sets.tsv states what each becomes.

`python -m tests.unit.arch.test_counter_sets` writes that file anew; read the difference before you commit it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from rocm_perf.arch.counter_sets import SetOn, counter_set, counter_sets, plan_with_sets, resolve_set
from rocm_perf.arch.counters import counters, known_chips
from rocm_perf.errors import UsageError

TABLE = Path(__file__).parents[2] / "golden" / "counter_sets.tsv"
COLUMNS = ("set", "chips", "present", "replaced", "dropped")
NAMES = (
    "verdict",
    "compute_bound",
    "memory_bound",
    "communication_bound",
    "full_profile",
    "instruction_mix",
    "counters_basic",
    "counters_extended",
    "limits",
    "limits_first",
)


def described(on_chip: SetOn) -> tuple[str, str, str]:
    replaced = (f"{each.asked}={'+'.join(each.means)}" for each in on_chip.replaced)
    return " ".join(on_chip.present), " ".join(replaced), " ".join(each.asked for each in on_chip.dropped)


def table() -> str:
    lines = ["\t".join(COLUMNS)]
    for name in NAMES:
        chips: dict[tuple[str, str, str], list[str]] = {}
        for gfx in known_chips():
            chips.setdefault(described(resolve_set(name, gfx)), []).append(gfx)
        lines += ["\t".join((name, " ".join(group), *facts)) for facts, group in chips.items()]
    return "\n".join(lines) + "\n"


def test_every_set_on_every_chip() -> None:
    assert tuple(counter_sets()) == NAMES
    assert table() == TABLE.read_text()


@pytest.mark.parametrize("gfx", known_chips())
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.whole
def test_a_set_asks_only_for_what_exists(name: str, gfx: str) -> None:
    on_chip = resolve_set(name, gfx)
    assert set(on_chip.counters) <= counters(gfx).keys()
    assert len(on_chip.counters) == len(set(on_chip.counters))
    assert all(each.why or each.nearest for each in (*on_chip.replaced, *on_chip.dropped))


def test_compute_bound_is_whole_on_mi300() -> None:
    on_chip = resolve_set("compute_bound", "gfx942:sramecc+:xnack-")
    assert (on_chip.replaced, on_chip.dropped, on_chip.gfx) == ((), (), "gfx942")
    assert set(counter_set("compute_bound")) <= set(on_chip.present)


def test_metrics_bring_what_the_chip_counts_for_them() -> None:
    """On the MI300X the bytes need TCC_BUBBLE, and the operations those of the matrix units."""
    for name in ("verdict", "compute_bound", "memory_bound", "full_profile"):
        assert {"TCC_BUBBLE_sum", "SQ_INSTS_VALU_MFMA_MOPS_F16"} <= set(resolve_set(name, "gfx942").present)
    assert "TCC_BUBBLE_sum" not in resolve_set("verdict", "gfx90a").present
    assert resolve_set("verdict", "gfx1151", "7.0").counters == ()


def test_wildcards_become_what_the_chip_has() -> None:
    assert "TCC_EA*_RDREQ*_sum" in counter_set("memory_bound")
    assert "TCC_EA0_RDREQ_32B_sum" in resolve_set("memory_bound", "gfx942").present
    assert {"TCC_EA_RDREQ_sum", "TCC_EA1_RDREQ_sum"} < set(resolve_set("memory_bound", "gfx906").present)
    assert "GL2C_EA_RDREQ_96B_sum" in resolve_set("memory_bound", "gfx1100").counters


def test_full_profile_is_the_union() -> None:
    parts = ("compute_bound", "memory_bound", "communication_bound")
    assert set(counter_set("full_profile")) == {counter for part in parts for counter in counter_set(part)}


def test_a_chip_without_definitions_drops_all_and_says_why() -> None:
    on_chip = resolve_set("memory_bound", "gfx1151", "7.0")
    assert on_chip.counters == ()
    assert all("7.2 brings them" in each.why for each in on_chip.dropped)
    assert "L2CacheHit" in resolve_set("memory_bound", "gfx1151", "7.2").present


@pytest.mark.parametrize(
    ("gfx", "runs"),
    [("gfx90a", 3), ("gfx942", 3), ("gfx950", 3), ("gfx1100", 2), ("gfx1151", 2), ("gfx1201", 2)],
)
def test_what_decides_takes_few_runs(gfx: str, runs: int) -> None:
    """The passes are those that the file says: what is divided by one another is counted together."""
    plan, notes = plan_with_sets(("limits",), gfx)
    assert plan is not None
    assert (plan.runs, notes) == (runs, ())
    own = resolve_set("limits", gfx).passes
    assert sorted(map(sorted, own)) == sorted(sorted(each.ask) for each in plan.passes)
    first, _ = plan_with_sets(("limits_first",), gfx)
    assert first is not None
    assert [set(each.ask) for each in first.passes] == [set(own[0])]


def test_counters_beside_a_set_with_its_own_passes_are_planned_as_ever() -> None:
    plan, _ = plan_with_sets(("limits", "SQ_INSTS_SMEM", "l2_hit_rate"), "gfx942")
    assert plan is not None
    assert plan.runs == 4  # the three of the set are full of counters of the SQ
    assert any({"TCC_HIT_sum", "TCC_MISS_sum"} <= set(each.ask) for each in plan.passes)


def test_where_a_chip_has_none_of_a_set_there_is_no_plan() -> None:
    plan, notes = plan_with_sets(("limits",), "gfx1151", "7.0")
    assert plan is None
    assert any("7.2 brings them" in note for note in notes)


def test_an_unknown_set_names_the_nearest() -> None:
    with pytest.raises(
        UsageError, match=r"no counter set 'memory_bond': the nearest name is memory_bound\. Known: "
    ):
        counter_set("memory_bond")


if __name__ == "__main__":
    TABLE.write_text(table())
