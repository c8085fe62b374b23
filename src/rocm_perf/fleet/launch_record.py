"""The record of a launch, beside the recordings of its ranks: what was started, how it ended, what each rank left."""

from __future__ import annotations

from pathlib import Path

import msgspec

from rocm_perf.errors import InputError
from rocm_perf.files import write_whole
from rocm_perf.fleet.job import Job
from rocm_perf.fleet.launcher import Launched
from rocm_perf.fleet.ranks import RankRow
from rocm_perf.model.collection import LAUNCH_FILE_NAME
from rocm_perf.text import encode_json
from rocm_perf.version import __version__

SCHEMA_VERSION = 1


class LaunchRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A launch."""

    kind: str = "rocm-perf launch"
    schema_version: int = SCHEMA_VERSION
    producer: str = f"rocm-perf {__version__}"
    launcher: str
    job: Job
    launched: Launched | None = None  # None: under way
    ranks: tuple[RankRow, ...] = ()
    missing: tuple[int, ...] = ()  # ranks that left nothing


def write_launch(record: LaunchRecord) -> None:
    """Replace the record in the folder of the run."""
    text = encode_json(record) + b"\n"
    path = record.job.launch_folder / LAUNCH_FILE_NAME
    write_whole(path, lambda draft: draft.write_bytes(text), overwrite=True, durable=True)


def read_launch(folder: Path) -> LaunchRecord:
    """The record in the folder of a run. The folder may have been moved since."""
    file = folder / "launch" / LAUNCH_FILE_NAME
    try:
        record = msgspec.json.decode(file.read_bytes(), type=LaunchRecord)
    except OSError as error:
        raise InputError(
            f"{folder} is not the folder of a launch", error.strerror or str(error), "Name OUTPUT/RUN_ID."
        ) from error
    except msgspec.MsgspecError as error:
        raise InputError(f"cannot read {file}", str(error)) from error
    place = folder.absolute()
    return msgspec.structs.replace(
        record, job=msgspec.structs.replace(record.job, output=str(place.parent), run_id=place.name)
    )
