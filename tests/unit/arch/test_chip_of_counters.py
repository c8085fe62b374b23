from __future__ import annotations

from rocm_perf.arch.chip_of_counters import agreements, chips_of_counters
from rocm_perf.arch.counters import counters


def _thorough(gfx: str) -> list[str]:
    return [name for name, counter in counters(gfx).items() if not counter.derived]


def test_a_counter_that_one_chip_alone_has_names_the_chip() -> None:
    assert chips_of_counters(["SQ_WAVES", "TCC_EA0_RDREQ_128B_sum"]) == ("gfx950",)


def test_few_common_counters_leave_several_chips() -> None:
    chips = chips_of_counters(["SQ_LDS_BANK_CONFLICT", "SQ_INSTS_LDS"])
    assert {"gfx90a", "gfx942", "gfx950"} <= set(chips)
    assert not any(gfx.startswith("gfx1") for gfx in chips)


def test_a_thorough_recording_without_the_newer_chips_own_counters_is_of_the_older_one() -> None:
    assert chips_of_counters(_thorough("gfx942")) == ("gfx942",)


def test_a_thorough_recording_of_the_newer_chip_is_its_own() -> None:
    assert chips_of_counters(_thorough("gfx950")) == ("gfx950",)


def test_instances_and_sums_count_as_their_counter() -> None:
    assert chips_of_counters(["TCC_EA0_RDREQ_128B[3]"]) == ("gfx950",)


def test_names_of_another_vendor_are_no_chips() -> None:
    assert chips_of_counters(["sm__throughput.avg.pct_of_peak_sustained_elapsed", "dram__bytes.sum"]) == ()
    assert chips_of_counters([]) == ()


def test_metrics_agree_where_all_chips_have_one_formula() -> None:
    counted = ["SQ_LDS_BANK_CONFLICT", "SQ_LDS_IDX_ACTIVE", "TCC_EA0_RDREQ_sum", "TCC_EA0_RDREQ_32B_sum"]
    counted += ["TCC_BUBBLE_sum", "TCC_EA0_RDREQ_128B_sum"]
    agreed = agreements(("gfx942", "gfx950"), counted)
    assert agreed["lds_conflict_rate"].gfx == "gfx942"
    assert agreed["dram_read_bytes"].gfx == ""


def test_chips_agree_on_what_was_recorded_even_if_they_differ_on_what_was_not() -> None:
    agreed = agreements(("gfx90a", "gfx942", "gfx1151"), ["FETCH_SIZE"])["dram_read_bytes"]
    assert agreed.gfx == "gfx90a"
    (doubt,) = agreed.doubts
    assert doubt.startswith("if it is a gfx1151: not validated")


def test_a_chip_on_which_the_counters_tell_nothing_is_a_doubt() -> None:
    agreed = agreements(("gfx90a", "gfx1201"), ["FETCH_SIZE"])["dram_read_bytes"]
    assert agreed.doubts == ("if it is a gfx1201: these counters do not tell it",)
