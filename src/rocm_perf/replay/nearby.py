"""The snapshot that is meant where none is named, as in guides: the one here."""

from __future__ import annotations

from pathlib import Path

from rocm_perf.errors import UsageError
from rocm_perf.replay.snapshot import DISPATCH, REGIONS

USUAL_NAME = "isolate_capture"
_LISTED = 5


def nearby_snapshot(folder: Path) -> Path:
    """The folder of the usual name below this one, or the only snapshot there; refused where that leaves a choice."""
    if (folder / USUAL_NAME).is_dir():
        return folder / USUAL_NAME
    snapshots = _snapshots_in(folder)
    if len(snapshots) == 1:
        return snapshots[0]
    next_step = "Name one: rocm-perf replay TASK SNAP"
    if not snapshots:
        raise UsageError("no snapshot is named", f"there is none here, nor a folder {USUAL_NAME}", next_step)
    names = ", ".join(one.name for one in snapshots[:_LISTED])
    more = f" and {len(snapshots) - _LISTED} more" if len(snapshots) > _LISTED else ""
    raise UsageError("no snapshot is named", f"there are several here: {names}{more}", next_step)


def _snapshots_in(folder: Path) -> list[Path]:
    try:
        return sorted(place for place in folder.iterdir() if _is_snapshot(place))
    except OSError as error:
        why = f"this folder cannot be listed: {error.strerror or error}"
        raise UsageError("no snapshot is named", why, "Name one: rocm-perf replay TASK SNAP") from error


def _is_snapshot(place: Path) -> bool:
    """Whether a folder has the two files that every layout has. Drafts of captures begin with a dot."""
    is_visible = not place.name.startswith(".")
    return is_visible and all((place / name).is_file() for name in (DISPATCH, REGIONS))
