"""A snapshot described, on any machine."""

from __future__ import annotations

from pathlib import Path

from rocm_perf.model.results.replay import RegionInfo, SnapshotInfo
from rocm_perf.replay import reading
from rocm_perf.replay.snapshot import MANIFEST, Region, Snapshot
from rocm_perf.replay.store import check, on_disk


def describe(snapshot: Snapshot) -> SnapshotInfo:
    """Everything that is known of the snapshot; every file that has a hash is read and checked."""
    checked = check(snapshot)
    manifest, dispatch = snapshot.manifest, snapshot.dispatch
    return SnapshotInfo(
        path=str(snapshot.folder),
        layout="guides" if snapshot.missing else "rocm-perf",
        producer=manifest.producer,
        created_at=manifest.created_at,
        vendor=dispatch.vendor,
        kernel=dispatch.kernel,
        name=dispatch.name,
        dispatch=dispatch.dispatch,
        launch=dispatch.launch,
        grid=dispatch.grid,
        workgroup=dispatch.workgroup,
        dynamic_lds_bytes=dispatch.dynamic_lds_bytes,
        group_segment_bytes=dispatch.group_segment_bytes,
        private_segment_bytes=dispatch.private_segment_bytes,
        kernarg_bytes=dispatch.kernarg.size,
        code_object=dispatch.code_object,
        device=dispatch.device,
        driver=dispatch.driver,
        runtime=dispatch.runtime,
        command=dispatch.command,
        raw_bytes=manifest.raw_bytes,
        stored_bytes=_stored_bytes(snapshot),
        changed_bytes=changed_bytes(snapshot),
        regions=tuple(_region(snapshot, region) for region in snapshot.regions),
        uncovered=manifest.uncovered,
        notes=manifest.notes,
        missing=snapshot.missing,
        checked_files=checked if not snapshot.missing else 0,
    )


def changed_bytes(snapshot: Snapshot) -> int | None:
    """How much the kernel wrote, in blocks of 64 KiB; None where the state after it was not saved."""
    if not snapshot.manifest.outputs:
        return None
    return sum(length for region in snapshot.changed for _, length in region.changed)


def _stored_bytes(snapshot: Snapshot) -> int:
    """What the snapshot takes on disk, each file counted once."""
    held = {snapshot.path(name) for name in snapshot.manifest.files}
    manifest = snapshot.folder / MANIFEST
    return sum(map(_taken, held)) + (0 if snapshot.missing else _taken(manifest))


def _taken(path: Path) -> int:
    """The bytes that a file takes on disk. It may have gone since it was checked."""
    try:
        return on_disk(path)
    except OSError as error:
        raise reading.unreadable(path, error) from error


def _region(snapshot: Snapshot, region: Region) -> RegionInfo:
    return RegionInfo(
        base=f"0x{region.base:x}",
        size=region.size,
        kind=region.kind,
        name=region.name,
        saved=region.saved,
        reason=region.reason,
        changed_bytes=sum(length for _, length in region.changed),
        stored_bytes=_taken(snapshot.path(region.before)) if region.saved else 0,
    )
