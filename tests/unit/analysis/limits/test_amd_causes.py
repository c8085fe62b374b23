"""Causes from counters on every AMD chip, of kernels whose limit was planted and whose work was counted exactly.

The counters are synthetic: they follow from the counts of executed code (tests/synthetic_counters.py). Where a chip has
no counter for a cause, the table below does not list it: there code objects and `count` have to tell.
"""

from __future__ import annotations

import pytest

from rocm_perf.analysis.limits.build import kernel_limits
from rocm_perf.analysis.limits.counted_launches import limits_by_emulation
from rocm_perf.analysis.roofline import roofline
from rocm_perf.analysis.roofline.devices import devices
from rocm_perf.arch.counters import counters
from rocm_perf.model.results.limits import KernelLimits
from tests.planted_tallies import planted_tallies
from tests.synthetic_counters import BARRIER, WAIT, Kernel, recording

CDNA = ("gfx90a", "gfx942", "gfx950")
EVERY = (*CDNA, "gfx1100", "gfx1151")
_COUNTED_ON = {"gfx950": "gfx942"}  # which the emulator does not execute

# kernel, what limits it, the cause, the chips that have counters for it
PLANTED = (
    ("conflicting", "lds", "bank-conflicts", EVERY),
    ("of_structures", "memory", "uncoalesced", CDNA),
    ("doubles", "vector", "accidental-f64", CDNA),
    ("doubles", "vector", "f64-arithmetic", ("gfx1151",)),  # no counter of conversions
    ("quarters", "vector", "divergence", CDNA),
    ("special", "vector", "special-functions", (*CDNA, "gfx1151")),
    ("divided", "vector", "integer-division", CDNA),
    ("barriers", BARRIER, "barriers", ("gfx1151",)),
    ("each_atomic", WAIT, "many-atomics", CDNA),
    ("plain_product", "lds", "matrix-units-unused", CDNA),
)
# Repaired forms, and the cause that they must not have any more.
REPAIRED = (
    ("conflict_free", "bank-conflicts"),
    ("of_arrays", "uncoalesced"),
    ("copy_wide", "uncoalesced"),
    ("floats", "accidental-f64"),
    ("whole_waves", "divergence"),
    ("polynomial", "special-functions"),
    ("shifted", "integer-division"),
    ("no_barriers", "barriers"),
    ("one_atomic", "many-atomics"),
    ("counted_first", "contended-atomics"),
)  # fmt: skip
USEFUL = (
    ("of_arrays", "memory-bandwidth"),
    ("copy_wide", "memory-bandwidth"),
    ("eight_chains", "vector-arithmetic"),
)


def limits_of(kernel: str, gfx: str, limit: str = "") -> KernelLimits:
    tallies = planted_tallies()[_COUNTED_ON.get(gfx, gfx)][kernel]
    recorded = recording(Kernel(gfx, tallies, kernel), limit)
    (found,) = kernel_limits(recorded, devices(recorded), roofline(recorded)).values()
    return found


@pytest.mark.parametrize(
    ("kernel", "limit", "cause", "gfx"),
    [(kernel, limit, cause, gfx) for kernel, limit, cause, chips in PLANTED for gfx in chips],
)
def test_a_planted_limit_is_the_first_cause(kernel: str, limit: str, cause: str, gfx: str) -> None:
    found = limits_of(kernel, gfx, limit)
    assert found.causes[0].id == cause
    assert found.causes[0].share > 0.3
    assert found.causes[0].remedy


# What a saved count beside the recording names, also where a chip has no counters for it.
COUNTED = (
    ("conflicting", "lds", "bank-conflicts"),
    ("of_structures", "memory", "uncoalesced"),
    ("copy_bytes", WAIT, "narrow-accesses"),
    ("copy_halves", WAIT, "narrow-accesses"),
    ("doubles", "vector", "accidental-f64"),
    ("quarters", "vector", "divergence"),
    ("special", "vector", "special-functions"),
    ("divided", "vector", "integer-division"),
    ("barriers", BARRIER, "barriers"),
    ("histogram", WAIT, "contended-atomics"),
    ("each_atomic", WAIT, "many-atomics"),
    ("in_scratch", "", "private-array"),
    ("spilling", "", "spills"),
    ("plain_product", "lds", "matrix-units-unused"),
)


@pytest.mark.parametrize("gfx", EVERY)
@pytest.mark.parametrize(("kernel", "limit", "cause"), COUNTED)
def test_a_saved_count_names_the_limit_on_every_chip(kernel: str, limit: str, cause: str, gfx: str) -> None:
    tallies = planted_tallies()[_COUNTED_ON.get(gfx, gfx)][kernel]
    recorded = recording(Kernel(gfx, tallies, kernel), limit, counted=True)
    ((_, _, found),) = limits_by_emulation(recorded, devices(recorded)).values()
    assert found[0].id == cause


@pytest.mark.parametrize("gfx", EVERY)
@pytest.mark.parametrize(("kernel", "cause"), REPAIRED)
def test_a_repaired_kernel_does_not_have_its_cause_any_more(kernel: str, cause: str, gfx: str) -> None:
    assert cause not in [one.id for one in limits_of(kernel, gfx).causes]


@pytest.mark.parametrize("gfx", EVERY)
@pytest.mark.parametrize(("kernel", "cause"), USEFUL)
def test_a_unit_that_is_full_of_useful_work_is_a_roof(kernel: str, cause: str, gfx: str) -> None:
    assert limits_of(kernel, gfx).causes[0].id == cause


@pytest.mark.parametrize("gfx", CDNA)
def test_how_busy_the_units_are_is_what_the_counters_were_made_of(gfx: str) -> None:
    units = {one.unit: float(one.busy.value or 0) for one in limits_of("conflicting", gfx, "lds").units}
    assert units["lds"] == pytest.approx(0.9, abs=0.001)
    assert max(share for unit, share in units.items() if unit != "lds") < 0.1


# No list of gfx1151 has all that rocprof-compute names for it.
@pytest.mark.parametrize("gfx", [*CDNA, "gfx1100"])
def test_every_counter_exists_on_its_chip(gfx: str) -> None:
    tallies = planted_tallies()[_COUNTED_ON.get(gfx, gfx)]["conflicting"]
    names = set(recording(Kernel(gfx, tallies)).table("counters")["counter"])
    assert names <= counters(gfx).keys()
