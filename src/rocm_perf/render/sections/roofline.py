"""How near kernels come to what their GPU can do, and what holds each of them back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rocm_perf.model.document import Document
from rocm_perf.model.quantity import Quantity
from rocm_perf.model.results.bottleneck import Bottleneck
from rocm_perf.model.results.roofline import Ceiling, KernelRoofline, Roofline, RooflineGpu, WorkPart
from rocm_perf.render.sections.limits import causes_said, in_words
from rocm_perf.render.sections.section import (
    Column,
    Columns,
    Grid,
    Item,
    Section,
    code,
    doubts,
    explained,
    grids,
    rate,
    text,
    time,
)
from rocm_perf.units import format_list, format_share

_EXPLAINED = 5  # kernels whose bottleneck is shown with its evidence
_SLIVER = 0.01  # of the kernel time
_NAMED = 2  # kernels, of those whose work is not known for one reason


def _with_unit(quantity: Quantity) -> str:
    return f"{rate(quantity)} {quantity.unit}"


_KERNEL_COLUMNS: Columns[KernelRoofline] = (
    explained("time", time, lambda row: row.total_ns, "hotspots.total_ns"),
    explained("FLOP/B", rate, lambda row: row.operational_intensity),
    explained("TFLOP/s", rate, lambda row: row.tflops),
    explained("TB/s", rate, lambda row: row.tbytes),
    explained("% of roof", rate, lambda row: row.percent_of_roof),
    text("regime", lambda row: f"{row.regime}{_ceiling(row)}"),
    code("kernel", lambda row: row.short_name, lambda row: row.kernel),
)
_BASIS: Column[KernelRoofline] = text("basis", lambda row: row.basis)
_OF_KERNEL: Column[KernelRoofline] = text("known for", lambda row: _known_for(row.dispatches, row))
_OF_PART: Column[tuple[KernelRoofline, WorkPart]] = text(
    "known for", lambda row: _known_for(row[1].dispatches, row[0])
)
_PART_COLUMNS: Columns[tuple[KernelRoofline, WorkPart]] = (
    explained("rate", _with_unit, lambda row: row[1].rate),
    explained("% of peak", rate, lambda row: row[1].percent_of_ceiling),
    explained("FLOP/B", rate, lambda row: row[1].intensity),
    text("peak", lambda row: row[1].ceiling),
    code("kernel", lambda row: row[0].short_name, lambda row: row[0].kernel),
)


def _held_back(row: Bottleneck) -> str:
    """The cause that is proven, or the one that is likely."""
    if row.suspect:
        return f"likely {row.suspect}"
    return row.label or "unknown"


def _score(row: Bottleneck) -> Quantity | None:
    """How much evidence supports the label, with its formula."""
    return next((one.score for one in row.scores if one.label == row.label), None)


_BOTTLENECK_COLUMNS: Columns[Bottleneck] = (
    explained("time", time, lambda row: row.total_ns, "hotspots.total_ns"),
    explained("score", rate, _score),
    explained("margin", rate, lambda row: row.margin, "score of the first label - score of the second"),
    text("held back by", _held_back),
    text("second", lambda row: row.second or ""),
    code("kernel", lambda row: row.short_name, lambda row: row.kernel),
)
_CEILING_COLUMNS: Columns[Ceiling] = (
    explained("peak", _with_unit, lambda row: row.rate),
    explained("ridge FLOP/B", rate, lambda row: row.ridge),
    explained("data sheet", rate, lambda row: row.data_sheet if row.measured else row.rate),
    text("of", lambda row: row.name),
    text("source", lambda row: row.origin),
)


def roofline_section(document: Document, top: int) -> Section:
    """Ceilings of the GPU, and the kernels under them."""
    roofline = document.roofline
    known = [row for row in roofline.kernels if row.percent_of_roof.known or row.work]
    if roofline.unavailable or not known:
        reason = roofline.unavailable or next(
            (row.reason for row in roofline.kernels), "no kernels were recorded"
        )
        return Section("Roofline", unavailable=reason)
    parts = [(row, part) for row in known[:top] for part in row.work]
    basis = (_BASIS,) if len({row.basis for row in known}) > 1 else ()
    in_part = any(_known_for(part.dispatches, row) for row, part in parts)
    of_kernel, of_part = ((_OF_KERNEL,), (_OF_PART,)) if in_part else ((), ())
    return Section(
        "Roofline",
        lines=(
            f"Work is known for {len(known)} of {len(roofline.kernels)} kernels ({_bases(known)}).",
            *_unknown(roofline.kernels),
        ),
        grids=(
            *grids("Kernels", known, (*_KERNEL_COLUMNS, *basis, *of_kernel), top),
            *grids("Work by dtype and level of memory", parts, (*_PART_COLUMNS, *of_part)),
            *(grid for gpu in roofline.gpus for grid in _peaks(gpu)),
        ),
        notes=tuple(dict.fromkeys(_notes(roofline, known[:top]))),
    )


def _known_for(dispatches: int, row: KernelRoofline) -> str:
    """Of how many dispatches the work is known, where not of all."""
    return f"{dispatches:,} of {row.calls:,}" if dispatches < row.calls else ""


def _unknown(kernels: Sequence[KernelRoofline]) -> Iterator[str]:
    """Why work is not known, for reasons that concern more than a sliver of the time, most time first."""
    total = sum(row.total_ns for row in kernels)
    alike: dict[str, list[KernelRoofline]] = {}
    for row in kernels:
        if not row.percent_of_roof.known and not row.work:
            alike.setdefault(row.flops.unavailable or row.reason, []).append(row)
    times = {reason: sum(row.total_ns for row in rows) for reason, rows in alike.items()}
    for reason, rows in sorted(alike.items(), key=lambda one: -times[one[0]]):
        if total and times[reason] >= _SLIVER * total:
            names = format_list(tuple(dict.fromkeys(row.short_name for row in rows)), _NAMED)
            yield f"Not known for {format_share(times[reason] / total)} of the kernel time: {reason} ({names})."


def _peaks(gpu: RooflineGpu) -> tuple[Grid, ...]:
    return grids(f"Peaks of {gpu.name} (identified by {gpu.told_by})", gpu.ceilings, _CEILING_COLUMNS)


def _ceiling(row: KernelRoofline) -> str:
    """The level in brackets of a position such as "memory (HBM)"."""
    inside = (row.position or "").partition("(")[2].rstrip(")")
    return f": {inside}" if inside else ""


def _bases(kernels: list[KernelRoofline]) -> str:
    return ", ".join(dict.fromkeys(kernel.basis for kernel in kernels))


def _notes(roofline: Roofline, kernels: list[KernelRoofline]) -> Iterator[str]:
    for gpu in roofline.gpus:
        yield from gpu.notes
        if gpu.unavailable:
            yield f"{gpu.name}: no peaks, {gpu.unavailable}"
    for kernel in kernels:
        yield from kernel.notes
        yield from doubts(
            (kernel.operational_intensity, kernel.tflops, kernel.tbytes, kernel.percent_of_roof)
        )


def bottlenecks_section(document: Document, top: int) -> Section:
    """What holds each kernel back, with the measurements that say so."""
    bottlenecks = document.bottlenecks
    if bottlenecks.unavailable or not bottlenecks.kernels:
        return Section(
            "What holds kernels back", unavailable=bottlenecks.unavailable or "no kernels were recorded"
        )
    advice = dict.fromkeys(command for row in bottlenecks.kernels[:top] for command in row.would_tell_more)
    return Section(
        "What holds kernels back",
        items=tuple(_item(row) for row in bottlenecks.kernels[: min(_EXPLAINED, top)]),
        grids=grids("All kernels", bottlenecks.kernels, _BOTTLENECK_COLUMNS, top),
        notes=tuple(f"for more evidence: {command}" for command in advice),
    )


def _item(row: Bottleneck) -> Item:
    """A kernel, and what its measurements say."""
    if row.limits.causes:
        return Item(f"{row.short_name}: {in_words(row)}", causes_said(row.limits))
    details = tuple(piece.says for piece in row.evidence)
    named = row.label or row.suspect
    return Item(f"{row.short_name}: {_held_back(row) if named else row.reason}", details)
