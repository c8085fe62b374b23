"""One metric on one recording: which recipe fits, from which passes its inputs come, and the column of its values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import polars as pl
from msgspec.structs import replace

from rocm_perf.arch.expression import Expression, ExpressionError
from rocm_perf.arch.gpu import Gpu
from rocm_perf.arch.metric_bounds import Bounds, bounds_of
from rocm_perf.arch.metric_data import DURATION, Metric
from rocm_perf.arch.metric_inputs import Pass, joined
from rocm_perf.arch.metric_reasons import unmatched, why_not
from rocm_perf.arch.metric_recipes import Group, Recipe, recipes

VALUE = "value"
WEIGHT = "weight"
MEAN = "mean of the dispatches, since only their ratios were recorded"
ZERO_DIVISOR = "a divisor is zero in every dispatch"
_NVIDIA_TIME = "gpu__time_duration_sum"
_NO_TIMES = (
    "needs the times of its dispatches (no pass recorded them, nor GRBM_GUI_ACTIVE beside the counters)"
)


class Evaluation(msgspec.Struct, frozen=True):
    """A metric with its values. `frame` has one row per dispatch: its inputs, its weight in an average, and its value,
    which is null where a divisor is zero."""

    recipe: Recipe
    frame: pl.DataFrame
    inputs: tuple[str, ...]
    constants: Mapping[str, float]
    bounds: Bounds
    doubts: tuple[str, ...]  # that hold for every value

    def doubted(self, doubts: tuple[str, ...]) -> Evaluation:
        """The same with doubts that replace those of its formula, where there are any."""
        if not doubts:
            return self
        others = tuple(doubt for doubt in self.doubts if doubt not in self.recipe.doubts)
        return replace(self, recipe=replace(self.recipe, doubts=doubts), doubts=(*doubts, *others))

    @property
    def metric(self) -> Metric:
        return self.recipe.metric

    @property
    def expression(self) -> Expression:
        return self.recipe.expression

    def of_sums(self, sums: Mapping[str, float]) -> float | str:
        """The formula of sums over dispatches, or why it has no value."""
        try:
            return self.expression.evaluate({**self.constants, **sums})
        except ExpressionError as error:
            return str(error)

    def doubt(self, value: float, dispatches: int = 1) -> str | None:
        """Why a value over this many dispatches is doubtful; None if it is not."""
        mean = [MEAN] if self.recipe.averaged and dispatches > 1 else []
        return "; ".join((*self.doubts, *self.bounds.broken_by(value), *mean)) or None


class _Time(msgspec.Struct, frozen=True):
    """Where durations come from."""

    source: Pass
    column: pl.Expr
    doubts: tuple[str, ...] = ()


def evaluated(name: str, recorded: Sequence[Pass], gpu: Gpu) -> Evaluation | str:
    """The metric by the first recipe whose inputs were recorded, or the reason why there is none."""
    options = recipes(gpu.gfx, name)
    if not options:
        return f"no formula is known for {gpu.gfx}"
    reasons = []
    for recipe in options:
        source = _source(recipe.groups, recorded)
        if source is None:
            continue
        result = _follow(recipe, source, recorded, gpu)
        if isinstance(result, Evaluation):
            return result
        reasons.append(result)
    return reasons[0] if reasons else why_not(options, recorded)


def _source(groups: Sequence[Group], recorded: Sequence[Pass]) -> dict[str, Pass] | None:
    """The pass of each counter: one for all of them if there is one, else one for each group."""
    chosen: dict[str, Pass] = {}
    alone = next((p for p in recorded if all(group.recorded_in(p.counters) for group in groups)), None)
    for group in groups:
        candidates = (alone,) if alone else (*chosen.values(), *recorded)
        home = next((p for p in candidates if group.recorded_in(p.counters)), None)
        if home is None:
            return None
        chosen.update(dict.fromkeys(sorted(group.counters), home))
    return chosen


def _follow(
    recipe: Recipe, source: Mapping[str, Pass], recorded: Sequence[Pass], gpu: Gpu
) -> Evaluation | str:
    constants = _constants(recipe, gpu)
    if isinstance(constants, str):
        return constants
    home = next(iter(source.values()))
    columns: dict[int, dict[str, pl.Expr]] = {home.number: {}}
    for name in sorted(recipe.expression.names & source.keys()):
        columns.setdefault(source[name].number, {})[name] = source[name].counters[name]
    doubts = recipe.doubts
    if DURATION in recipe.expression.names:
        time = _time(home, recorded, gpu)
        if time is None:
            return _NO_TIMES
        columns.setdefault(time.source.number, {})[DURATION] = time.column
        doubts += time.doubts
    frame = _inputs(home, columns, recorded)
    if isinstance(frame, str):
        return frame
    inputs = tuple(sorted(name for part in columns.values() for name in part))
    return _valued(
        Evaluation(
            recipe=recipe,
            frame=frame,
            inputs=inputs,
            constants=constants,
            bounds=bounds_of(recipe.metric, gpu),
            doubts=doubts,
        )
    )


def _valued(evaluation: Evaluation) -> Evaluation | str:
    frame = evaluation.frame
    columns = {name: pl.lit(value, pl.Float64) for name, value in evaluation.constants.items()}
    columns |= {name: pl.col(name) for name in evaluation.inputs}
    frame = frame.with_columns(evaluation.expression.column(columns).alias(VALUE))
    if frame[VALUE].null_count() == frame.height:
        whole = evaluation.of_sums(frame.select(pl.col(evaluation.inputs).sum()).row(0, named=True))
        return whole if isinstance(whole, str) else ZERO_DIVISOR
    return replace(evaluation, frame=frame)


def _inputs(
    home: Pass, columns: Mapping[int, Mapping[str, pl.Expr]], recorded: Sequence[Pass]
) -> pl.DataFrame | str:
    """The dispatches that have all inputs, or the reason why there are none."""
    others = [p for p in recorded if p.number in columns and p is not home]
    if others and not all(p.matchable for p in (home, *others)):
        return unmatched(home, others)
    weight = pl.col(DURATION).fill_null(1) if home.timed else pl.lit(1)
    own = {**columns[home.number], WEIGHT: weight.cast(pl.Float64)}
    frame = joined(home, own, [(p, columns[p.number]) for p in others])
    frame = frame.drop_nulls([name for part in columns.values() for name in part])
    if frame.height:
        return frame
    return unmatched(home, others) if others else "its counters do not belong to any recorded dispatch"


def _time(home: Pass, recorded: Sequence[Pass], gpu: Gpu) -> _Time | None:
    """The times of the dispatches, else those of another pass, else cycles at the clock in the catalogue."""
    if home.timed:
        return _Time(home, pl.col(DURATION))
    if _NVIDIA_TIME in home.counters:
        return _Time(home, home.counters[_NVIDIA_TIME])
    other = next((p for p in recorded if p.timed), None)
    if other is not None:
        return _Time(other, pl.col(DURATION))
    cycles = home.counters.get("GRBM_GUI_ACTIVE")
    if cycles is None:
        return None
    doubt = f"its time is GRBM_GUI_ACTIVE at {gpu.clock_mhz:g} MHz, since no times were recorded"
    return _Time(home, cycles / gpu.dies * 1000 / gpu.clock_mhz, (doubt,))


def _constants(recipe: Recipe, gpu: Gpu) -> dict[str, float] | str:
    known: dict[str, float | None] = {
        "wave": gpu.wave_size,
        "cu": gpu.compute_units,
        "simds": gpu.simds,
        "dies": gpu.dies,
        "lds_banks": gpu.lds_banks,
        "l2_channels": gpu.l2_channels,
        "max_waves": gpu.simds_per_cu * gpu.max_waves_per_simd[gpu.wave_size],
        "memory_gbps": gpu.memory_gbps,
        "clock_mhz": gpu.clock_mhz,
    }
    used = {name: known[name] for name in sorted(recipe.expression.names & known.keys())}
    unknown = [name for name, value in used.items() if value is None]
    if unknown:
        return f"the catalogue does not know {', '.join(unknown)} of {gpu.name}"
    return {name: float(value) for name, value in used.items() if value is not None}
