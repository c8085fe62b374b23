"""From the counts of instructions to totals, a roof and findings: checked by arithmetic."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from rocm_perf.analysis.emulated.build import banks_of, counting, line_bytes_of
from rocm_perf.arch.catalog import find_gpu
from rocm_perf.model.results.count import Counting, Footprint, InstructionCount
from tests.unit.analysis.emulated.rows import (
    LANES,
    LOAD,
    MULTIPLY_ADD,
    SAXPY,
    STORE,
    WAVES,
    moved,
    observed,
    row,
)


def ids(*rows: InstructionCount) -> list[str]:
    return [finding.id for finding in counting(observed(*rows)).findings]


def test_saxpy_by_arithmetic() -> None:
    totals = counting(observed(*SAXPY)).totals
    assert totals.flops == 2 * LANES
    assert {(one.space, one.what): one.bytes for one in totals.accesses} == {
        ("global", "load"): 8 * LANES,
        ("global", "store"): 4 * LANES,
        ("scalar", "load"): 16 * WAVES,
    }
    assert totals.accesses[0].efficiency == 1.0
    assert totals.active_lanes == 1.0
    assert (totals.float_lanes, totals.integer_lanes) == (LANES, LANES)
    assert sum(one.executions for one in totals.classes) == totals.instructions == 8 * WAVES


def test_its_intensity_has_bounds_and_memory_is_its_roof() -> None:
    roof = counting(observed(*SAXPY)).roofline
    assert roof.intensity_most.value == pytest.approx(2 * LANES / (3 * WAVES * 128))
    assert roof.intensity_least.value == pytest.approx(2 * LANES / (4 * WAVES * 128))
    assert roof.bound == "memory"
    assert roof.memory_ns.value == pytest.approx(3 * WAVES * 128 / 256)  # 256 GB/s
    assert roof.ridge.value == pytest.approx(29.7e3 / 256)


def test_many_operations_are_bound_by_compute_whatever_the_caches_do() -> None:
    many = msgspec.structs.replace(MULTIPLY_ADD, executions=1000 * WAVES, lanes=1000 * LANES)
    roof = counting(observed(LOAD, many, STORE)).roofline
    assert roof.bound == "compute"
    assert roof.compute_ns.value == pytest.approx(2000 * LANES / 29.7e3)
    assert counting(observed(*[LOAD] * 20, many, STORE)).roofline.bound == "either"


def test_a_given_time_places_it_under_the_roof_and_calls_it_a_lower_bound() -> None:
    point = counting(observed(*SAXPY), time_ns=3072).roofline.point
    assert point.percent_of_roof.value == pytest.approx(50)
    assert (point.regime, point.position) == ("memory", "memory (DRAM)")
    slow = counting(observed(*SAXPY), time_ns=204800).roofline.point
    assert slow.regime == "unknown"  # not latency: the caches may have fetched more
    assert "cannot be emulated" in slow.reason
    assert counting(observed(*SAXPY)).roofline.point.percent_of_roof.value is None


def test_an_unknown_gpu_has_counts_and_no_roof_unless_it_is_named() -> None:
    unknown = observed(*SAXPY, name="")
    result = counting(unknown)
    assert result.roofline.bound is None
    assert result.roofline.gpu.unavailable
    assert result.totals.flops == 2 * LANES
    assert counting(unknown, gpu=find_gpu("AMD Radeon 8060S")).roofline.bound == "memory"


def test_a_sample_is_scaled_and_says_so() -> None:
    sampled = counting(observed(*SAXPY, workgroups=64, of_workgroups=256))
    assert sampled.totals.flops == 4 * 2 * LANES
    assert sampled.totals.footprint is not None
    assert sampled.totals.footprint.touched == 4 * 2 * WAVES
    assert sampled.limits[0].startswith("scaled from 64 of 256 workgroups")
    assert sampled.instructions[0].executions == WAVES  # as executed
    assert not counting(observed(*SAXPY)).limits[0].startswith("scaled")


def test_lines_that_a_sample_shares_with_the_rest_do_not_make_it_memory_bound() -> None:
    """Each workgroup touches all of an array: scaled, its lines would be more than anybody asked for."""
    shared = Footprint(line_bytes=64, read=10**6, written=0, touched=10**6)
    roof = counting(observed(*SAXPY, footprint=shared, workgroups=2, of_workgroups=256)).roofline
    assert roof.memory_ns.value == pytest.approx(128 * (12 * LANES + 16 * WAVES) / 256)


def test_a_clean_kernel_has_no_finding() -> None:
    assert ids(*SAXPY, MULTIPLY_ADD, MULTIPLY_ADD) == []


@pytest.mark.parametrize(
    ("defect", "name", "says"),
    [
        (row("ds_load_b32 v0, v1", bytes=4 * LANES, lds_cycles=32 * WAVES, lds_conflicts=31 * WAVES),
         "bank-conflicts", "96.9 %"),
        (moved("global_load_b32 v0, v[1:2], off", 32), "uncoalesced", "loads touch 11.3 times the lines"),
        (moved("global_store_b32 v[1:2], v0, off", 32), "uncoalesced", "stores touch 16.5 times the lines"),
        (row("v_add_f32_e32 v0, v1, v2", 100 * WAVES, 25 * LANES), "divergence", "73.5 %"),
        (row("global_atomic_add_u32 v[0:1], v2, off", bytes=4 * LANES, lines_128=WAVES, same_address=31 * WAVES),
         "contended-atomics", "96.9 %"),
        (row("ds_add_u32 v0, v1", bytes=4 * LANES, lds_cycles=WAVES, same_address=31 * WAVES),
         "contended-local-atomics", "96.9 %"),
        (moved("scratch_store_b32 off, v5, s0", 1, each=16), "private-array", "57.1 %"),
    ],
)  # fmt: skip
def test_a_planted_defect_is_found_with_its_number(defect: InstructionCount, name: str, says: str) -> None:
    result = counting(observed(*SAXPY, defect))
    finding = next(one for one in result.findings if one.id == name)
    assert says in " ".join((finding.title, *finding.evidence))
    assert finding.remedy
    assert ids(*SAXPY, MULTIPLY_ADD, defect).count(name) == 1


def test_integer_arithmetic_counts_where_memory_is_not_the_roof() -> None:
    many = row("v_fma_f32 v0, v1, v2, v3", 3000 * WAVES)
    integers = row("v_mul_lo_u32 v0, v1, v2", 6000 * WAVES)
    assert ids(LOAD, many, integers, STORE) == ["integer-arithmetic"]
    assert ids(*SAXPY, row("v_mul_lo_u32 v0, v1, v2", 10 * WAVES)) == []


def test_a_line_that_is_asked_for_again_and_again() -> None:
    again = counting(observed(*[LOAD] * 40, MULTIPLY_ADD, STORE))
    assert [one.id for one in again.findings] == ["reuse-left-to-caches"]


def test_conflicts_reach_the_labels_of_bottlenecks() -> None:
    conflict = row("ds_load_b32 v0, v1", bytes=4 * LANES, lds_cycles=32 * WAVES, lds_conflicts=31 * WAVES)
    verdict = counting(observed(*SAXPY, conflict)).bottleneck
    assert verdict.suspect == "LDS"
    assert (
        next(one for one in verdict.evidence if one.name == "lds_conflicts").source == "emulated LDS accesses"
    )
    assert counting(observed(*SAXPY)).bottleneck.suspect == "memory bandwidth"


def test_source_lines_add_up() -> None:
    placed = tuple(
        msgspec.structs.replace(one, file="saxpy.hip", line=3 if "load" in one.text else 4) for one in SAXPY
    )
    lines = counting(observed(*placed)).lines
    assert [(one.line, one.executions) for one in lines] == [(4, 5 * WAVES), (3, 3 * WAVES)]
    assert sum(one.flops for one in lines) == 2 * LANES
    assert sum(one.share for one in lines) == pytest.approx(1)
    without = counting(observed(*SAXPY))
    assert without.lines == ()
    assert "line tables" in (without.lines_unavailable or "")


def test_each_compute_unit_of_a_pair_has_32_banks() -> None:
    assert {banks_of(gfx) for gfx in ("gfx90a", "gfx942", "gfx1100", "gfx1151")} == {32}


def test_lines_of_the_first_cache_are_as_long_as_the_catalogue_says() -> None:
    chips = ("gfx906", "gfx908", "gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1201", "gfx9999")
    assert [line_bytes_of(gfx) for gfx in chips] == [64, 64, 64, 128, 128, 128, 128, 128, 128]


def test_an_idle_dispatch_is_no_division_by_zero() -> None:
    result: Counting = counting(replace(observed(), rows=()))
    assert result.totals.instructions == 0
    assert result.totals.lds is None
