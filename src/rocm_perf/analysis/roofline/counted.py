"""Work by counters: the metrics of arch/metrics, each dispatch of each kernel."""

from __future__ import annotations

import re
from collections.abc import Iterator

import polars as pl

from rocm_perf.analysis.basis.plausible import plausible_counters
from rocm_perf.analysis.roofline.amounts import COUNTERS, SCHEMA, Key, Known, Work, amounts_of, merged
from rocm_perf.analysis.roofline.ceilings import L2, LDS
from rocm_perf.analysis.roofline.devices import Device, on_device
from rocm_perf.analysis.roofline.times import Times
from rocm_perf.arch import catalog
from rocm_perf.arch.chip_of_counters import agreements
from rocm_perf.arch.gpu import Gpu
from rocm_perf.arch.metric_data import metrics
from rocm_perf.arch.metric_evaluation import VALUE, Evaluation
from rocm_perf.arch.metrics import MetricTable, evaluate, metrics_of
from rocm_perf.model.machine_ceilings import MATRIX, VECTOR
from rocm_perf.model.trace import Trace
from rocm_perf.units import format_list

_OPERATIONS = re.compile(r"(vector|matrix)_(\w+)_(flops|ops)")
_BYTES = {"l2_bytes": L2, "lds_bytes": LDS}
_HALVES = ("dram_read_bytes", "dram_write_bytes")
NOT_COUNTED = "not counted"  # said of the half of the bytes whose counters are missing
ALL_FLOPS, ALL_BYTES = "flops", "dram_bytes"
# One counter serves both types, which run at one rate (AMD CDNA 4 white paper).
_ONE_RATE = {"f6f4": "f4"}
_LIST = re.compile(r"(needs [\w.]+, [\w.]+)((?:, [\w.]+){2,})")
_NOT_TOLD = "none of the recorded counters counts it"
_DIFFERENTLY = (
    "they are counted differently on the GPUs that it may be ({}), and the counters fit each of them"
)
_DISPATCH = ["node", "pid", "pass_id", "dispatch_id"]


def metric_tables(
    trace: Trace, known: tuple[Device, ...], names: frozenset[str]
) -> tuple[MetricTable | None, ...]:
    """The metrics of each device that its chip has formulas for; None where the chip is not known."""
    if not trace.has("counters"):
        return tuple(None for _ in known)
    dispatches, counters = on_device(trace.table("dispatches"), known), plausible_counters(trace)
    tables: list[MetricTable | None] = []
    for place, device in enumerate(known):
        own = dispatches.filter(pl.col("gpu") == place)
        if device.chip is None or not own.height:
            tables.append(None)
            continue
        recorded = counters.join(own, on=_DISPATCH, how="semi", nulls_equal=True)
        own = own.drop("gpu")
        if device.may_be:
            tables.append(_of_any_chip(device, device.chip, recorded, own, names))
        else:
            asked = sorted(names & metrics_of(device.chip.gfx).keys())
            tables.append(evaluate(recorded, own, device.chip, asked))
    return tuple(tables)


def _of_any_chip(
    device: Device, chip: Gpu, recorded: pl.DataFrame, own: pl.DataFrame, names: frozenset[str]
) -> MetricTable:
    """The metrics that mean the same, with what was recorded, whichever of the possible chips it is."""
    ways = agreements(device.may_be, recorded["counter"].unique().sort())
    unable = evaluate(recorded, own, chip, sorted((names & metrics_of(chip.gfx).keys()) - ways.keys()))
    agreed = {name: way for name, way in ways.items() if name in names and way.gfx}
    doubts = {name: way.doubts for name, way in agreed.items()}
    reasons = dict.fromkeys(names - ways.keys() - metrics_of(chip.gfx).keys(), _NOT_TOLD)
    reasons |= unable.unavailable
    evaluations, rows = dict(unable.evaluations), [unable.rows]
    for gfx in dict.fromkeys(way.gfx for way in agreed.values()):
        asked = [name for name, way in agreed.items() if way.gfx == gfx]
        table = evaluate(recorded, own, catalog.gpus_of(gfx)[0], asked, doubts)
        evaluations |= table.evaluations
        reasons |= table.unavailable
        rows.append(table.rows)
    which = _DIFFERENTLY.format(format_list(device.may_be, 3))
    reasons |= {name: which for name, way in ways.items() if name in names and not way.gfx}
    return MetricTable(chip.gfx, pl.concat(rows), reasons, evaluations)


