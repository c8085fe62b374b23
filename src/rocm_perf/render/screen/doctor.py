"""The doctor's report in a terminal: the verdict first, then the machine, the matrix of methods, and what to fix."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence

import msgspec
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from rocm_perf.model.finding import Finding
from rocm_perf.model.results.doctor import DoctorReport, Fact, GpuMethods, MethodAnswer
from rocm_perf.render.lines import marked, paragraph, show
from rocm_perf.units import format_bytes, format_count

_STYLES = {"yes": "green", "no": "red", "untested": "yellow"}
_TIED = "\u00a0"  # a no-break space


def print_doctor(report: DoctorReport, console: Console) -> None:
    """Print the whole report."""
    for block in blocks(report, console.width):
        show(console, block)


def blocks(report: DoctorReport, width: int) -> Iterator[RenderableType]:
    """Lines and tables of the report, none wider than the terminal."""
    for sentence in report.verdict:
        yield from paragraph(sentence, width, 2, style="bold")
    for title, facts in (("Versions", report.versions), ("Access", report.access), ("Tools", report.tools)):
        yield from _heading(title)
        yield _facts(facts)
    for gpus in _alike(report.gpus):
        yield from _heading(_gpu_heading(gpus))
        yield _matrix(gpus[0].methods)
    if report.problems:
        yield from _heading("Problems")
        for problem in report.problems:
            yield from problem_lines(problem, width)


def _heading(title: str) -> Iterator[RenderableType]:
    yield Text("")
    yield Text(title, style="bold")


def _facts(facts: Iterable[Fact]) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for fact in facts:
        table.add_row(Text(fact.label), Text(fact.value, style="" if fact.fine else "yellow"))
    return table


def _alike(gpus: Sequence[GpuMethods]) -> list[list[GpuMethods]]:
    """GPUs grouped so that those of a group differ only in index and PCI address, and share one matrix."""
    groups: dict[GpuMethods, list[GpuMethods]] = {}
    for gpu in gpus:
        groups.setdefault(msgspec.structs.replace(gpu, index=0, pci=""), []).append(gpu)
    return list(groups.values())


def _gpu_heading(gpus: Sequence[GpuMethods]) -> str:
    first = gpus[0]
    parts = [first.gfx, first.pci if len(gpus) == 1 else ""]
    parts += [format_bytes(first.memory_bytes)] if first.memory_bytes else []
    parts += [format_count(first.compute_units, "compute unit")] if first.compute_units else []
    return f"{_numbers(gpus)}: {first.name} ({', '.join(part for part in parts if part)})"


def _numbers(gpus: Sequence[GpuMethods]) -> str:
    numbers = [gpu.index for gpu in gpus]
    if len(numbers) == 1:
        return f"GPU {numbers[0]}"
    if numbers == list(range(numbers[0], numbers[0] + len(numbers))):
        return f"GPUs {numbers[0]} to {numbers[-1]}"
    return f"GPUs {', '.join(map(str, numbers))}"


def _matrix(answers: Sequence[MethodAnswer]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in ("method", "works", "through"):
        table.add_column(heading, no_wrap=True)
    table.add_column("why, and what would help", overflow="fold")
    before = ""
    for answer in answers:
        note = _note(answer)
        table.add_row(
            Text(answer.method),
            Text(_works(answer), style=_STYLES[answer.works]),
            Text(answer.through or "-"),
            Text("as above" if note and note == before else note),
        )
        before = note
    return table


def _works(answer: MethodAnswer) -> str:
    if answer.trial is None:
        return answer.works
    return "tried: works" if answer.trial.works else "tried: failed"


def _note(answer: MethodAnswer) -> str:
    parts = [answer.reason]
    if answer.trial is not None:
        result = answer.trial.words if answer.trial.words != answer.reason else ""
        parts = [answer.reason, result, f"{answer.trial.wall_s:.1f} s" if answer.trial.wall_s else ""]
    elif answer.remedy:
        parts.append(f"help: {answer.remedy}" if answer.works == "no" else answer.remedy)
    return "; ".join(part for part in parts if part)


def problem_lines(problem: Finding, width: int) -> Iterator[RenderableType]:
    """A problem, how it is known, and what to do about it."""
    yield from marked(problem.severity, problem.title, width)
    for evidence in problem.evidence:
        yield from paragraph(evidence, width, indent="  ", style="dim")
    if problem.remedy:
        yield from paragraph(
            f"{problem.remedy}:" if problem.next_command else problem.remedy, width, indent="  "
        )
    if problem.next_command:
        yield Text(command_lines(problem.next_command, width), style="cyan")


def command_lines(command: str, width: int) -> str:
    """A command to copy; where it is too long for a line, backslashes continue it."""
    tied = re.sub(r"'[^']*'", lambda quoted: quoted.group().replace(" ", _TIED), command)
    rows = textwrap.wrap(tied, width - 8, break_long_words=False, break_on_hyphens=False)
    return "    " + " \\\n      ".join(rows).replace(_TIED, " ")
