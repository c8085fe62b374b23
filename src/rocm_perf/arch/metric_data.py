"""The metrics as the files in metrics/ define them, checked when they are read. Nothing is computed here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from functools import cache, cached_property
from importlib import resources

import msgspec

from rocm_perf.arch import counter_table
from rocm_perf.arch.expression import Expression, ExpressionError, parse
from rocm_perf.arch.gpu import Gpu
from rocm_perf.arch.toml import read_toml
from rocm_perf.errors import InputError
from rocm_perf.once import once

UNITS = frozenset(
    (
        *("", "FLOP", "OP", "B", "GB/s", "TFLOP/s", "cycles", "instructions", "waves"),
        *("workgroups", "work-items", "sectors", "lines", "times"),
    )
)
# What a formula may use besides counters and other metrics. `g` is the time a die was active, in cycles: rocprofv3
# sums GRBM_GUI_ACTIVE over the dies.
CONSTANTS = frozenset(
    ("wave", "cu", "simds", "dies", "lds_banks", "l2_channels", "max_waves", "memory_gbps", "clock_mhz")
)
DURATION = "duration_ns"
ACTIVE_CYCLES = parse("GRBM_GUI_ACTIVE / dies")
BUILT_IN = CONSTANTS | {DURATION, "g"}


class Formula(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, dict=True):
    """One way to compute a metric."""

    gfx: tuple[str, ...]  # patterns
    expression: str
    names: tuple[str, ...] = ()  # as recorded, for names with dots: the expression writes underscores
    beside: tuple[str, ...] = ()  # must be in the same pass: they say what the inputs mean
    not_beside: tuple[str, ...] = ()  # must not be
    written_by: str = ""  # a tool with a name of its own for it: no GPU can be asked for it
    across_passes: bool = False  # inputs, and metrics used, may come from different runs of the application
    averaged: bool = False  # a recorded ratio: dispatches can be averaged, not summed
    doubt: str = ""  # why no value of it is to be trusted
    source: str = ""

    def serves(self, gfx: str) -> bool:
        """Whether the formula is for this chip."""
        return any(fnmatchcase(gfx, pattern) for pattern in self.gfx)

    @cached_property
    def tree(self) -> Expression:
        """The parsed expression."""
        return parse(self.expression)

    def shown(self, name: str) -> str:
        """An input as a user would ask for it."""
        return next((real for real in self.names if written(real) == name), name)


class Metric(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A number about a dispatch, and the formulas for it: the first whose inputs were recorded is used."""

    name: str
    title: str
    unit: str
    formulas: tuple[Formula, ...]
    low: float | None = None
    high: float | str | None = None  # a number, or a peak of the GPU
    cause: str = ""  # the likely one if a bound is broken
    source: str


def written(name: str) -> str:
    """A recorded name as formulas write it: dram__bytes.sum -> dram__bytes_sum."""
    return name.replace(".", "_")


def peak(gpu: Gpu, name: str) -> float | None:
    """The peak of a GPU that a bound names."""
    match name:
        case "memory_gbps":
            return gpu.memory_gbps
        case "peak_tflops":
            rates = (*gpu.vector_tflops.items(), *gpu.matrix_tflops.items())
            return max((rate for dtype, rate in rates if not dtype.startswith("i")), default=None)
    raise ValueError(f"no peak {name!r}")


PEAKS = frozenset(("memory_gbps", "peak_tflops"))


@once
def metrics() -> Mapping[str, Metric]:
    """Every metric of every GPU, by name."""
    folder = resources.files("rocm_perf.arch").joinpath("metrics")
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".toml")), key=lambda f: f.name)
    return read_metrics({file.name: file.read_bytes() for file in files})


