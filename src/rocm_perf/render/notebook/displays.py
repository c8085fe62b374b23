"""Traces and documents as HTML for the output of a cell: no script, no style of its own, texts only ever text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined

from rocm_perf.model.document import Document
from rocm_perf.model.finding import Finding
from rocm_perf.model.schema import SCHEMAS
from rocm_perf.model.trace import Trace
from rocm_perf.render.sections.headline import contents, headline, ranked_findings, worth
from rocm_perf.render.sections.kernels import kernel_counts
from rocm_perf.render.sections.section import share, time
from rocm_perf.render.sections.verdicts import NO_FINDINGS, pairing
from rocm_perf.text import clean
from rocm_perf.units import format_bytes, format_count, format_list

_FINDINGS, _KERNELS, _FILES = 3, 5, 3


@dataclass(frozen=True)
class Advice:
    """A finding as a cell shows it."""

    finding: Finding
    worth: str


def trace_html(trace: Trace) -> str:
    """What a recording holds: where it comes from, and its tables with what one row of each is."""
    tables = [(name, f"{trace.rows(name):,}", SCHEMAS[name].row) for name in trace]
    return _filled("trace.html", facts=list(_facts(trace)), tables=tables, losses=trace.run.losses)


def document_html(document: Document) -> str:
    """The verdict, the first findings and the longest kernels."""
    findings, _ = ranked_findings(document)
    rows = [
        (share(row.share), time(row.total_ns), f"{row.calls:,}", time(row.mean_ns), row.short_name)
        for row in document.hotspots.rows[:_KERNELS]
    ]
    return _filled(
        "document.html",
        label=document.label,
        verdict=list(headline(document)) if document.devices else [contents(document)],
        findings=[Advice(finding, worth(finding, document)) for finding in findings[:_FINDINGS]],
        nothing=NO_FINDINGS if document.devices and not findings else "",
        more=_more(len(findings) - _FINDINGS),
        kernels=rows,
        counted=kernel_counts(document) if rows else "",
        coverage=pairing(document.coverage) if document.coverage.dispatched else "",
    )


def _more(findings: int) -> str:
    return f"{format_count(findings, 'more finding')} in .findings" if findings > 0 else ""


def _facts(trace: Trace) -> Iterator[tuple[str, str]]:
    run = trace.run
    yield "recorded by", f"{run.tool} {run.tool_version or ''}".strip()
    if run.command:
        yield "command", run.command
    if gpus := _gpus(trace):
        yield "GPUs", gpus
    if run.hosts:
        yield "hosts", format_list(run.hosts, _FILES)
    if run.window:
        yield "part", run.window
    files = [f"{source.path} ({format_bytes(source.size_bytes)})" for source in run.sources]
    if files:
        yield "files", format_list(files, _FILES)


def _gpus(trace: Trace) -> str:
    names = [name for name in trace.table("agents")["name"] if name]
    return ", ".join(
        name if names.count(name) == 1 else f"{names.count(name)} x {name}" for name in dict.fromkeys(names)
    )


def _filled(template: str, **values: object) -> str:
    return _templates().get_template(template).render(**values)


@cache
def _templates() -> Environment:
    return Environment(
        loader=PackageLoader("rocm_perf.render.notebook"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: clean(value) if isinstance(value, str) else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
