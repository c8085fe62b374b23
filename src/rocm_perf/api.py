"""The package from Python: what the command line does, as functions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from rocm_perf.analysis.basis.recorded import recorded_parts
from rocm_perf.analysis.compare.gates import recordings as gates
from rocm_perf.analysis.compare.gates.expressions import parse
from rocm_perf.analysis.compare.populations import compare as _compare
from rocm_perf.analysis.compare.runs import Recording
from rocm_perf.analysis.overview import examine, overview
from rocm_perf.analysis.parts.combine import combined, of_window
from rocm_perf.analysis.roofline.named import with_named_gpu
from rocm_perf.analysis.time.hotspots import Grouping
from rocm_perf.analysis.trust.sanity import sanity
from rocm_perf.arch.catalog import find_gpu
from rocm_perf.bench.ceilings import store
from rocm_perf.errors import EmptyCaptureError
from rocm_perf.ingest import load as _load
from rocm_perf.ingest.captures.runs import with_captures
from rocm_perf.ingest.load import Loaded
from rocm_perf.model.document import Document
from rocm_perf.model.machine_ceilings import MachineCeilings
from rocm_perf.model.results.comparison import Comparison
from rocm_perf.model.time_window import TimeWindow
from rocm_perf.model.trace import Trace

if TYPE_CHECKING:
    import polars as pl

    from rocm_perf.render.notebook.inline import PageReport

Ceilings = str | PathLike[str] | None
Source = Trace | str | PathLike[str]
Captures = Sequence[str | PathLike[str]]


class Reading(NamedTuple):
    """How the files of a run are read: all of a folder as one, and beside which captures of its graphs."""

    as_one: bool = False
    captures: Sequence[Path] = ()


_EACH_RUN = Reading()


def load(path: str | PathLike[str], *, window: TimeWindow | None = None, captures: Captures = ()) -> Trace:
    """The run recorded at `path`: a file, a compressed file, a folder or a bundle; or what starts in a window of it.
    `captures` are recordings of the capture of its graphs: they say which operator owns each kernel of a replay."""
    return _load.load(Path(path), window=window, captures=_paths(captures))


def load_runs(*paths: str | PathLike[str], captures: Captures = ()) -> list[Loaded]:
    """Every run at the given paths; one that cannot be read does not affect the others."""
    return _load.load_files([Path(path) for path in paths], _paths(captures))


def simulate(
    workload: str | PathLike[str],
    device: str = "sim:MI300X",
    *,
    counters: Sequence[Sequence[str]] = (),
) -> Trace:
    """What a profiler would record of a workload file on a simulated GPU; with `counters`, pass by pass, those too."""
    from rocm_perf.sim.counters import with_counters
    from rocm_perf.sim.engine import simulate as run
    from rocm_perf.sim.gpu import find_gpu
    from rocm_perf.sim.record import record
    from rocm_perf.sim.workload import read_workload

    done = run(read_workload(Path(workload)), find_gpu(device))
    return with_counters(record(done), done, counters)


def analyze(  # noqa: PLR0913  (its options)
    recording: Source,
    *,
    grouping: Grouping = "full",
    whole: bool = False,
    ceilings: Ceilings = None,
    captures: Captures = (),
    gpu: str | None = None,
    code: Captures = (),
) -> Document:
    """Everything that `rocm-perf analyze` says of a recording: of its steady state, unless the whole is wanted.
    `ceilings` is a file of `rocm-perf ceilings`, or "none" for data sheets alone; by default, what it measured here.
    `captures` are recordings of the capture of its graphs. `gpu` names the GPU of a recording that does not. `code` are
    files with the GPU code that ran, which are read and never executed."""
    trace = named(_trace(recording, captures), gpu)
    if code:
        from rocm_perf.collect.run.device_code import with_code

        trace, _ = with_code(trace, _paths(code))
    analyse = overview if whole else examine
    return analyse(trace, _label(recording), grouping, machines=_machines(ceilings))


def compare(  # noqa: PLR0913  (its options)
    before: Source | Sequence[Source],
    after: Source | Sequence[Source],
    *,
    labels: tuple[str, str] = ("before", "after"),
    whole: bool = False,
    fail_on: Sequence[str] = (),
    gpu: str | None = None,
) -> Comparison:
    """What `rocm-perf compare` says of two programs, from one recording of each or, better, from several: a folder of
    several runs, or a list. It is about a step of the steady state where all runs have steps, unless the whole is
    wanted. Limits such as "wall>3%" are judged in the `checks` of the result. `gpu` names the GPU of recordings that do
    not."""
    expressions = [parse(text) for text in fail_on]
    gates.require_known(expressions)
    comparison = _compare(_recordings(before, gpu), _recordings(after, gpu), labels, whole=whole)
    return replace(comparison, checks=gates.judge(comparison, expressions))


def query(
    recording: Source, sql: str, *, timeout_s: float = 60.0, most_rows: int = 10_000_000
) -> pl.DataFrame:
    """The rows of a SELECT over the tables of a recording, as `rocm-perf query` has them: it reaches nothing else, and
    ends when its time is up."""
    from rocm_perf.sql.query import answer

    return answer(_trace(recording, ()), sql, timeout_s=timeout_s, most_rows=most_rows)


def recordings_of(trace: Trace, label: str) -> list[Recording]:
    """What a run is to `compare`: one recording or, where it was recorded in windows, one of each."""
    parts = recorded_parts(trace)
    if len(parts) < 2:
        return [recorded(trace, label)]
    return [recorded(part.trace, f"{label} {part.window}") for part in parts]


def recorded(trace: Trace, label: str) -> Recording:
    """A recording as `compare` takes it: with what is found in it, and what is doubtful about it."""
    document = examine(trace, label)
    return Recording(label, trace, (*document.findings, *document.coverage.holes, *sanity(trace)))


def report(
    recording: Source,
    *,
    whole: bool = False,
    ceilings: Ceilings = None,
    captures: Captures = (),
    gpu: str | None = None,
) -> PageReport:
    """The page that `rocm-perf report` writes: a notebook shows it below the cell, and `.save(path)` writes it."""
    from rocm_perf.analysis.timeline.build import timeline
    from rocm_perf.render.notebook.inline import PageReport
    from rocm_perf.render.page.page import page

    trace = named(_trace(recording, captures), gpu)
    analyse = overview if whole else examine
    document = analyse(trace, _label(recording), machines=_machines(ceilings))
    return PageReport(document.label, page(document, timeline(trace, document)))


def analyze_window(  # noqa: PLR0913  (its options)
    path: str | PathLike[str],
    window: TimeWindow,
    *,
    grouping: Grouping = "full",
    reading: Reading = _EACH_RUN,
    ceilings: Ceilings = None,
    gpu: str | None = None,
) -> Document:
    """Everything that `rocm-perf analyze --window` says about a part of a recording."""
    return _of_window(Path(path), window.alone(), grouping, reading, ceilings, gpu)


def analyze_in_parts(  # noqa: PLR0913  (its options)
    path: str | PathLike[str],
    windows: Iterable[TimeWindow],
    *,
    grouping: Grouping = "full",
    reading: Reading = _EACH_RUN,
    ceilings: Ceilings = None,
    gpu: str | None = None,
) -> Document:
    """The windows of a recording, analysed one after another, as one document: only one is in memory at a time.
    Windows in which nothing starts are passed over, unless that is all of them."""
    parts: list[tuple[TimeWindow, Document]] = []
    nothing: EmptyCaptureError | None = None
    for window in windows:
        try:
            parts.append((window, _of_window(Path(path), window, grouping, reading, ceilings, gpu)))
        except EmptyCaptureError as error:
            nothing = error
    if not parts:
        raise nothing or EmptyCaptureError(f"{path} was not divided into any part")
    return combined(parts)


def _of_window(  # noqa: PLR0913, PLR0917  (the options of both who ask)
    path: Path, window: TimeWindow, grouping: Grouping, reading: Reading, ceilings: Ceilings, gpu: str | None
) -> Document:
    trace = named(_load.load(path, as_one=reading.as_one, window=window, captures=reading.captures), gpu)
    return of_window(overview(trace, str(path), grouping, machines=_machines(ceilings)), window)


def _label(recording: Source) -> str:
    if not isinstance(recording, Trace):
        return str(recording)
    return recording.run.sources[0].path if recording.run.sources else "trace"


def _paths(captures: Captures) -> list[Path]:
    return [Path(path) for path in captures]


def _trace(recording: Source, captures: Captures) -> Trace:
    """The recording, joined with the captures."""
    if not isinstance(recording, Trace):
        return load(recording, captures=captures)
    return with_captures(recording, [], _load.load_captures(_paths(captures)))


def named(trace: Trace, gpu: str | None) -> Trace:
    """Return the recording as one of the GPU of that name, wherever it does not name its own."""
    return trace if gpu is None else with_named_gpu(trace, find_gpu(gpu))


def _recordings(sources: Source | Sequence[Source], gpu: str | None) -> list[Recording]:
    """Every run of a side; one that cannot be read is an error."""
    listed = [sources] if isinstance(sources, Trace | str | PathLike) else sources
    runs = [run for source in listed for run in _runs(source)]
    return [recording for label, trace in runs for recording in recordings_of(named(trace, gpu), label)]


def _runs(source: Source) -> Iterator[tuple[str, Trace]]:
    if isinstance(source, Trace):
        yield _label(source), source
        return
    for run in _load.load_path(Path(source)):
        if run.error:
            raise run.error
        if run.trace:
            yield run.label, run.trace


def _machines(ceilings: Ceilings) -> tuple[MachineCeilings, ...]:
    return store.chosen(None if ceilings is None else str(ceilings))
