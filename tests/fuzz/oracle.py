"""What may come of any input: a Part, or an error of ours with a sentence for the user. All else is a finding."""

from __future__ import annotations

import traceback
from pathlib import Path

from rocm_perf.errors import RocmPerfError, SchemaError
from rocm_perf.ingest.io.source import Source, sources_of
from rocm_perf.ingest.part import Adapter, Part
from rocm_perf.ingest.peek import Peek
from rocm_perf.ingest.sniff import sniff

_MOST_MEMBERS = 20  # of a zip


def trouble(file: Path, adapter: Adapter | None = None) -> BaseException | None:
    """What reading the file raised and must not. Without an adapter, the one that claims the file reads it."""
    try:
        sources = sources_of(file)[:_MOST_MEMBERS]
    except RocmPerfError:
        return None
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001
        return error
    return next(filter(None, (_trouble_of(source, adapter) for source in sources)), None)


def _trouble_of(source: Source, adapter: Adapter | None) -> BaseException | None:
    try:
        if adapter and not adapter.claims(Peek(source)):
            return None
        outcome: object = (adapter or sniff(source)).read(source)
    except SchemaError as error:  # the one error of ours that is never the user's fault
        return error
    except RocmPerfError:
        return None
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001  (a panic of Polars is no Exception)
        return error
    return None if isinstance(outcome, Part) else TypeError(f"{outcome!r} instead of a Part")


def place(error: BaseException) -> str:
    """Where in our code it happened; two findings with the same place are one."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "rocm_perf" in frame.filename]
    where = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "outside of rocm_perf"
    return f"{type(error).__name__} at {where}"
