"""The top of the page: what was recorded, the verdict, the findings, and how far to trust them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from rocm_perf.model.document import Document
from rocm_perf.model.finding import Finding
from rocm_perf.render.page.cells import Cell, Explanations, exact
from rocm_perf.render.sections.headline import busy_share, contents, headline, ranked_findings, worth
from rocm_perf.render.sections.recording import overhead_text
from rocm_perf.render.sections.section import Section
from rocm_perf.render.sections.verdicts import pairing

CARDS = 3
_COMMAND = 80  # characters of it in the first line


@dataclass(frozen=True)
class Card:
    """One finding."""

    finding: Finding
    worth: str
    sure: str
    value: str | None  # the projected speedup, as `--json` has it
    explanation: int | None


@dataclass(frozen=True)
class Head:
    """Everything above the sections."""

    title: str
    facts: tuple[str, ...]
    verdict: str
    working: Cell  # the number in it
    cards: tuple[Card, ...]
    more: tuple[Card, ...]
    startup: tuple[Card, ...]
    coverage: str
    doubts: tuple[Finding, ...]  # what cannot be true, and what is missing
    recorded: tuple[tuple[str, str], ...]
    missing: tuple[Section, ...]


def head(document: Document, missing: Sequence[Section], explanations: Explanations) -> Head:
    """The top of the page about one run; `missing` are the sections without an answer."""
    findings, startup = ranked_findings(document)
    cards = [_card(finding, document, explanations) for finding in findings]
    return Head(
        title=PurePath(document.label).name,
        facts=tuple(_facts(document)),
        verdict=list(headline(document))[-1] if document.devices else contents(document),
        working=_working(document, explanations),
        cards=tuple(cards[:CARDS]),
        more=tuple(cards[CARDS:]),
        startup=tuple(_card(finding, document, explanations) for finding in startup),
        coverage=pairing(document.coverage),
        doubts=(*document.sanity, *document.coverage.holes),
        recorded=tuple((name, exact(rows)) for name, rows in document.coverage.recorded.items()),
        missing=tuple(missing),
    )


def _working(document: Document, explanations: Explanations) -> Cell:
    """How much the GPUs work, as the verdict says it."""
    if document.ledger.unavailable or document.ledger.idle_unknown:
        return Cell("")
    working = busy_share(document)
    value = None if working.value is None else repr(working.value)
    return Cell("", value=value, explanation=explanations.place(working, "", "ledger"))


def _facts(document: Document) -> Iterator[str]:
    """Program, GPU, tool, date: what of them is known."""
    run = document.run
    if run.command:
        yield run.command if len(run.command) <= _COMMAND else f"{run.command[:_COMMAND]}…"
    if gpus := _gpus(document):
        yield gpus
    yield run.tool + (f" {run.tool_version}" if run.tool_version else "")
    if run.recorded_at:
        yield run.recorded_at
    if run.window:
        yield run.window


def _gpus(document: Document) -> str:
    names = Counter(agent.name or agent.gfx or "unknown GPU" for agent in document.agents)
    return ", ".join(name if count == 1 else f"{count} x {name}" for name, count in names.items())


def _card(finding: Finding, document: Document, explanations: Explanations) -> Card:
    gain = finding.projected_speedup
    return Card(
        finding=finding,
        worth=worth(finding, document),
        sure="; ".join(_sure(finding, document)),
        value=None if gain is None or gain.value is None else repr(gain.value),
        explanation=explanations.place(gain, "", "findings"),
    )


def _sure(finding: Finding, document: Document) -> Iterator[str]:
    """How far the worth of a finding carries."""
    gain, has_worth = finding.projected_speedup, bool(worth(finding, document))
    if gain is not None and gain.unavailable:
        yield f"not projected: {gain.unavailable}"
    elif has_worth:
        bound = gain is None or "at most" in gain.formula
        yield "an upper bound: nothing was re-timed" if bound else "re-timed on the recorded dependencies"
    if gain is not None and gain.doubt:
        yield gain.doubt
    if document.gaps.doubt:
        yield document.gaps.doubt
    if has_worth and document.overhead.value is not None:
        yield overhead_text(document.overhead)
