"""From the draft that the captured program wrote to a snapshot: checked, hashed, compressed, and only then named."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path

from rocm_perf.errors import OutputError, UsageError
from rocm_perf.replay import json_files
from rocm_perf.replay.load import read_snapshot
from rocm_perf.replay.snapshot import (
    DISPATCH,
    KERNARG,
    KIND,
    MANIFEST,
    REGIONS,
    VERSION,
    Dispatch,
    Manifest,
    Region,
    Snapshot,
    StoredFile,
)
from rocm_perf.replay.store import on_disk, pack_all
from rocm_perf.text import encode_json
from rocm_perf.units import format_bytes, format_count
from rocm_perf.version import __version__

Say = Callable[[str], None]


@dataclass(frozen=True)
class Making:
    """How a snapshot is made."""

    compress: bool = True
    outputs: bool = True  # whether the state after the kernel was looked at
    notes: tuple[str, ...] = ()
    force: bool = False  # replaces a snapshot that has the name already


@contextmanager
def draft_beside(output: Path) -> Iterator[Path]:
    """A folder on the snapshot's own disk for the time of the capture; nothing of it stays."""
    draft = output.absolute().with_name(f".{output.name}.{secrets.token_hex(8)}.partial")
    try:
        draft.parent.mkdir(parents=True, exist_ok=True)
        draft.mkdir()
    except OSError as error:
        raise OutputError(f"cannot write {output}", error.strerror or str(error)) from error
    try:
        yield draft
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def refuse_existing(output: Path, force: bool) -> None:
    """Refuse a name that is taken: only a snapshot is replaced, and only when asked for."""
    if not os.path.lexists(output):
        return
    if not force:
        raise UsageError(
            f"{output} exists already", next_step="Choose another name, or add --force to replace it."
        )
    if not os.path.isfile(output / MANIFEST):
        raise UsageError(f"{output} is not a snapshot", "--force replaces only those", "Choose another name.")


def finish(draft: Path, output: Path, making: Making, say: Say) -> Snapshot:
    """The snapshot at `output`; the draft goes into it. Where the disk fills up, nothing is left of either."""
    try:
        dispatch, regions = _described(draft)
        say(_size_text(draft, regions, making.compress))
        names = _names(draft, dispatch, regions)
        stored = pack_all(draft, names, compress=making.compress)
        manifest = _manifest(draft, dispatch, regions, stored, making)
        _write_manifest(draft, manifest)
        (draft / "capture.json").unlink(missing_ok=True)
        snapshot = read_snapshot(draft)  # before it gets its name: what cannot be read is not kept
        _put_in_place(draft, output, making.force)
    except OSError as error:
        raise OutputError(
            f"the snapshot {output} cannot be written",
            error.strerror or str(error),
            "Nothing of it was kept.",
        ) from error
    return replace(snapshot, folder=output)


def _described(draft: Path) -> tuple[Dispatch, tuple[Region, ...]]:
    path = draft / DISPATCH
    dispatch = json_files.checked_dispatch(path, json_files.read_json(path, Dispatch))
    return dispatch, json_files.read_regions(draft / REGIONS)


def _names(draft: Path, dispatch: Dispatch, regions: tuple[Region, ...]) -> list[str]:
    """The files of the snapshot. One that should be there and is not ends the capture."""
    saved = [region for region in regions if region.saved]
    memory = [region.before for region in saved] + [region.after for region in saved if region.changed]
    names = [DISPATCH, REGIONS, KERNARG, dispatch.code_object, *memory]
    for name in names:
        if not (draft / name).is_file():
            raise OutputError("the capture is incomplete", f"{name} was not written")
    for name in _left_over(draft, set(names)):
        (draft / name).unlink()
    return names


def _left_over(draft: Path, wanted: set[str]) -> list[str]:
    """Files that are not wanted, such as the state after the kernel of a region that it did not change."""
    present = [
        file.relative_to(draft).as_posix()
        for part in ("memory", "after")
        for file in (draft / part).glob("*")
    ]
    return [name for name in present if name not in wanted]


