"""The snapshot on disk: its files' types, and reading them. Contents of regions are read and checked in store.py."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

import msgspec

from rocm_perf.errors import InputError
from rocm_perf.model.results.replay import CapturedDevice, Three, Vendor
from rocm_perf.replay.errors import NewerVersionError

KIND = "rocm-perf snapshot"
VERSION = 1
MANIFEST = "manifest.json"
DISPATCH = "dispatch.json"
REGIONS = "memory_regions.json"
KERNARG = "kernarg.bin"
_MOST_BYTES = 256 << 20  # of a JSON file
_SHA256_DIGITS = 64

Stored = Literal["raw", "zstd"]
Struct = TypeVar("Struct", bound=msgspec.Struct)


class Kernarg(msgspec.Struct, frozen=True):
    """The kernel's arguments, as one block."""

    size: int
    address: int | str | None = None  # where the block lay; None: the runtime keeps it to itself


class Parameter(msgspec.Struct, frozen=True):
    """Where one argument lies in the block."""

    offset: int
    size: int


class Attributes(msgspec.Struct, frozen=True):
    """How the launch differed from a plain one."""

    cooperative: bool = False
    cluster: Three = (1, 1, 1)


class Dispatch(msgspec.Struct, frozen=True, kw_only=True):
    """dispatch.json: the captured launch."""

    version: int = VERSION
    vendor: Vendor
    kernel: str  # the symbol, without .kd
    name: str = ""  # demangled
    dispatch: int = 1  # among those that matched
    launch: int | None = None  # among all
    grid: Three  # work-items
    workgroup: Three
    dynamic_lds_bytes: int = 0
    group_segment_bytes: int = 0
    private_segment_bytes: int = 0
    kernarg: Kernarg
    parameters: tuple[Parameter, ...] = ()
    device: CapturedDevice = CapturedDevice()
    driver: str = ""
    runtime: str = ""
    attributes: Attributes = Attributes()
    kernel_object: int | str | None = None
    code_object: str
    pid: int | None = None
    command: tuple[str, ...] = ()


class _RegionEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A region as memory_regions.json has it."""

    base: int | str
    size: int
    kind: str = "device"
    device: int = 0
    name: str = ""
    saved: bool = True
    reason: str = ""
    changed: tuple[tuple[int, int], ...] = ()


class _RegionList(msgspec.Struct, frozen=True):
    version: int = VERSION
    regions: tuple[_RegionEntry, ...] = ()


class Region(msgspec.Struct, frozen=True, kw_only=True):
    """One allocation of the program, or one variable of its code object."""

    base: int
    size: int
    kind: str
    device: int = 0
    name: str = ""  # of a variable
    saved: bool = True
    reason: str = ""  # why it is not saved
    changed: tuple[
        tuple[int, int], ...
    ] = ()  # offset and length of what the kernel wrote, in blocks of 64 KiB

    @property
    def end(self) -> int:
        return self.base + self.size

    @property
    def is_global(self) -> bool:
        """A variable lies where the loader puts it, not at its captured address."""
        return self.kind == "global"

    @property
    def before(self) -> str:
        return f"memory/region_{self.base:x}.bin"

    @property
    def after(self) -> str:
        return f"after/region_{self.base:x}.bin"


class StoredFile(msgspec.Struct, frozen=True):
    """One file of the snapshot."""

    sha256: str  # of its contents, uncompressed (pieces.py says how of large ones); empty where the layout has none
    size: int  # uncompressed
    stored: Stored = "raw"
    same_as: str | None = None  # the file that holds these contents
    frames: tuple[int, ...] = ()  # sizes of the compressed pieces


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """manifest.json."""

    kind: str
    version: int
    producer: str
    created_at: str
    vendor: Vendor
    device: CapturedDevice
    driver: str
    command: tuple[str, ...]
    kernel: str
    name: str
    grid: Three
    workgroup: Three
    outputs: bool  # whether the state after the kernel was looked at
    raw_bytes: int
    stored_bytes: int
    files: dict[str, StoredFile]
    uncovered: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    sha256: str = ""  # of this file with these digits taken out


class _Label(msgspec.Struct, frozen=True):
    """What a manifest of every version holds."""

    kind: str
    version: int


@dataclass(frozen=True)
class Snapshot:
    """A snapshot as it lies on disk. Contents are not read yet."""

    folder: Path
    manifest: Manifest
    dispatch: Dispatch
    regions: tuple[Region, ...]
    missing: tuple[str, ...] = ()  # what this layout does not hold

    @property
    def saved(self) -> tuple[Region, ...]:
        return tuple(region for region in self.regions if region.saved)

    @property
    def changed(self) -> tuple[Region, ...]:
        return tuple(region for region in self.saved if region.changed)

    def path(self, name: str) -> Path:
        """Where the contents of a file of the manifest lie. A file that a user has unpacked is as good."""
        holder = self.manifest.files[name].same_as or name
        plain, packed = self.folder / holder, self.folder / f"{holder}.zst"
        is_packed = self.manifest.files[holder].stored == "zstd"
        return packed if is_packed and (packed.exists() or not plain.exists()) else plain


def number(text: int | str) -> int:
    """An address as the files write it: 0x7f.., or decimal."""
    try:
        return text if isinstance(text, int) else int(text, 0)
    except ValueError as error:
        raise InputError(f"{text!r} is not an address") from error


def read_snapshot(folder: Path) -> Snapshot:
    """The snapshot in a folder, in our layout or in the one that guides describe."""
    if not folder.is_dir():
        why = "it is not a folder" if folder.exists() else "there is no such folder"
        raise InputError(f"{folder} is no snapshot", why, "rocm-perf capture makes one.")
    if (folder / MANIFEST).exists():
        snapshot = _read_ours(folder)
    else:
        from rocm_perf.replay.legacy import read_legacy

        snapshot = read_legacy(folder)
    for region in snapshot.saved:
        size = snapshot.manifest.files[region.before].size
        if size != region.size:
            why = f"{region.before} holds {size} bytes of {region.size}"
            raise InputError(f"the snapshot {folder} is damaged", why)
    return snapshot


def _read_ours(folder: Path) -> Snapshot:
    manifest = read_manifest(folder)
    dispatch = checked_dispatch(folder / DISPATCH, read_json(folder / DISPATCH, Dispatch))
    regions = read_regions(folder / REGIONS)
    snapshot = Snapshot(folder, manifest, dispatch, regions)
    for name in _needed(snapshot):
        if name not in manifest.files:
            raise InputError(f"the snapshot {folder} is damaged", f"its manifest does not list {name}")
    return snapshot


def _needed(snapshot: Snapshot) -> tuple[str, ...]:
    fixed = (DISPATCH, REGIONS, KERNARG, snapshot.dispatch.code_object)
    before = (region.before for region in snapshot.saved)
    after = (region.after for region in snapshot.changed)
    return (*fixed, *before, *after)


def read_manifest(folder: Path) -> Manifest:
    path = folder / MANIFEST
    data = _bytes(path)
    label = _decoded(path, data, _Label)
    if label.kind != KIND:
        raise InputError(f"{path} is not of a snapshot", f"its kind is {label.kind!r}")
    if label.version > VERSION:
        raise NewerVersionError(
            f"the snapshot {folder} has version {label.version}",
            f"this rocm-perf reads up to {VERSION}",
            "Upgrade: pip install -U rocm-perf",
        )
    manifest = _decoded(path, data, Manifest)
    if len(manifest.sha256) != _SHA256_DIGITS or digest(data, manifest.sha256) != manifest.sha256:
        raise InputError(f"the snapshot {folder} is damaged", "manifest.json is not as it was written")
    for name, entry in manifest.files.items():
        if not _is_inside(name) or (entry.same_as is not None and entry.same_as not in manifest.files):
            raise InputError(f"the snapshot {folder} is damaged", f"its manifest lists {name!r}")
    return manifest


def digest(manifest: bytes, own: str) -> str:
    """Of a manifest's bytes without the digits of its own digest."""
    return hashlib.sha256(manifest.replace(own.encode(), b"") if own else manifest).hexdigest()


