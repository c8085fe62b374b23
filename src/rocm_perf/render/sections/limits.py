"""What limits a kernel: its causes, the table of units as bars, and the other readings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import takewhile
from typing import TypeVar

from rocm_perf.model.document import Document
from rocm_perf.model.quantity import Quantity
from rocm_perf.model.results.bottleneck import Bottleneck
from rocm_perf.model.results.limits import Cause, Certainty, KernelLimits, Reading, UnitUse
from rocm_perf.model.results.roofline import KernelRoofline
from rocm_perf.model.results.times import Hotspot
from rocm_perf.render.grid import squeezed
from rocm_perf.render.sections.section import (
    Column,
    Columns,
    Grid,
    Item,
    Section,
    bars,
    code,
    doubts,
    explained,
    grids,
    rate,
    share,
    size,
    text,
    time,
)
from rocm_perf.render.use_bars import UseBar
from rocm_perf.units import NS_PER_MS, NS_PER_S, NS_PER_US, format_count, format_ns, format_share

Told = TypeVar("Told", UnitUse, Reading)
_MOST = 10  # kernels with a picture, where none is named
_LEAST_SHARE = 0.01  # of the kernel time, for a kernel with a picture
_SHORT = 18  # characters of a unit's title in the table of kernels
_NAME = 300  # characters of a kernel's name in full
_FULL = 0.5  # busy: a unit that is less so limits nothing by itself
_ALL = 0.995  # of a kernel's time: written as all of it
_NEAR = 3  # names that may have been meant
_SURE: dict[Certainty, str] = {"proven": "proven by", "likely": "likely, from", "hint": "a hint, from"}
_GROUPS = {"waits": "Waits", "parallelism": "Parallelism", "work": "Work"}
_WRITTEN = {"lds": "LDS", "l1": "L1", "l2": "L2", "hbm": "HBM"}
_TIMES = {"ns": 1, "us": NS_PER_US, "ms": NS_PER_MS, "s": NS_PER_S}


@dataclass(frozen=True)
class Subject:
    """One kernel on GPUs of one model, with what is known of it."""

    kernel: str
    short_name: str
    bottleneck: Bottleneck | None
    spot: Hotspot | None
    roof: KernelRoofline | None = None
    gpu: str = ""

    @property
    def limits(self) -> KernelLimits:
        """Its table of units and its causes."""
        return self.bottleneck.limits if self.bottleneck else KernelLimits()

    @property
    def total_ns(self) -> int:
        """Its time, over all its dispatches."""
        return self.bottleneck.total_ns if self.bottleneck else self.spot.total_ns if self.spot else 0

    @property
    def share(self) -> float:
        """Its share of the kernel time."""
        if not self.spot or not self.spot.total_ns:
            return 0.0
        return self.spot.share * min(self.total_ns / self.spot.total_ns, 1.0)


def limits_section(document: Document, top: int) -> Section:
    """What limits each of the kernels that take the most time."""
    subjects = [one for one in kernels_of(document) if _is_known(one.limits)]
    if not subjects:
        return Section("What limits a kernel", unavailable=_why_unknown(document))
    shown = [one for one in subjects if one.share >= _LEAST_SHARE or one.spot is None][: min(top, _MOST)]
    return Section(
        "What limits a kernel",
        lines=(
            "How busy each unit of the GPU was while the kernel ran, how much of that was useful, and the causes "
            f"that follow. Known for {len(subjects)} of {format_count(len(kernels_of(document)), 'kernel')}.",
        ),
        parts=tuple(map(kernel_section, shown or subjects[:1])),
    )


def named_section(document: Document, name: str) -> Section:
    """What limits the kernel of this name, or the kernels that it may stand for."""
    found = named(document, name)
    if found and len({one.short_name for one in found}) == 1:
        first, *others = map(kernel_section, found[:_MOST])
        return replace(first, parts=tuple(others))
    shorts = Counter(one.short_name for one in found)
    title = f"Kernels whose name contains {name}"
    if not found:
        return Section(title, unavailable=no_such_kernel(document, name))
    columns: Columns[Subject] = (
        explained("share", share, lambda row: row.share, "hotspots.share"),
        explained("total", time, lambda row: row.total_ns, "hotspots.total_ns"),
        text("limited by", limited_by),
        code("kernel", lambda row: row.short_name if shorts[row.short_name] == 1 else row.kernel),
    )
    lines = (f"{len(found)} kernels; name one of them, by any part of its name, to see what limits it.",)
    return Section(title, lines=lines, grids=grids("", found, columns))


def named(document: Document, name: str) -> list[Subject]:
    """Return the kernels of this name, in full or short, or else those whose name contains it in any case."""
    every = kernels_of(document)
    if same := [one for one in every if name in (one.kernel, one.short_name)]:
        return same
    part = name.casefold()
    return [one for one in every if part in one.short_name.casefold() or part in one.kernel.casefold()]


def no_such_kernel(document: Document, name: str) -> str:
    """Return that no kernel has this name, and which may have been meant."""
    names = list(dict.fromkeys(one.short_name for one in kernels_of(document)))
    if not names:
        return "the recording holds no kernels"
    by_words = {word: short for short in reversed(names) for word in _words(short)}
    near = list(dict.fromkeys(by_words[one] for one in get_close_matches(name.casefold(), by_words, n=_NEAR)))
    offered = near or names[:_NEAR]
    which = "similar names" if near else "the longest are"
    listed = ", ".join(squeezed(one, 60) for one in offered)
    return f"no kernel has a name that contains {name!r}; {which}: {listed}"


def _words(short: str) -> list[str]:
    """A name without its arguments, and the words that it is made of."""
    base = short.partition("<")[0].rpartition("::")[2].casefold()
    return [base, *re.split(r"[\W_]+", short.casefold())]


def kernels_of(document: Document) -> list[Subject]:
    """Return every kernel, longest first; on several models of GPUs, once for each."""
    spots = {spot.kernel: spot for spot in document.hotspots.rows}
    roofs = {(row.kernel, row.gpu): row for row in document.roofline.kernels}
    gpus = document.roofline.gpus
    judged = [
        Subject(
            kernel=row.kernel,
            short_name=row.short_name,
            bottleneck=row,
            spot=spots.get(row.kernel),
            roof=None if row.gpu is None else roofs.get((row.kernel, row.gpu)),
            gpu="" if row.gpu is None or row.gpu >= len(gpus) else gpus[row.gpu].name,
        )
        for row in document.bottlenecks.kernels
    ]
    known = {one.kernel for one in judged}
    rest = [
        Subject(spot.kernel, spot.short_name, None, spot)
        for spot in spots.values()
        if spot.kernel not in known
    ]
    return sorted((*judged, *rest), key=lambda one: -one.total_ns)


def limited_by(subject: Subject) -> str:
    """Return in two or three words what limits a kernel."""
    return in_words(subject.bottleneck) if subject.bottleneck else ""


def in_words(row: Bottleneck) -> str:
    """Return the first cause of a kernel in two or three words, its fullest unit, or its label."""
    if causes := row.limits.causes:
        return " ".join(_WRITTEN.get(word, word) for word in causes[0].id.split("-"))
    fullest = next(iter(_fullest_first(row.limits.units)), None)
    if fullest is None or _known(fullest.busy) < _FULL:
        return row.label or ""
    title = fullest.title.partition(",")[0].partition(" (")[0]
    name = title if len(title) <= _SHORT else fullest.unit
    return f"{name} {100 * min(_known(fullest.busy), 1.0):.0f} %"


def limits_by_kernel(document: Document) -> Mapping[str, str]:
    """Return what limits each kernel, in two or three words; on several GPUs, where it takes the most time."""
    return {one.kernel: limited_by(one) for one in reversed(kernels_of(document))}


def kernel_section(subject: Subject) -> Section:
    """What limits one kernel."""
    limits = subject.limits
    known = _fullest_first(limits.units)
    measured = [unit.busy for unit in known] + [unit.useful for unit in known if unit.useful]
    return Section(
        subject.short_name,
        lines=tuple(_about(subject)),
        items=tuple(_cause(cause, subject) for cause in limits.causes) or tuple(_label(subject.bottleneck)),
        grids=(*_unit_grids(known), *_reading_grids(limits.readings)),
        notes=(
            *doubts((*measured, *(reading.value for reading in limits.readings), *_reached(subject))),
            *_not_known(limits),
            *_more(subject.bottleneck),
            *(
                (f"in full: {squeezed(subject.kernel, _NAME)}",)
                if subject.kernel != subject.short_name
                else ()
            ),
        ),
    )


def causes_said(limits: KernelLimits) -> tuple[str, ...]:
    """Return each cause in one sentence."""
    return tuple(_said(cause) for cause in limits.causes)


def _is_known(limits: KernelLimits) -> bool:
    return bool(limits.units or limits.readings or limits.causes)


def _why_unknown(document: Document) -> str:
    """Why there is no table of units for any kernel."""
    bottlenecks = document.bottlenecks
    missing = next((row.limits.missing for row in bottlenecks.kernels if row.limits.missing), "")
    return (
        missing
        or bottlenecks.unavailable
        or "nothing that was recorded says how busy the units of the GPU were"
    )


def _about(subject: Subject) -> Iterator[str]:
    """How much time the kernel takes, where it stands under its roof, and its name in full."""
    spot, total = subject.spot, subject.total_ns
    on = f" on {subject.gpu}" if subject.gpu else ""
    if spot:
        calls = format_count(spot.calls, "call")
        each = f", {format_ns(spot.mean_ns)} each" if spot.calls > 1 else ""
        limit = f", limited by {said}" if (said := limited_by(subject)) else ""
        yield f"{format_share(subject.share)} of the kernel time{limit}: {format_ns(total)} in {calls}{each}{on}."
    elif total:
        yield f"{format_ns(total)}{on}."
    for reached in _reached(subject):
        under = f", {subject.roof.position}" if subject.roof and subject.roof.position else ""
        yield f"It reaches {rate(reached.value)} %{'?' if reached.doubt else ''} of its roof{under}."


def _reached(subject: Subject) -> tuple[Quantity, ...]:
    """How near the kernel comes to its roof, where that is known."""
    known = subject.roof and subject.roof.percent_of_roof.known
    return (subject.roof.percent_of_roof,) if subject.roof and known else ()


def _label(row: Bottleneck | None) -> Iterator[Item]:
    """What holds a kernel back that has no cause, as far as it is known."""
    if row is None:
        return
    held = f"likely {row.suspect}" if row.suspect else row.label
    title = f"held back by: {held}" if held else row.reason
    why = "; ".join(piece.says for piece in row.evidence)
    yield Item(f"{title[:1].upper()}{title[1:]}", facts=(("why", why),) if why else ())


def _more(row: Bottleneck | None) -> Iterator[str]:
    """Commands that would measure more, where nothing is proven yet."""
    if row and not any(cause.certainty == "proven" for cause in row.limits.causes):
        yield from (f"for more evidence: {command}" for command in row.would_tell_more)


def _not_known(limits: KernelLimits) -> Iterator[str]:
    """Why there is no table, or no value for some of its units."""
    if limits.missing:
        yield limits.missing
    reasons: dict[str, list[str]] = {}
    for unit in limits.units:
        if unit.busy.unavailable:
            reasons.setdefault(unit.busy.unavailable, []).append(unit.title)
    for reading in limits.readings:
        if reading.value.unavailable:
            reasons.setdefault(reading.value.unavailable, []).append(reading.title)
    yield from (f"not known: {', '.join(titles)} ({reason})" for reason, titles in reasons.items())


def _cause(cause: Cause, subject: Subject) -> Item:
    facts = (
        ("worth", _worth(cause, subject)),
        ("why", "; ".join(cause.evidence)),
        ("do", cause.remedy),
        ("is not", cause.is_not),
        ("sure", f"{_SURE[cause.certainty]} {cause.source}"),
    )
    return Item(_said(cause), facts=tuple(fact for fact in facts if fact[1]))


def _said(cause: Cause) -> str:
    part = "All" if cause.share >= _ALL else format_share(cause.share)
    return f"{part} of its time: {cause.title}"


def _worth(cause: Cause, subject: Subject) -> str:
    """What removing the cause saves at most."""
    if cause.saves is None:
        return "not known: nothing bounds it but the kernel's own time"
    if cause.saves <= 0:
        return "nothing: the kernel does no useless work of this kind"
    saves = min(cause.saves, 1.0)
    calls = subject.spot.calls if subject.spot else 1
    faster = f" ({1 / (1 - saves):.3g} times as fast)" if saves < _ALL else ""
    if not subject.total_ns:
        return f"at most {format_share(saves)} of the kernel's time{faster}"
    each = subject.total_ns / max(calls, 1)
    of = f"the {format_ns(each)} of each call" if calls > 1 else f"its {format_ns(each)}"
    return f"at most {format_ns(saves * each)} of {of}{faster}"


def _unit_grids(units: Sequence[UnitUse]) -> tuple[Grid, ...]:
    """The units as bars, the fullest first."""
    columns: Columns[UnitUse] = (
        text("unit", lambda row: row.title),
        bars("0 to 100 % of the time", _bar),
        explained(
            "busy", share, lambda row: row.busy, legend="share of the kernel's time in which the unit worked"
        ),
        explained(
            "useful", share, lambda row: row.useful, legend="share of that work which the result needs"
        ),
        *_source(units),
    )
    return grids(f"How busy each unit was{_from(units)}", units, columns)


def _bar(unit: UnitUse) -> UseBar | None:
    useful = unit.useful.value if unit.useful else None
    return None if unit.busy.value is None else UseBar(unit.busy.value, useful)


def _reading_grids(readings: Sequence[Reading]) -> Iterator[Grid]:
    """Waits, the longest first; what runs at once, and what the work is."""
    for group, title in _GROUPS.items():
        rows = [one for one in readings if one.group == group and one.value.known]
        if group == "waits":
            yield from _waits(rows)
            continue
        columns: Columns[Reading] = (
            explained("value", _in_its_unit, lambda row: row.value),
            text("what", lambda row: row.title),
            *_source(rows),
        )
        yield from grids(f"{title}{_from(rows)}", rows, columns)


def _waits(rows: Sequence[Reading]) -> tuple[Grid, ...]:
    """Waits as bars. What all titles begin with stands above them, once."""
    common = _common_words([row.title for row in rows])
    columns: Columns[Reading] = (
        text("wait", lambda row: row.title[len(common) :].strip()),
        bars("0 to 100 %", _wait_bar),
        explained("share", _in_its_unit, lambda row: row.value),
        *_source(rows),
    )
    longest_first = sorted(rows, key=lambda row: -_known(row.value))
    above = f"Waits: {common}" if common else "Waits"
    return grids(f"{above}{_from(rows)}", longest_first, columns)


def _common_words(titles: Sequence[str]) -> str:
    """The words that all of several titles begin with."""
    if len(titles) < 2:
        return ""
    words = zip(*(title.split(" ") for title in titles), strict=False)
    return " ".join(same[0] for same in takewhile(lambda each: len(set(each)) == 1, words))


def _wait_bar(reading: Reading) -> UseBar | None:
    number = reading.value.value
    is_share = number is not None and reading.value.unit in ("", "%")
    if number is None or not is_share:
        return None
    return UseBar(number / 100 if reading.value.unit else number, None, is_wait=True)


def _in_its_unit(value: Quantity) -> str:
    """A reading; one without a unit is a share."""
    number, mark = value.value, "?" if value.doubt else ""
    if number is None:
        return "-"
    if not value.unit:
        return share(value)
    if value.unit in _TIMES:
        return f"{format_ns(number * _TIMES[value.unit])}{mark}"
    if value.unit == "B":
        return f"{size(number)}{mark}"
    return f"{rate(number)}{' ' if value.unit != 'x' else ''}{value.unit}{mark}"


def _from(rows: Sequence[UnitUse | Reading]) -> str:
    """The one source of all rows."""
    sources = {row.source for row in rows}
    return f", from {sources.pop()}" if len(sources) == 1 else ""


def _source(rows: Sequence[Told]) -> Columns[Told]:
    """A column of sources, where there are several."""
    column: Column[Told] = text("source", lambda row: row.source)
    return (column,) if len({row.source for row in rows}) > 1 else ()


def _fullest_first(units: Sequence[UnitUse]) -> list[UnitUse]:
    """The units whose use is known."""
    return sorted((unit for unit in units if unit.busy.known), key=lambda unit: -_known(unit.busy))


def _known(quantity: Quantity) -> float:
    return quantity.value or 0.0
