"""The snapshot on disk: its files' types, and reading them. bounds.py says what they may say; contents of regions are
read and checked in store.py."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

import msgspec

from rocm_perf.errors import InputError
from rocm_perf.model.results.replay import CapturedDevice, Three, Vendor
from rocm_perf.replay import bounds, reading
from rocm_perf.replay.errors import NewerVersionError

KIND = "rocm-perf snapshot"
VERSION = 1
MANIFEST = "manifest.json"
DISPATCH = "dispatch.json"
REGIONS = "memory_regions.json"
KERNARG = "kernarg.bin"
_MOST_BYTES = 256 << 20  # of a JSON file
_SHA256_DIGITS = 64
_TOLD = 200  # characters of why a file cannot be decoded: it may quote the file

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

    def stored_name(self, name: str) -> str:
        """The file that holds the contents of one of the manifest. What a user has unpacked is as good."""
        holder = self.manifest.files[name].same_as or name
        if self.manifest.files[holder].stored == "raw":
            return holder
        packed = f"{holder}.zst"
        is_plain = os.path.exists(self.folder / holder) and not os.path.exists(self.folder / packed)
        return holder if is_plain else packed

    def path(self, name: str) -> Path:
        return self.folder / self.stored_name(name)

    def is_packed(self, name: str) -> bool:
        return self.stored_name(name) != (self.manifest.files[name].same_as or name)


def number(text: int | str) -> int:
    """An address as the files write it: 0x7f.., or decimal."""
    try:
        value = text if isinstance(text, int) else int(text, 0)
    except ValueError:
        value = -1
    if not 0 <= value < 1 << 64:
        raise ValueError(f"{bounds.cropped(text)} is not an address")
    return value


def read_snapshot(folder: Path) -> Snapshot:
    """The snapshot in a folder, in our layout or in the one that guides describe."""
    is_folder = reading.is_folder(folder)
    if not is_folder:
        why = "there is no such folder" if is_folder is None else "it is not a folder"
        raise InputError(f"{folder} is no snapshot", why, "rocm-perf capture makes one.")
    if reading.is_there(folder, MANIFEST):
        snapshot = _read_ours(folder)
    else:
        from rocm_perf.replay.legacy import read_legacy

        snapshot = read_legacy(folder)
    _refuse(folder, bounds.sizes_fault(snapshot))
    return snapshot


def _refuse(folder: Path, fault: str) -> None:
    if fault:
        raise InputError(f"the snapshot {folder} is damaged", fault)


def _read_ours(folder: Path) -> Snapshot:
    manifest = read_manifest(folder)
    dispatch = checked_dispatch(folder / DISPATCH, read_json(folder / DISPATCH, Dispatch))
    regions = read_regions(folder / REGIONS)
    snapshot = Snapshot(folder, manifest, dispatch, regions)
    for name in _needed(snapshot):
        if name not in manifest.files:
            _refuse(folder, f"its manifest does not list {name}")
    return snapshot


def _needed(snapshot: Snapshot) -> tuple[str, ...]:
    fixed = (DISPATCH, REGIONS, KERNARG, snapshot.dispatch.code_object)
    before = (region.before for region in snapshot.saved)
    after = (region.after for region in snapshot.changed)
    return (*fixed, *before, *after)


def read_manifest(folder: Path) -> Manifest:
    path = folder / MANIFEST
    data = reading.contents(folder, MANIFEST, _MOST_BYTES)
    label = _decoded(path, data, _Label)
    if label.kind != KIND:
        raise InputError(f"{path} is not of a snapshot", f"its kind is {bounds.cropped(label.kind)}")
    if label.version > VERSION:
        raise NewerVersionError(
            f"the snapshot {folder} has version {bounds.cropped(label.version)}",
            f"this rocm-perf reads up to {VERSION}",
            "Upgrade: pip install -U rocm-perf",
        )
    manifest = _decoded(path, data, Manifest)
    if len(manifest.sha256) != _SHA256_DIGITS or digest(data, manifest.sha256) != manifest.sha256:
        _refuse(folder, "manifest.json is not as it was written")
    _refuse(folder, bounds.manifest_fault(manifest))
    return manifest


def digest(manifest: bytes, own: str) -> str:
    """Of a manifest's bytes without the digits of its own digest."""
    return hashlib.sha256(manifest.replace(own.encode(), b"") if own else manifest).hexdigest()


def checked_dispatch(path: Path, dispatch: Dispatch) -> Dispatch:
    """Refused where a launch cannot have been so. The address of the arguments becomes a number."""
    fault = bounds.launch_fault(dispatch)
    if fault:
        raise InputError(f"{path} is damaged", fault)
    kernarg = dispatch.kernarg
    address = None if kernarg.address is None else _address(path, kernarg.address)
    return msgspec.structs.replace(dispatch, kernarg=Kernarg(kernarg.size, address))


def read_regions(path: Path) -> tuple[Region, ...]:
    """memory_regions.json, in the order of addresses; regions that overlap are refused."""
    entries = read_json(path, _RegionList).regions
    found = (
        Region(**{**msgspec.structs.asdict(entry), "base": _address(path, entry.base)}) for entry in entries
    )
    regions = tuple(sorted(found, key=lambda region: (region.base, region.end)))
    fault = bounds.regions_fault(regions)
    if fault:
        raise InputError(f"{path} is damaged", fault)
    return regions


def _address(path: Path, text: int | str) -> int:
    try:
        return number(text)
    except ValueError as error:
        raise InputError(f"{path} is damaged", str(error)) from error


def read_json(path: Path, kind: type[Struct]) -> Struct:
    return _decoded(path, reading.contents(path.parent, path.name, _MOST_BYTES), kind)


def _decoded(path: Path, data: bytes, kind: type[Struct]) -> Struct:
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{path} is damaged", str(error)[:_TOLD]) from error
