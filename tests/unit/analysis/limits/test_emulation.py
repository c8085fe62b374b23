"""Exact counts of executed code as units, readings and causes: alone, and beside a recording that has times."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from rocm_perf.analysis.emulated.build import counting
from rocm_perf.analysis.limits.counted_launches import Limits, limits_by_emulation
from rocm_perf.analysis.limits.emulated_work import Counts
from rocm_perf.analysis.limits.emulation import emulated_limits
from rocm_perf.analysis.roofline.devices import devices
from rocm_perf.arch.catalog import find_gpu
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.own.count_file import read
from rocm_perf.model.results.count import InstructionCount, Tally
from tests.unit.analysis.emulated.rows import LANES, SAXPY, WAVES, observed, row
from tests.unit.analysis.roofline.test_emulated import RADEON, saved
from tests.unit.analysis.traces import Row, trace

RADEON_8060S = find_gpu("AMD Radeon 8060S")
MI300X = find_gpu("AMD Instinct MI300X")
CONFLICT = row("ds_load_b32 v0, v1", bytes=4 * LANES, lds_cycles=32 * WAVES, lds_conflicts=31 * WAVES)
# Of 40 compute units at 2.9 GHz: 1,024 waves with 32 cycles of LDS each.
LDS_NS = 32 * WAVES / 40 / 2.9


def counts(gfx: str = "gfx942", workgroups: int = 4096, **amounts: float) -> Counts:
    """Counts of a kernel with full waves of 64 lanes; names with spaces are written with underscores."""
    waves = 4 * workgroups
    names: dict[str, float] = {
        "waves": waves, "work-items": 64 * waves,
        "vector lanes": 64 * amounts.get("vector", 0), **{name.replace("_", " "): of for name, of in amounts.items()},
    }  # fmt: skip
    tallies = tuple(
        msgspec.convert({"name": name, "amount": amount}, Tally) for name, amount in names.items()
    )
    return Counts(kernel="k", gfx=gfx, wave_size=64, workgroups=workgroups, tallies=tallies)


def causes(of: Counts, time_ns: float | None = None) -> list[tuple[str, str]]:
    return [(one.id, one.certainty) for one in emulated_limits(of, MI300X, time_ns)[2]]


def beside(folder: Path, *rows: InstructionCount, time_ns: int, more: tuple[Row, ...] = ()) -> Limits:
    """What a saved count says of the one kernel of a recording."""
    dispatch: Row = {
        "kernel": "saxpy(float)", "dispatch_id": 1, "agent_id": 0, "pid": 1, "start_ns": 0, "end_ns": time_ns,
        "grid_x": 128 * 256, "grid_y": 1, "grid_z": 1, "workgroup_x": 128, "workgroup_y": 1, "workgroup_z": 1,
    }  # fmt: skip
    tables = read(Source(saved(folder, observed(*rows)))).tables
    recorded = trace(
        agents=[RADEON],
        dispatches=[dispatch, *more],
        emulated=tables["emulated"].to_dicts(),
        emulated_tallies=tables["emulated_tallies"].to_dicts(),
    )
    (limits,) = limits_by_emulation(recorded, devices(recorded)).values()
    return limits


def test_a_saved_count_beside_a_recording_fills_the_table_of_units(tmp_path: Path) -> None:
    time_ns = 400
    units, readings, found = beside(tmp_path, *SAXPY, CONFLICT, time_ns=time_ns)
    lds = next(one for one in units if one.unit == "lds")
    assert lds.busy.value == pytest.approx(LDS_NS / time_ns)
    assert lds.useful is not None
    assert lds.useful.value == pytest.approx(1 / 32)
    sources = {
        *(one.source for one in units),
        *(one.source for one in readings),
        *(one.source for one in found),
    }
    assert sources == {"emulation"}
    assert {one.name: one.value.value for one in readings}["conflict_share"] == pytest.approx(31 / 32)
    assert (found[0].id, found[0].certainty) == ("bank-conflicts", "likely")
    assert found[0].share == pytest.approx(LDS_NS / time_ns * 31 / 32)
    assert found[0].saves is not None
    assert 0 <= found[0].saves <= found[0].share


def test_a_conflict_in_a_unit_that_is_seldom_busy_is_no_cause(tmp_path: Path) -> None:
    _, _, found = beside(tmp_path, *SAXPY, CONFLICT, time_ns=100_000)
    assert found == []


def test_causes_explain_only_the_launches_that_were_counted(tmp_path: Path) -> None:
    other: Row = {
        "kernel": "saxpy(float)", "dispatch_id": 2, "agent_id": 0, "pid": 1, "start_ns": 1000, "end_ns": 2200,
        "grid_x": 128, "grid_y": 1, "grid_z": 1, "workgroup_x": 128, "workgroup_y": 1, "workgroup_z": 1,
    }  # fmt: skip
    alone = beside(tmp_path / "a", *SAXPY, CONFLICT, time_ns=400)[2][0]
    both = beside(tmp_path / "b", *SAXPY, CONFLICT, time_ns=400, more=(other,))[2][0]
    assert both.share == pytest.approx(alone.share / 4)


def test_a_count_without_a_recording_has_no_use_of_units_and_says_why() -> None:
    units, _, _ = emulated_limits(counts(vector=1e6, instructions=2e6), MI300X, None)
    assert [one.busy.value for one in units] == [None]
    assert "no time" in (units[0].busy.unavailable or "")


def test_every_tally_that_a_kernel_has_is_kept_in_the_answer() -> None:
    tallies = {one.name: one.amount for one in counting(observed(*SAXPY, CONFLICT)).tallies}
    assert tallies["lds conflicts"] == 31 * WAVES
    assert tallies["vector"] == 2 * WAVES
    assert tallies["compulsory bytes"] == 3 * WAVES * 128


@pytest.mark.parametrize(
    ("of", "cause"),
    [
        (counts(vector=3e6, f64=1e6, f64_conversions=2e6), "accidental-f64"),
        (counts(vector=3e6, f64=1e6, f64_conversions=1e5), None),  # its data is f64
        (counts(vector=3e6, special=1e6), "special-functions"),
        (counts(vector=3e6, special=2e5), None),
        (counts(vector=3e6, special=1e5, integer=2e6, integer_divisions=1e5), "integer-division"),
        (counts(vector=3e6, integer=2e6), "integer-arithmetic"),
        (counts(instructions=1e7, barriers=1e6, waits=1e6), "barriers"),
        (counts(instructions=1e9, barriers=1e6, waits=1e6), None),  # a thousand instructions apart
        (counts(vector=3e6, vector_lanes=64e6), "divergence"),
        (counts(instructions=4e6, atomics=1e6, atomic_lanes=6.4e7, contended_lanes=6e7), "contended-atomics"),
        (counts(instructions=4e6, loads=1e6, atomics=1e6, atomic_lanes=6.4e7), "many-atomics"),
        (counts(instructions=4e8, loads=1e6, atomics=1e6, atomic_lanes=6.4e7), None),
    ],
)  # fmt: skip
def test_a_defect_and_what_only_looks_like_it(of: Counts, cause: str | None) -> None:
    assert [name for name, _ in causes(of)] == ([cause] if cause else [])


def test_f64_takes_sixteen_times_as_long_on_rdna() -> None:
    radeon = counts("gfx1100", vector=1000.0, f64=100.0)
    assert (counts(vector=1000.0, f64=100.0).vector_cycles, radeon.vector_cycles) == (
        4000,
        2 * (900 + 16 * 100),
    )


def test_a_full_unit_with_a_known_time_is_proven() -> None:
    of = counts(vector=3e6, special=1e6)
    busy_ns = of.vector_cycles / MI300X.simds / 2.1
    assert causes(of, busy_ns / 0.9) == [("special-functions", "proven")]
    assert causes(of, busy_ns / 0.7) == [("special-functions", "likely")]
    assert causes(of, busy_ns / 0.3) == [("special-functions", "hint")]
