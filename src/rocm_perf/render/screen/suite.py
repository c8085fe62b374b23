"""The results of a suite of products: as a table in a terminal, and as a picture."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from rocm_perf.model.results.suite import ProductCase, ProductPeak, ProductSuite
from rocm_perf.render.bars import Panel, bar_picture
from rocm_perf.render.grid import GridColumn, fitted


def suite_blocks(suite: ProductSuite, width: int) -> Iterator[RenderableType]:
    """The GPU, the cases with the fastest of each type and shape first, the peaks, and what was left out."""
    yield Text(f"{suite.gpu.name} ({suite.gpu.gfx}), torch {suite.torch}", style="bold")
    rows = sorted(suite.cases, key=lambda case: (case.dtype, case.m * case.n * case.k, -case.tflops))
    yield fitted(
        [
            GridColumn("type", [case.dtype for case in rows], numeric=False),
            GridColumn("shape", [case.shape for case in rows], numeric=False),
            GridColumn("TFLOP/s", [_number(case.tflops) for case in rows], numeric=True),
            GridColumn("% peak", [_percent(case.percent_of_measured) for case in rows], numeric=True),
            GridColumn("% sheet", [_percent(case.percent_of_data_sheet) for case in rows], numeric=True),
            GridColumn("ms", [f"{case.median_ms:.3g}" for case in rows], numeric=True),
            GridColumn("error", [_error(case) for case in rows], numeric=True),
            GridColumn("variant", [case.variant for case in rows], numeric=False),
        ],
        width,
    )
    for peak in suite.peaks:
        yield Text(_peak_text(peak), style="dim")
    if not any(peak.measured for peak in suite.peaks):
        yield Text("peak: not measured here; rocm-perf ceilings does", style="dim")
    for (variant, reason), cases in _left_out(suite).items():
        yield Text(f"left out: {variant} {', '.join(cases)}".rstrip() + f" ({reason})", style="dim")


def _left_out(suite: ProductSuite) -> dict[tuple[str, str], list[str]]:
    """The cases that were left out, by variant and reason."""
    groups: dict[tuple[str, str], list[str]] = {}
    for one in suite.left_out:
        groups.setdefault((one.variant, one.reason), []).append(f"{one.dtype} {one.shape}".strip())
    return groups


def suite_picture(suite: ProductSuite) -> str:
    """The rates by type, shape and variant, with the peaks as lines."""
    title = f"Products of matrices on {suite.gpu.name}, {suite.date[:10]}"
    return bar_picture(title, [_panel(suite, peak) for peak in suite.peaks])


def _panel(suite: ProductSuite, peak: ProductPeak) -> Panel:
    cases = [case for case in suite.cases if case.dtype == peak.dtype]
    groups = tuple(dict.fromkeys(case.shape for case in cases))
    by_place = {(case.variant, case.shape): case for case in cases}
    variants = dict.fromkeys(case.variant for case in cases)
    rates = {place: case.tflops for place, case in by_place.items()}
    limits = {"data sheet": peak.data_sheet, "measured": peak.measured}
    return Panel(
        title=peak.dtype,
        unit="TOP/s" if peak.dtype == "i8" else "TFLOP/s",
        groups=groups,
        bars={variant: [rates.get((variant, group)) for group in groups] for variant in variants},
        limits={name: value for name, value in limits.items() if value},
        wrong=frozenset(place for place, case in by_place.items() if not case.correct),
    )


def _peak_text(peak: ProductPeak) -> str:
    data_sheet = f"{peak.data_sheet:,.4g}" if peak.data_sheet else "unknown"
    measured = f", {peak.measured:,.4g} measured on {peak.measured_on}" if peak.measured else ""
    return f"peak of {peak.rate}: {data_sheet} by the data sheet{measured}"


def _error(case: ProductCase) -> str:
    return f"{case.error:.1e}" if case.correct else "WRONG"


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:.0f}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
