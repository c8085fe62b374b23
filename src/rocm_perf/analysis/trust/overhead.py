"""What the profiler cost: the wall time of the whole program with it, over that without. Times in a recording include
that cost; they are no latencies."""

from __future__ import annotations

from statistics import median

from rocm_perf.model.collection import OverheadRecord
from rocm_perf.model.quantity import Quantity, unavailable
from rocm_perf.model.trace import Trace

FORMULAS = {"overhead": "median wall with the profiler / median wall without it"}

_NOT_MEASURED = "the program was not run without the profiler (rocm-perf profile --measure-overhead does)"
_OTHER_TOOL = "recordings do not hold the wall time without the profiler"


def overhead(trace: Trace) -> Quantity:
    """The inflation of the whole program: 1.05 is five percent."""
    collection = trace.run.collection
    if collection is None:
        return unavailable("x", FORMULAS["overhead"], _OTHER_TOOL)
    measured = collection.overhead
    if measured is None or not measured.unprofiled_ns or not measured.profiled_ns:
        return unavailable("x", FORMULAS["overhead"], _NOT_MEASURED)
    return _inflation(measured)


def _inflation(measured: OverheadRecord) -> Quantity:
    plain, profiled = median(measured.unprofiled_ns), median(measured.profiled_ns)
    inputs = {
        "profiled_ns": profiled,
        "unprofiled_ns": plain,
        "unprofiled_min_ns": min(measured.unprofiled_ns),
        "unprofiled_max_ns": max(measured.unprofiled_ns),
        "unprofiled_runs": len(measured.unprofiled_ns),
    }
    low, high = inputs["unprofiled_min_ns"], inputs["unprofiled_max_ns"]
    within = low <= profiled <= high and len(measured.unprofiled_ns) > 1
    doubt = "the difference is within the spread of the unprofiled runs" if within else None
    return Quantity(
        value=profiled / plain, unit="x", formula=FORMULAS["overhead"], inputs=inputs, doubt=doubt
    )