def checked_dispatch(path: Path, dispatch: Dispatch) -> Dispatch:
    """Refused where a launch cannot have been so."""
    if not all(size > 0 for size in (*dispatch.grid, *dispatch.workgroup)):
        raise InputError(
            f"{path} is damaged", f"a grid of {dispatch.grid} by {dispatch.workgroup} cannot run"
        )
    if (
        not _is_inside(dispatch.code_object)
        or not dispatch.kernel
        or dispatch.kernel.split() != [dispatch.kernel]
    ):
        raise InputError(f"{path} is damaged", "it names no kernel or no code object")
    return dispatch


def read_regions(path: Path) -> tuple[Region, ...]:
    """memory_regions.json, in the order of addresses; regions that overlap are refused."""
    entries = read_json(path, _RegionList).regions
    regions = sorted((_region(entry) for entry in entries), key=lambda region: (region.base, region.end))
    last: Region | None = None
    for region in regions:
        if (
            region.size <= 0
            or region.base <= 0
            or any(not _lies_in(span, region.size) for span in region.changed)
        ):
            raise InputError(f"{path} is damaged", f"there can be no such region at 0x{region.base:x}")
        if region.is_global or not region.saved:
            continue
        if last is not None and region.base < last.end:
            raise InputError(f"{path} is damaged", f"two regions overlap at 0x{region.base:x}")
        last = region
    return tuple(regions)


def _region(entry: _RegionEntry) -> Region:
    return Region(**{**msgspec.structs.asdict(entry), "base": number(entry.base)})


def _lies_in(span: tuple[int, int], size: int) -> bool:
    offset, length = span
    return offset >= 0 and length > 0 and offset + length <= size


def _is_inside(name: str) -> bool:
    """A name of a snapshot's file cannot lead out of its folder."""
    parts = Path(name).parts
    return bool(parts) and not name.startswith("/") and ".." not in parts and "\n" not in name


def read_json(path: Path, kind: type[Struct]) -> Struct:
    return _decoded(path, _bytes(path), kind)


def _bytes(path: Path) -> bytes:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise InputError(f"{path} is damaged", "it is far too large")
        return path.read_bytes()
    except FileNotFoundError as error:
        raise InputError(f"the snapshot {path.parent} is incomplete", f"{path.name} is missing") from error
    except OSError as error:
        raise InputError(f"cannot read {path}", error.strerror or str(error)) from error


def _decoded(path: Path, data: bytes, kind: type[Struct]) -> Struct:
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{path} is damaged", str(error)) from error
