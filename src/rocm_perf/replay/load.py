"""Reading a snapshot, whichever layout it has. The contents of its files are not read yet."""

from __future__ import annotations

from pathlib import Path

from rocm_perf.errors import InputError
from rocm_perf.replay import bounds, reading
from rocm_perf.replay.json_files import checked_dispatch, damaged, read_json, read_manifest, read_regions
from rocm_perf.replay.legacy import read_legacy
from rocm_perf.replay.snapshot import DISPATCH, KERNARG, MANIFEST, REGIONS, Dispatch, Snapshot


def read_snapshot(folder: Path) -> Snapshot:
    """The snapshot in a folder, in our layout or in the one that guides describe."""
    is_folder = reading.is_folder(folder)
    if not is_folder:
        why = "there is no such folder" if is_folder is None else "it is not a folder"
        raise InputError(f"{folder} is not a snapshot", why, "rocm-perf capture makes one.")
    snapshot = _read_ours(folder) if reading.is_there(folder, MANIFEST) else read_legacy(folder)
    if fault := bounds.sizes_fault(snapshot):
        raise damaged(folder, fault)
    return snapshot


def _read_ours(folder: Path) -> Snapshot:
    snapshot = Snapshot(
        folder=folder,
        manifest=read_manifest(folder),
        dispatch=checked_dispatch(folder / DISPATCH, read_json(folder / DISPATCH, Dispatch)),
        regions=read_regions(folder / REGIONS),
    )
    for name in _needed(snapshot):
        if name not in snapshot.manifest.files:
            raise damaged(folder, f"its manifest does not list {name}")
    return snapshot


def _needed(snapshot: Snapshot) -> tuple[str, ...]:
    fixed = (DISPATCH, REGIONS, KERNARG, snapshot.dispatch.code_object)
    before = (region.before for region in snapshot.saved)
    after = (region.after for region in snapshot.changed)
    return (*fixed, *before, *after)
