"""The JSON files of a snapshot, decoded and checked."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TypeVar

import msgspec

from rocm_perf.errors import InputError
from rocm_perf.replay import bounds, reading
from rocm_perf.replay.errors import NewerVersionError
from rocm_perf.replay.snapshot import KIND, MANIFEST, VERSION, Dispatch, Kernarg, Manifest, Region

_MOST_BYTES = 256 << 20  # of a JSON file
_SHA256_DIGITS = 64
_REASON_LENGTH = 200  # characters of why a file cannot be decoded: it may quote the file

Struct = TypeVar("Struct", bound=msgspec.Struct)


class _Label(msgspec.Struct, frozen=True):
    """What a manifest of every version holds."""

    kind: str
    version: int


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


def read_json(path: Path, kind: type[Struct]) -> Struct:
    """A JSON file of a snapshot as the given type."""
    return _decoded(path, reading.contents(path.parent, path.name, _MOST_BYTES), kind)


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a snapshot of ours, with its own hash checked."""
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
        raise damaged(folder, "manifest.json is not as it was written")
    if fault := bounds.manifest_fault(manifest):
        raise damaged(folder, fault)
    return manifest


def digest(manifest: bytes, own: str) -> str:
    """The hash of a manifest's bytes without the digits of its own digest."""
    return hashlib.sha256(manifest.replace(own.encode(), b"") if own else manifest).hexdigest()


def checked_dispatch(path: Path, dispatch: Dispatch) -> Dispatch:
    """The launch with the address of its arguments as a number; refused where it is impossible."""
    if fault := bounds.launch_fault(dispatch):
        raise InputError(f"{path} is damaged", fault)
    kernarg = dispatch.kernarg
    address = None if kernarg.address is None else _address(path, kernarg.address)
    return msgspec.structs.replace(dispatch, kernarg=Kernarg(kernarg.size, address))


def read_regions(path: Path) -> tuple[Region, ...]:
    """The regions of memory_regions.json in the order of addresses; refused where saved ones overlap."""
    entries = read_json(path, _RegionList).regions
    regions = sorted((_region(path, entry) for entry in entries), key=lambda one: (one.base, one.end))
    if fault := bounds.regions_fault(regions):
        raise InputError(f"{path} is damaged", fault)
    return tuple(regions)


def number(text: int | str) -> int:
    """An address as the files write it: 0x7f.., or decimal."""
    try:
        value = text if isinstance(text, int) else int(text, 0)
    except ValueError:
        value = -1
    if not 0 <= value < 1 << 64:
        raise ValueError(f"{bounds.cropped(text)} is not an address")
    return value


def damaged(folder: Path, fault: str) -> InputError:
    """The error for a snapshot that does not hold together."""
    return InputError(f"the snapshot {folder} is damaged", fault)


def _region(path: Path, entry: _RegionEntry) -> Region:
    return Region(**{**msgspec.structs.asdict(entry), "base": _address(path, entry.base)})


def _address(path: Path, text: int | str) -> int:
    try:
        return number(text)
    except ValueError as error:
        raise InputError(f"{path} is damaged", str(error)) from error


def _decoded(path: Path, data: bytes, kind: type[Struct]) -> Struct:
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{path} is damaged", str(error)[:_REASON_LENGTH]) from error
