"""How long each dispatch took in the timed pass, and which dispatch of another pass is the same one."""

from __future__ import annotations

import msgspec
import polars as pl

from rocm_perf.analysis.basis.keys import alone, ordered, over, telling
from rocm_perf.analysis.basis.passes import dispatches_by_kernel, kernel_pass, shown_pass
from rocm_perf.analysis.roofline.devices import Device, on_device
from rocm_perf.model.trace import Trace

ID = ["node", "rank", "pid", "pass_id", "dispatch_id"]
OWN_TIMES = "its own times"
NCU_TIMES = "the duration that ncu measured (gpu__time_duration)"
OTHER_PASS = "the same dispatches in pass {number}, which was timed"
MEDIAN = "median of its dispatches in pass {number}: they are not those whose work was counted"
NO_TIMES = "no pass of the recording has times"

_NCU_DURATION = ("gpu__time_duration.sum", "gpu__time_duration.avg", "Duration")
_KERNEL = ["node", "rank", "agent_id", "kernel"]


class Times(msgspec.Struct, frozen=True):
    """`timed`: the dispatches whose times are shown (slot, gpu, kernel as a category, duration_ns). `slots`: for
    dispatches of every pass, the slot of the same dispatch; null where it is unknown."""

    timed: pl.DataFrame
    slots: pl.DataFrame
    number: int | None
    basis: str

    def by_kernel(self, *aggregates: pl.Expr) -> pl.DataFrame:
        """The aggregates of the timed dispatches of each gpu and kernel."""
        return self.timed.group_by("gpu", "kernel").agg(*aggregates)


def times(trace: Trace, known: tuple[Device, ...]) -> Times:
    placed = on_device(_numbered(dispatches_by_kernel(trace)), known)
    number = kernel_pass(trace)
    if number is not None:
        length = (pl.col("end_ns") - pl.col("start_ns")).cast(pl.Float64)
        return _times(placed.with_columns(length.alias("duration_ns")), number, OWN_TIMES)
    return _times(_ncu_durations(trace, placed), shown_pass(trace), NCU_TIMES)


def _numbered(dispatches: pl.DataFrame) -> pl.DataFrame:
    """Dispatches in their order; where there are several passes, with the place of each among those of its kernel, and
    how many there are, in its process and pass."""
    if not telling(["pass_id"], dispatches):
        return ordered(dispatches, ["pid", "dispatch_id", "start_ns"])
    own = telling(["pass_id", "pid", *_KERNEL], dispatches)
    rows = ordered(dispatches, ["pass_id", "pid", "dispatch_id", "start_ns"])
    nth, of = pl.int_range(pl.len()).alias("nth"), pl.len().alias("of")
    return rows.with_columns(over(nth, own), over(of, own))


def _ncu_durations(trace: Trace, placed: pl.DataFrame) -> pl.DataFrame:
    measured = trace.table("counters").filter(pl.col("counter").is_in(_NCU_DURATION))
    lengths = measured.unique(ID, keep="first", maintain_order=True).select(
        *ID, pl.col("value").alias("duration_ns")
    )
    return placed.join(lengths, on=ID, how="left", nulls_equal=True, maintain_order="left")


def _times(placed: pl.DataFrame, number: int | None, basis: str) -> Times:
    usable = (pl.col("pass_id") == number) & (pl.col("duration_ns") > 0)
    timed = placed.filter(usable).with_row_index("slot")
    own = alone(timed.select(*ID, "slot").drop_nulls("dispatch_id"), ID)
    others = placed.filter((pl.col("pass_id") != number) & pl.col("dispatch_id").is_not_null())
    slots = pl.concat([own, _same(others, timed)]) if others.height else own
    return Times(
        timed=timed.select("slot", "gpu", "kernel", "duration_ns", *ID),
        slots=slots,
        number=number,
        basis=basis,
    )


def _same(others: pl.DataFrame, timed: pl.DataFrame) -> pl.DataFrame:
    """The n-th dispatch of a kernel in one pass is the n-th in another, if both list equally many of one process."""
    place = [*_KERNEL, "nth", "of"]
    unique = timed.select(*place, "slot").unique(place, keep="none")
    matched = others.unique(["pass_id", *place], keep="none")
    return matched.join(unique, on=place, how="left", nulls_equal=True).select(*ID, "slot")