def work_metrics() -> frozenset[str]:
    operations = {name for name in metrics() if _OPERATIONS.fullmatch(name)}
    return frozenset((*operations, *_BYTES, *_HALVES, ALL_FLOPS, ALL_BYTES))


def counted_work(tables: tuple[MetricTable | None, ...], known: tuple[Device, ...], times: Times) -> Work:
    """Operations and bytes of every dispatch with counters."""
    return merged(
        _of_device(place, device, table, times)
        for place, (device, table) in enumerate(zip(known, tables, strict=True))
        if table is not None
    )


def _of_device(place: int, device: Device, table: MetricTable, times: Times) -> Work:
    parts = [
        (evaluation, _facts(place, evaluation, ceiling, *partial), ceiling)
        for evaluation, ceiling, *partial in _sources(device, table)
        if device.serves(evaluation.constants)
    ]
    frames = [_amounts(place, evaluation, ceiling, times) for evaluation, _, ceiling in parts]
    return Work(
        pl.concat([pl.DataFrame(schema=SCHEMA), *frames]),
        {key: value for _, facts, _ in parts for key, value in facts.items()},
        _all_flops(place, table),
    )


def _sources(device: Device, table: MetricTable) -> Iterator[tuple[Evaluation, str, str]]:
    """Each metric with its ceiling, and what of that work it leaves out."""
    for name, evaluation in table.evaluations.items():
        if operations := _OPERATIONS.fullmatch(name):
            unit, dtype, _ = operations.groups()
            yield evaluation, _ONE_RATE.get(dtype, dtype) + (MATRIX if unit == "matrix" else VECTOR), ""
        elif name in _BYTES:
            yield evaluation, _BYTES[name], ""
    halves = [name for name in _HALVES if name in table.evaluations]
    if ALL_BYTES in table.evaluations:
        yield table.evaluations[ALL_BYTES], device.memory, ""
    elif len(halves) == 1:
        other = "writes were" if halves == [_HALVES[0]] else "reads were"
        yield table.evaluations[halves[0]], device.memory, f"{other} {NOT_COUNTED}"


def _facts(place: int, evaluation: Evaluation, ceiling: str, missing: str) -> dict[tuple[Key, str], Known]:
    frame = evaluation.frame.drop_nulls(VALUE)
    sums = frame.group_by("kernel").agg(pl.col(evaluation.inputs).mean())
    doubts = "; ".join((*evaluation.doubts, *((missing,) if missing else ())))
    return {
        ((place, row.pop("kernel")), ceiling): Known(
            basis=COUNTERS,
            unit=evaluation.metric.unit,
            formula=str(evaluation.expression),
            inputs={**evaluation.constants, **row},
            doubt=doubts or None,
            complete=not missing,
            pass_id=frame["pass_id"][0],
        )
        for row in sums.iter_rows(named=True)
    }


def _amounts(place: int, evaluation: Evaluation, ceiling: str, times: Times) -> pl.DataFrame:
    rows = evaluation.frame.drop_nulls(VALUE)
    placed = rows.join(
        times.slots, on=["node", "rank", "pid", "pass_id", "dispatch_id"], how="left", nulls_equal=True
    )
    return amounts_of(
        placed.select("kernel", "slot", gpu=pl.lit(place), ceiling=pl.lit(ceiling), amount=VALUE)
    )


def _all_flops(place: int, table: MetricTable) -> frozenset[Key]:
    """Kernels whose operations of all dtypes were counted: a total in doubt is none."""
    total = table.evaluations.get(ALL_FLOPS)
    if total is None or total.recipe.doubts:
        return frozenset()
    return frozenset((place, kernel) for kernel in total.frame["kernel"].unique())


def why_not(table: MetricTable, metric: str) -> str:
    """Why FLOPs or bytes are not known, or not whole."""
    if metric not in metrics_of(table.gfx) and metric not in table.unavailable:
        return f"no counter of {table.gfx} tells them"
    total = table.evaluations.get(metric)
    doubts = "; ".join(total.recipe.doubts) if total is not None else ""
    reason = doubts or table.unavailable.get(metric, "no dispatch of it has all the counters")
    return _LIST.sub(lambda match: f"{match[1]} and {match[2].count(',')} more", reason)
