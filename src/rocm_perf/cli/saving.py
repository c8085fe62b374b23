"""Results kept in the history of the working directory."""

from __future__ import annotations

from rocm_perf.bench.history.records import SavedRun
from rocm_perf.bench.history.store import History
from rocm_perf.bench.results import save_aside
from rocm_perf.cli.output import say
from rocm_perf.errors import OutputError, RocmPerfError


def save_run(run: SavedRun) -> None:
    """Add the run to the history; if that cannot be written, nothing that was measured is lost."""
    history = History()
    try:
        history.add_run(run)
    except RocmPerfError as error:
        path = save_aside(run.result)
        raise OutputError(
            f"{str(error).rstrip('.')}. The result itself is in {path}",
            next_step=f"Later: rocm-perf history add {path}",
        ) from error
    say(f"kept in {history.path}")
