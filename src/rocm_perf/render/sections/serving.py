"""Kinds of step of a program that serves a model, and the processes that ran them."""

from __future__ import annotations

from collections.abc import Iterator

from rocm_perf.model.document import Document
from rocm_perf.model.results.serving import Serving, StepTotals, Worker
from rocm_perf.render.sections.headline import LIMITS
from rocm_perf.render.sections.section import (
    Columns,
    Section,
    count,
    explained,
    grids,
    known,
    rate,
    share,
    text,
    time,
)
from rocm_perf.units import format_count, format_ns, format_share

_FAMILIES = 3  # named in a row
_LEAST_SHARE = 0.005  # of the time: less between steps is not worth a line


def _kind(row: StepTotals) -> str:
    return row.kind if row.batch is None else f"  batch {row.batch:,}"


def _families(row: StepTotals) -> str:
    return ", ".join(f"{one.family} {format_share(one.share)}" for one in row.families[:_FAMILIES])


def held_back_by(row: StepTotals) -> str:
    """What holds the steps of a kind back, and the largest part of it."""
    if row.held_back_by is None:
        return ""
    limit = LIMITS[row.held_back_by].removesuffix(" is the limit").removesuffix(" are the limit")
    return f"{limit}: {row.because}" if row.because else limit


def _process(worker: Worker) -> str:
    rank = "" if worker.rank is None else f", rank {worker.rank}"
    return f"{known(worker.pid)}{rank}{' (the table above)' if worker.judged else ''}"


_COLUMNS: Columns[StepTotals] = (
    text("step", _kind),
    explained("steps", count, lambda row: row.steps, "steps of the kind and the batch size"),
    explained("tokens", count, lambda row: row.tokens_per_step, "tokens of the steps / steps"),
    explained("median", time, lambda row: row.median_ns, "serving.step_ns"),
    explained("10 %", time, lambda row: row.p10_ns, "10 % of the steps take at most this long"),
    explained("90 %", time, lambda row: row.p90_ns, "90 % of the steps take at most this long"),
    explained("busy", share, lambda row: row.busy),
    explained("tokens/s", rate, lambda row: row.tokens_per_s),
    explained("a token", time, lambda row: row.ns_per_token),
)
_CONTENTS: Columns[StepTotals] = (
    text("step", _kind),
    explained("requests", count, lambda row: row.requests, "median over the steps"),
    explained("host", time, lambda row: row.host_ns, "median length of the range on the host"),
    explained("kernels", count, lambda row: row.kernels, "median of the kernels launched in a step"),
    text("families", _families),
    text("held back by", held_back_by),
)
_WORKERS: Columns[Worker] = (
    explained("GPU time", time, lambda row: row.gpu_ns, "time in which its kernels and copies ran"),
    explained("kernels", count, lambda row: row.kernels, "kernels that it launched"),
    explained("steps", count, lambda row: row.steps, "annotated steps"),
    text("GPUs", lambda row: ", ".join(map(str, row.agents)) or "none"),
    text("process", _process),
    text("command", lambda row: row.name),
)


def serving_section(document: Document, top: int) -> Section:
    """What each kind of step takes, and a token in it; the processes where there are several."""
    serving = document.serving
    if serving.unavailable:
        return Section("Serving", unavailable=serving.unavailable)
    processes = serving.workers if len(serving.workers) > 1 else ()
    return Section(
        "Serving",
        lines=tuple(_lines(serving)),
        grids=(
            *grids("", serving.rows, _COLUMNS, max(top, len(serving.kinds))),
            *grids("What is in them", serving.kinds, _CONTENTS),
            *grids("Processes", processes, _WORKERS, top),
        ),
        notes=serving.notes,
    )


def _lines(serving: Serving) -> Iterator[str]:
    steps = sum(row.steps for row in serving.kinds)
    speed = serving.tokens_per_s.value
    overall = "" if speed is None else f", {rate(speed)} tokens/s in all"
    yield f"{format_count(steps, 'step')} in {format_ns(serving.wall_ns)}{overall}."
    yield f"The kinds of step come from {serving.told_by}."
    between = serving.between
    if between.total_ns > _LEAST_SHARE * serving.wall_ns:
        yield (
            f"Between steps {format_ns(between.total_ns)} ({format_share(between.total_ns / serving.wall_ns)}), of "
            f"which the GPU works {format_ns(between.gpu_ns)}; {format_count(between.kernels, 'kernel')} started "
            "there."
        )
    if len(serving.workers) > 1:
        yield _who(serving.workers)


def _who(workers: tuple[Worker, ...]) -> str:
    """Which process ran the steps, and how many of the others used a GPU as well."""
    judged = next(worker for worker in workers if worker.judged)
    gpus = f" on GPU {', '.join(map(str, judged.agents))}" if judged.agents else ""
    used = sum(worker.gpu_ns > 0 for worker in workers)
    return f"These are the steps of process {known(judged.pid)}{gpus}; {used:,} of {len(workers):,} processes used one."


def serving_line(document: Document) -> str:
    """Each kind of step in a few numbers, for the first screen; nothing where no step is annotated."""
    return "; ".join(map(_in_short, document.serving.kinds))


def _in_short(row: StepTotals) -> str:
    number = f"{row.steps:,} of {time(row.median_ns)}"
    per_token, speed = row.ns_per_token.value, row.tokens_per_s.value
    most, least = ("at most ", "at least ") if row.ns_per_token.doubt else ("", "")
    cost = "" if per_token is None else f", {most}{time(per_token)} a token, {least}{rate(speed)} tokens/s"
    busy = f", busy {share(row.busy)}" if row.busy.known else ""
    return f"{row.kind}: {number}{busy}{cost}"
