"""Recording on a disk of the node itself: a database on a shared file system is slow, and may not lock."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

from rocm_perf.collect.run.layout import Place, RunFolder
from rocm_perf.errors import OutputError


def scratch_folder(scratch: str, place: Place, folder: Path) -> Path:
    """Where a process records whose recording is to lie in `folder`: there, or at the same place below the scratch."""
    return Path(scratch) / folder.relative_to(place.output) if scratch else folder


def move(working: Path, home: RunFolder) -> None:
    """Move a recording from the scratch to where it is to lie; what cannot be moved stays."""
    try:
        shutil.copytree(working, home.below, dirs_exist_ok=True)
    except (OSError, shutil.Error) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise OutputError(f"cannot move the recording to {home.path}", why, f"It is in {working}.") from error
    shutil.rmtree(working, ignore_errors=True)
    with suppress(OSError):  # other ranks of the node may still be there
        working.parent.rmdir()
        working.parent.parent.rmdir()
