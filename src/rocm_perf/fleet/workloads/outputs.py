"""What a run leaves under the names that users' scripts read: the files of rocprofv3, a Perfetto and a Chrome trace,
and the readings of the GPUs. The folder itself is a bundle, so that `analyze` reads it once, and fast."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from rocm_perf.analysis.timeline.derived import derived_tracks
from rocm_perf.collect.sampling.samplers import POWER_FILE, VRAM_FILE
from rocm_perf.errors import EmptyCaptureError, RocmPerfError
from rocm_perf.model import bundle
from rocm_perf.model.document import Document
from rocm_perf.model.library_trace import FILE_NAME as LIBRARY_FILE
from rocm_perf.model.schema import SCHEMAS
from rocm_perf.model.trace import Trace
from rocm_perf.render.formats import kineto, perfetto, rocpd, rocprofv3, samples_csv
from rocm_perf.render.report.files import write_documents

PERFETTO_FILE = "model_trace.pftrace"
_BESIDE = (POWER_FILE, VRAM_FILE, LIBRARY_FILE)  # written beside the recording, process by process


class Outputs(NamedTuple):
    """The files that a run has left, and why others are missing."""

    files: tuple[Path, ...]
    notices: tuple[str, ...]


def write_bundle(trace: Trace, folder: Path) -> None:
    """Make a bundle of a folder that holds other things, too; its manifest comes last."""
    draft = bundle.Draft(folder)
    for name in SCHEMAS:
        draft.append(name, trace.table(name))
    draft.finish(trace.run)


def write_outputs(trace: Trace, document: Document, raw: Path, folder: Path, name: str) -> Outputs:
    """Write every file that the recording can fill. One that cannot be written does not keep the others back."""
    writers: list[Callable[[], Iterable[Path]]] = [lambda: _copied(raw, folder)]
    if trace.rows("dispatches"):
        writers += [
            lambda: _database(trace, folder / f"{name}_results.db"),
            lambda: _tables(trace, folder, name),
            lambda: _chrome_traces(trace, folder),
            lambda: _perfetto(trace, document, folder / PERFETTO_FILE),
        ]
    writers += [lambda: _readings(trace, folder), lambda: _documents(document, folder)]
    files: list[Path] = []
    notices: list[str] = []
    for write in writers:
        try:
            files += write()
        except RocmPerfError as error:
            notices.append(f"not all files are there: {error}")
    return Outputs(files=tuple(sorted(files)), notices=tuple(notices))


def _database(trace: Trace, path: Path) -> list[Path]:
    rocpd.write(trace, path, overwrite=True)
    return [path]


def _tables(trace: Trace, folder: Path, name: str) -> Iterator[Path]:
    """CSV files as rocprofv3 writes them: of the first run of the program here, of each further one in pmc_N."""
    for number, each in enumerate(_passes(trace)):
        place = folder / f"pmc_{number}" if number else folder
        for file in rocprofv3.write_csv(each, place, name, overwrite=True):
            yield _plainly_named(file, name)


def _chrome_traces(trace: Trace, folder: Path) -> Iterator[Path]:
    """A trace of each process of the first run; its pid is in the name where there are several."""
    first = next(_passes(trace))
    pids = [process.pid for process in rocprofv3.processes_of(first)]
    for pid in pids:
        path = folder / ("trace.json" if len(pids) == 1 else f"trace_{pid}.json")
        if pid is not None and pids.count(pid) == 1:
            kineto.write(first, path, pid=pid, overwrite=True)
            yield path


def _passes(trace: Trace) -> Iterator[Trace]:
    """The runs of the program that are in a recording, one by one: each has processes of its own."""
    tables = {name: trace.table(name) for name in trace}
    by_pass = [name for name, table in tables.items() if "pass_id" in table.columns]
    for number in sorted({part.pass_id for part in rocprofv3.parts_of(trace)}):
        own = {name: tables[name].filter(pass_id=number) for name in by_pass}
        yield Trace({**tables, **own}, trace.run)


def _perfetto(trace: Trace, document: Document, path: Path) -> list[Path]:
    perfetto.write(trace, path, derived=derived_tracks(trace, document), overwrite=True)
    return [path]


def _documents(document: Document, folder: Path) -> tuple[Path, ...]:
    write_documents([document], folder, overwrite=True)
    return ()  # as analyze leaves them, too


def _plainly_named(file: Path, name: str) -> Path:
    """The file without the name of the workload: kernel_trace.csv, as scripts know it."""
    return file.replace(file.with_name(file.name.removeprefix(f"{name}_")))


def _copied(raw: Path, folder: Path) -> Iterator[Path]:
    """Readings and logged calls, which stay in the recording as well; those of several processes name the process."""
    for name in _BESIDE:
        sources = sorted(raw.rglob(name))
        for source in sources:
            prefix = f"{source.parent.name}_" if len(sources) > 1 else ""
            yield Path(shutil.copyfile(source, folder / f"{prefix}{name}"))


def _readings(trace: Trace, folder: Path) -> Iterator[Path]:
    """Power and memory as the recording itself has them, where no sampler has written them."""
    for write, name in ((samples_csv.write_power, POWER_FILE), (samples_csv.write_vram, VRAM_FILE)):
        path = folder / name
        if trace.has("samples") and not path.exists():
            with suppress(EmptyCaptureError):  # the recording has other readings
                write(trace, path)
                yield path
