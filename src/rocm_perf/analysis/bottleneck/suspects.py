"""What one kind of evidence alone points to, where two independent ones prove nothing: the likeliest first."""

from __future__ import annotations

from collections.abc import Mapping

from rocm_perf.model.results.bottleneck import Evidence, Label

Measured = Mapping[str, Evidence]

CONFLICTS = 0.5  # of the LDS cycles
USED = 0.1  # of the time: an LDS that is active less costs little, whatever its conflicts
SPILL_BYTES = 256  # a work-item, a quarter of its registers: libraries declare less for paths that seldom run
EMPTY = 0.5  # of the compute units
NEAR = 0.35  # of a data-sheet peak, as the roofline has it
STILL = 0.4  # of the traced cycles, or of the PC samples
STREAMED = 0.1  # of the memory's peak: what the grid alone implies is the least that is moved
WAITING = 0.6  # of the time of its waves
LDS_WAITS = 0.2  # of the time of its waves
# For each vector instruction: rocprof-compute's vecCopy has 0.2 on MI100 and 0.33 on MI350.
MEMORY_INSTRUCTIONS = 0.2
BUSY = 0.5  # of the time: units this busy are the limit


def defect(measured: Measured) -> tuple[Label, str] | None:
    """Something that no good kernel has, and the measurement that shows it."""
    if _value(measured, "lds_conflicts") >= CONFLICTS and _value(measured, "lds_busy", 1.0) >= USED:
        return "LDS", "lds_conflicts"
    if _value(measured, "scratch") >= SPILL_BYTES and _computing(measured) < BUSY:
        return "scratch", "scratch"
    if _value(measured, "empty_units") >= EMPTY:
        return "launch/latency", "empty_units"
    return None


def suspect(measured: Measured) -> tuple[Label, str] | None:
    """What a kernel is likely held back by, and the measurement that says so."""
    return (
        defect(measured)
        or _still(measured)
        or _near(measured)
        or _by_counters(measured)
        or _by_nature(measured)
    )


def _still(measured: Measured) -> tuple[Label, str] | None:
    waits: dict[str, Label] = {
        "memory_wait": "memory latency",
        "barrier_wait": "waiting",
        "lds_wait": "LDS",
    }
    seen = {name: _value(measured, name) for name in waits}
    most = max(seen, key=lambda name: seen[name])
    return (waits[most], most) if sum(seen.values()) >= STILL else None


def _near(measured: Measured) -> tuple[Label, str] | None:
    shares: dict[str, Label] = {"compute_share": "compute", "memory_share": "memory bandwidth"}
    most = max(shares, key=lambda name: _value(measured, name))
    return (shares[most], most) if _value(measured, most) >= NEAR else None


def _by_counters(measured: Measured) -> tuple[Label, str] | None:
    """Return what single counters point to in a kernel whose units are not busy and whose waves do wait."""
    if _computing(measured) >= BUSY:
        return None
    if _value(measured, "lds_wait") >= LDS_WAITS:
        return "LDS", "lds_wait"
    if _moves_only(measured) or _value(measured, "wait_share", 1.0) < LDS_WAITS:
        return None
    if _value(measured, "vmem_per_valu") >= MEMORY_INSTRUCTIONS:
        return "memory latency", "vmem_per_valu"
    return ("memory latency", "few_l2_hits") if "few_l2_hits" in measured else None


def _computing(measured: Measured) -> float:
    return max(_value(measured, name) for name in ("compute_share", "matrix_busy", "vector_busy"))


def _moves_only(measured: Measured) -> bool:
    """Return whether memory sets the pace of such a kernel: it uses each value once, so no cache can help it."""
    return "little_work" in measured or "streams" in measured or _value(measured, "grid_bytes") >= STREAMED


def _by_nature(measured: Measured) -> tuple[Label, str] | None:
    if _value(measured, "grid_bytes") >= STREAMED:
        return "memory bandwidth", "grid_bytes"
    # Little work for each byte says which roof comes first, not that it is near: the rate says that, where it is known.
    for name in ("little_work", "streams"):
        if name in measured and "memory_share" not in measured:
            return "memory bandwidth", name
    if _value(measured, "wait_share") >= WAITING:
        return "memory latency", "wait_share"
    return ("launch/latency", "brief") if "brief" in measured else None


def _value(measured: Measured, name: str, otherwise: float = 0.0) -> float:
    """The measured value; what was not measured supports nothing."""
    return measured[name].value if name in measured else otherwise
