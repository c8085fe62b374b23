"""How `rocm-perf export` writes each form; every writer says what it wrote."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from rocm_perf.errors import UsageError
from rocm_perf.model.trace import Trace

if TYPE_CHECKING:
    from rocm_perf.model.bundle import Manifest


@dataclass(frozen=True)
class Wish:
    """What the user wants to have written."""

    form: str
    output: Path
    force: bool
    table: str | None
    pid: int | None
    split_bytes: int | None
    recorded_only: bool
    whole: bool


def write(trace: Trace, wish: Wish) -> str:
    """Write the recording, and say what was written."""
    return _WRITERS[wish.form](trace, wish)


def _table(trace: Trace, wish: Wish) -> str:
    from rocm_perf.render.formats.tables import write_table

    name = _chosen(trace, wish.table)
    write_table(trace.table(name), wish.output, wish.form, overwrite=wish.force)
    return f"wrote {wish.output}: {trace.rows(name):,} rows of {name}"


def _chosen(trace: Trace, table: str | None) -> str:
    tables = list(trace)
    if table is None:
        table = "dispatches" if "dispatches" in tables or not tables else tables[0]
    if table not in tables:
        raise UsageError(
            f"the recording has no rows of {table!r}",
            next_step=f"Choose with --table: {', '.join(tables) or 'none'}.",
        )
    return table


def _bundle(trace: Trace, wish: Wish) -> str:
    from rocm_perf.model import bundle

    return of_bundle(wish.output, bundle.write(trace, wish.output, overwrite=wish.force))


def of_bundle(folder: Path, manifest: Manifest) -> str:
    """What was written as a bundle."""
    rows = sum(entry.rows for entry in manifest.tables.values())
    return f"wrote the bundle {folder}: {len(manifest.tables)} tables, {rows:,} rows"


def _json(trace: Trace, wish: Wish) -> str:
    from rocm_perf.render.formats.tables import write_json

    write_json(trace, wish.output, overwrite=wish.force)
    return f"wrote {wish.output}: {', '.join(trace)}"


def _torch(trace: Trace, wish: Wish) -> str:
    from rocm_perf.render.formats import kineto

    kineto.write(trace, wish.output, pid=wish.pid, overwrite=wish.force)
    return f"wrote {wish.output}"


def _perfetto(trace: Trace, wish: Wish) -> str:
    from rocm_perf import api
    from rocm_perf.analysis.timeline.derived import derived_tracks
    from rocm_perf.model.derived import NOTHING_DERIVED
    from rocm_perf.render.formats import perfetto

    derived = NOTHING_DERIVED if wish.recorded_only else derived_tracks(trace, api.analyze(trace))
    if wish.split_bytes is None:
        perfetto.write(trace, wish.output, derived=derived, overwrite=wish.force)
        return f"wrote {wish.output}"
    paths = perfetto.write_parts(trace, wish.output, wish.split_bytes, derived=derived, overwrite=wish.force)
    if len(paths) == 1:
        return f"wrote {wish.output}, which is small enough to stay whole"
    return f"wrote {len(paths)} parts, {paths[0]} to {paths[-1].name}; what starts in a stretch of time is in its part"


def _folded(trace: Trace, wish: Wish) -> str:
    from rocm_perf.analysis.program.stacks import gpu_stacks
    from rocm_perf.render.formats import folded

    stacks = gpu_stacks(trace)
    if not stacks:
        raise UsageError(
            "there is nothing to fold", "the recording holds no kernels and no copies with times"
        )
    folded.write(stacks, wish.output, overwrite=wish.force)
    return f"wrote {wish.output}: {len(stacks):,} stacks, in nanoseconds of GPU time"


def _prometheus(trace: Trace, wish: Wish) -> str:
    from rocm_perf import api
    from rocm_perf.render.formats import prometheus

    prometheus.write(api.analyze(trace), wish.output, overwrite=wish.force)
    return f"wrote {wish.output}"


def _sheets(trace: Trace, wish: Wish) -> str:
    from rocm_perf import api
    from rocm_perf.render.formats.workbook import write_folder, write_workbook
    from rocm_perf.render.sheets.index import sheets

    made = sheets(api.analyze(trace, whole=wish.whole))
    if wish.output.suffix.lower() == ".xlsx":
        write_workbook(made, wish.output, overwrite=wish.force)
    else:
        write_folder(made, wish.output, overwrite=wish.force)
    return f"wrote {wish.output}: {', '.join(sheet.name for sheet in made)}"


def _tool(module: str, function: str = "write") -> Callable[[Trace, Wish], str]:
    """A writer of a tool's own format, imported when it is used."""

    def write(trace: Trace, wish: Wish) -> str:
        writer = getattr(import_module(f"rocm_perf.render.formats.{module}"), function)
        writer(trace, wish.output, overwrite=wish.force)
        return f"wrote {wish.output}"

    return write


def _rocprofv3_csv(trace: Trace, wish: Wish) -> str:
    from rocm_perf.cli.arguments import new_folder
    from rocm_perf.render.formats import rocprofv3

    files = rocprofv3.write_csv(trace, new_folder(str(wish.output)), "out", overwrite=wish.force)
    return f"wrote {wish.output}: {', '.join(file.name for file in files)}"


_WRITERS: dict[str, Callable[[Trace, Wish], str]] = {
    "bundle": _bundle,
    "parquet": _table,
    "csv": _table,
    "json": _json,
    "rocpd": _tool("rocpd"),
    "rpd": _tool("rpd"),
    "perfetto": _perfetto,
    "speedscope": _tool("speedscope"),
    "folded": _folded,
    "prometheus": _prometheus,
    "sheets": _sheets,
    "torch": _torch,
    "rocprofv3-csv": _rocprofv3_csv,
    "rocprofv3-json": _tool("rocprofv3_json"),
    "rocprof-csv": _tool("rocprof_v1", "write_csv"),
    "rocprof-json": _tool("rocprof_v1", "write_json"),
}