def _size_text(draft: Path, regions: tuple[Region, ...], compress: bool) -> str:
    saved = [region for region in regions if region.saved]
    raw = sum(region.size for region in saved)
    taken = sum(
        min(region.size, on_disk(draft / region.before))  # a file takes whole blocks of the disk
        for region in saved
        if (draft / region.before).is_file()
    )
    how = "compressing them" if compress else "keeping them raw"
    return f"{format_count(len(saved), 'region')}, {format_bytes(raw)} ({format_bytes(taken)} of it not zero); {how}"


def _manifest(
    draft: Path,
    dispatch: Dispatch,
    regions: tuple[Region, ...],
    stored: dict[str, StoredFile],
    making: Making,
) -> Manifest:
    return Manifest(
        kind=KIND,
        version=VERSION,
        producer=f"rocm-perf {__version__}",
        created_at=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        vendor=dispatch.vendor,
        device=dispatch.device,
        driver=dispatch.driver,
        command=dispatch.command,
        kernel=dispatch.kernel,
        name=dispatch.name,
        grid=dispatch.grid,
        workgroup=dispatch.workgroup,
        outputs=making.outputs,
        raw_bytes=_raw_bytes(regions, stored),
        stored_bytes=sum(on_disk(file) for file in draft.rglob("*") if file.is_file()),
        files=stored,
        uncovered=tuple(_uncovered(region) for region in regions if not region.saved),
        notes=making.notes,
    )


def _raw_bytes(regions: tuple[Region, ...], stored: dict[str, StoredFile]) -> int:
    """The size of all contents. Of the state after the kernel only what it wrote counts: the rest are holes."""
    written = sum(length for region in regions for _, length in region.changed if region.saved)
    return written + sum(entry.size for name, entry in stored.items() if not name.startswith("after/"))


def _uncovered(region: Region) -> str:
    return f"{region.kind} memory at 0x{region.base:x}, {format_bytes(region.size)}: {region.reason or 'not saved'}"


def _write_manifest(draft: Path, manifest: Manifest) -> None:
    """Write the manifest with its own digest, so that a change of the manifest itself is seen as well."""
    plain = encode_json(manifest)
    own = json_files.digest(plain, "")
    mark = b'"sha256": ""'
    head, _, tail = plain.rpartition(mark)
    with (draft / MANIFEST).open("wb") as file:
        file.write(head + mark[:-1] + own.encode() + b'"' + tail)
        file.flush()
        os.fsync(file.fileno())


def _put_in_place(draft: Path, output: Path, force: bool) -> None:
    """Give the draft its name; a snapshot that had it goes away after that. Another capture may take the name at any
    moment: a rename does not replace a folder that holds something."""
    for folder in (draft / "memory", draft / "after", draft):
        _sync_folder(folder)
    old: list[Path] = []
    try:
        while not _takes_name(draft, output):
            refuse_existing(output, force)
            old += _set_aside(output)
    finally:
        if old and not os.path.lexists(output):
            old.pop().rename(output)
        for one in old:
            _remove(one)
    _sync_folder(output.absolute().parent)


def _takes_name(draft: Path, output: Path) -> bool:
    try:
        draft.rename(output)
    except OSError:
        if not os.path.lexists(output):
            raise
        return False
    return True


def _set_aside(output: Path) -> list[Path]:
    """Rename what has the name, and return its new one; nothing where somebody else was quicker."""
    old = output.with_name(f".{output.name}.{secrets.token_hex(8)}.old")
    try:
        output.rename(old)
    except FileNotFoundError:
        return []
    return [old]


def _remove(old: Path) -> None:
    """Remove an old snapshot; of a link to one, only the link."""
    if old.is_symlink():
        old.unlink()
    else:
        shutil.rmtree(old, ignore_errors=True)


def _sync_folder(folder: Path) -> None:
    if not folder.is_dir():
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
