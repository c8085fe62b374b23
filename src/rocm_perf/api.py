"""The package from Python: what the command line does, as functions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path

from rocm_perf.analysis.overview import examine, overview
from rocm_perf.analysis.parts.combine import combined, of_window
from rocm_perf.analysis.time.hotspots import Grouping
from rocm_perf.bench.ceilings import store
from rocm_perf.errors import EmptyCaptureError
from rocm_perf.ingest import load as _load
from rocm_perf.ingest.load import Loaded
from rocm_perf.model.document import Document
from rocm_perf.model.machine_ceilings import MachineCeilings
from rocm_perf.model.time_window import TimeWindow
from rocm_perf.model.trace import Trace

Ceilings = str | PathLike[str] | None


def load(path: str | PathLike[str], *, window: TimeWindow | None = None) -> Trace:
    """The run recorded at `path`: a file, a compressed file, a folder or a bundle; or what starts in a window of it."""
    return _load.load(Path(path), window=window)


def load_runs(*paths: str | PathLike[str]) -> list[Loaded]:
    """Every run at the given paths; one that cannot be read does not affect the others."""
    return _load.load_files([Path(path) for path in paths])


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


def analyze(
    recording: Trace | str | PathLike[str],
    *,
    grouping: Grouping = "full",
    whole: bool = False,
    ceilings: Ceilings = None,
) -> Document:
    """Everything that `rocm-perf analyze` says of a recording: of its steady state, unless the whole is wanted.
    `ceilings` is a file of `rocm-perf ceilings`, or "none" for data sheets alone; by default, what it measured here."""
    trace, label = _labelled(recording)
    analyse = overview if whole else examine
    return analyse(trace, label, grouping, machines=_machines(ceilings))


def report(
    recording: Trace | str | PathLike[str],
    path: str | PathLike[str] | None = None,
    *,
    whole: bool = False,
    ceilings: Ceilings = None,
) -> str:
    """The page that `rocm-perf report` writes, as HTML; with `path`, it is written there, too."""
    from rocm_perf.analysis.timeline.build import timeline
    from rocm_perf.files import write_whole
    from rocm_perf.render.page.page import page

    trace, label = _labelled(recording)
    analyse = overview if whole else examine
    document = analyse(trace, label, machines=_machines(ceilings))
    text = page(document, timeline(trace, document))
    if path is not None:
        write_whole(Path(path), lambda draft: draft.write_text(text, encoding="utf-8"), overwrite=True)
    return text


def analyze_window(
    path: str | PathLike[str],
    window: TimeWindow,
    *,
    grouping: Grouping = "full",
    as_one: bool = False,
    ceilings: Ceilings = None,
) -> Document:
    """Everything that `rocm-perf analyze --window` says about a part of a recording."""
    trace = _load.load(Path(path), as_one=as_one, window=window)
    return of_window(overview(trace, str(path), grouping, machines=_machines(ceilings)), window)


def analyze_in_parts(
    path: str | PathLike[str],
    windows: Iterable[TimeWindow],
    *,
    grouping: Grouping = "full",
    as_one: bool = False,
    ceilings: Ceilings = None,
) -> Document:
    """The windows of a recording, analysed one after another, as one document: only one is in memory at a time.
    Windows in which nothing starts are passed over, unless that is all of them."""
    parts: list[tuple[TimeWindow, Document]] = []
    nothing: EmptyCaptureError | None = None
    for window in windows:
        try:
            document = analyze_window(path, window, grouping=grouping, as_one=as_one, ceilings=ceilings)
            parts.append((window, document))
        except EmptyCaptureError as error:
            nothing = error
    if not parts:
        raise nothing or EmptyCaptureError(f"{path} was not divided into any part")
    return combined(parts)


def _labelled(recording: Trace | str | PathLike[str]) -> tuple[Trace, str]:
    """The recording, and what it is called."""
    if isinstance(recording, Trace):
        return recording, recording.run.sources[0].path if recording.run.sources else "trace"
    return load(recording), str(recording)


def _machines(ceilings: Ceilings) -> tuple[MachineCeilings, ...]:
    return store.chosen(None if ceilings is None else str(ceilings))
