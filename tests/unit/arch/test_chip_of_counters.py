from __future__ import annotations

from rocm_perf.arch.chip_of_counters import agreed_metrics, chips_of_counters
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
    agreed = agreed_metrics(("gfx942", "gfx950"))
    assert "lds_conflict_rate" in agreed
    assert "dram_read_bytes" not in agreed