def read_metrics(files: Mapping[str, bytes]) -> Mapping[str, Metric]:
    """The metrics of TOML files by name; an error names the file or the metric."""
    by_name: dict[str, Metric] = {}
    for file, data in files.items():
        for metric in _of_file(file, data):
            if metric.name in by_name:
                raise InputError(f"{file}: {metric.name} is defined twice")
            by_name[metric.name] = metric
    for metric in by_name.values():
        _check(metric, by_name)
    return by_name


def metrics_of(gfx: str) -> Mapping[str, Metric]:
    """The metrics that have a formula on a GPU, each with only those formulas."""
    return {metric.name: metric for each in metrics().values() if (metric := on(each, gfx)).formulas}


def on(metric: Metric, gfx: str) -> Metric:
    """The metric with only the formulas for a chip."""
    return msgspec.structs.replace(metric, formulas=tuple(f for f in metric.formulas if f.serves(gfx)))


def _of_file(file: str, data: bytes) -> Iterable[Metric]:
    content = read_toml(data, file)
    source = content.pop("source", "")
    for name, body in content.items():
        try:
            yield msgspec.convert({"source": source, **body, "name": name}, Metric)
        except (msgspec.ValidationError, TypeError) as error:
            raise InputError(f"{file}: {name} is not a valid metric", str(error)) from error


def _check(metric: Metric, known: Mapping[str, Metric]) -> None:
    try:
        problem = next(iter(_problems(metric, known)), None)
    except ExpressionError as error:
        problem = str(error)
    if problem:
        raise InputError(f"metric {metric.name}", problem)


def _problems(metric: Metric, known: Mapping[str, Metric]) -> Iterable[str]:
    if metric.unit not in UNITS:
        yield f"unit {metric.unit!r} is unknown; there are {', '.join(sorted(UNITS - {''}))}"
    if isinstance(metric.high, str) and metric.high not in PEAKS:
        yield f"bound {metric.high!r} is not a peak; there are {', '.join(sorted(PEAKS))}"
    if metric.low is not None and isinstance(metric.high, float) and metric.low >= metric.high:
        yield f"its bounds {metric.low:g} and {metric.high:g} leave nothing between them"
    if not metric.source and not all(formula.source for formula in metric.formulas):
        yield "it has no source"
    if not metric.formulas:
        yield "it has no formula"
    for formula in metric.formulas:
        yield from _formula_problems(metric, formula, known)


def _formula_problems(metric: Metric, formula: Formula, known: Mapping[str, Metric]) -> Iterable[str]:
    names = formula.tree.names
    if metric.name in _used(metric.name, known):
        yield "it is defined in terms of itself"
    counted = (names - BUILT_IN - known.keys()) | set(formula.beside) | set(formula.not_beside)
    for name in sorted(counted - {written(real) for real in formula.names}):
        if not formula.written_by and not any(formula.serves(gfx) for gfx in _chips_with().get(name, ())):
            yield f"{name} is not a counter of {', '.join(formula.gfx)}, a metric or a constant"
    for real in formula.names:
        if written(real) not in names:
            yield f"{real} is named but not used"


@cache
def _chips_with() -> Mapping[str, frozenset[str]]:
    """The chips that have each counter; those without definitions of their own have what their family has."""
    families = {gfx: later.family for gfx, later in counter_table.releases().later.items()}
    families |= {gfx: name for name, members in counter_table.releases().families.items() for gfx in members}
    chips: dict[str, set[str]] = {}
    for row in counter_table.rows():
        relatives = {gfx for gfx, family in families.items() if family in row.gfx}
        chips.setdefault(row.counter, set()).update(row.gfx, relatives)
    return {name: frozenset(gfxs) for name, gfxs in chips.items()}


def _used(name: str, known: Mapping[str, Metric]) -> set[str]:
    """The metrics that a metric is computed from, directly or indirectly."""
    used: set[str] = set()
    waiting = [name]
    while waiting:
        formulas = known[waiting.pop()].formulas
        fresh = {part for formula in formulas for part in formula.tree.names if part in known} - used
        used |= fresh
        waiting.extend(fresh)
    return used
