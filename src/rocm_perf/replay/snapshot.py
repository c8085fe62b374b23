"""A snapshot: the types of its files. load.py reads one, bounds.py says what it may say, store.py has the contents."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from rocm_perf.model.results.replay import CapturedDevice, Three
from rocm_perf.model.vendor import Vendor

KIND = "rocm-perf snapshot"
VERSION = 1
MANIFEST = "manifest.json"
DISPATCH = "dispatch.json"
REGIONS = "memory_regions.json"
KERNARG = "kernarg.bin"

Stored = Literal["raw", "zstd"]


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


class Region(msgspec.Struct, frozen=True, kw_only=True):
    """One allocation of the program, or one variable of its code object."""

    base: int
    size: int
    kind: str
    device: int = 0
    name: str = ""  # of a variable
    saved: bool = True
    reason: str = ""  # why it is not saved
    # Offset and length of what the kernel wrote, in blocks of 64 KiB.
    changed: tuple[tuple[int, int], ...] = ()

    @property
    def end(self) -> int:
        """The first address behind it."""
        return self.base + self.size

    @property
    def is_global(self) -> bool:
        """A variable lies where the loader puts it, not at its captured address."""
        return self.kind == "global"

    @property
    def before(self) -> str:
        """The file with its contents before the kernel."""
        return f"memory/region_{self.base:x}.bin"

    @property
    def after(self) -> str:
        """The file with its contents after the kernel."""
        return f"after/region_{self.base:x}.bin"


class StoredFile(msgspec.Struct, frozen=True):
    """One file of the snapshot."""

    sha256: str  # of its contents, uncompressed (pieces.py says how of large ones); empty where the layout has none
    size: int  # uncompressed
    stored: Stored = "raw"
    same_as: str | None = None  # the file that holds these contents
    frames: tuple[int, ...] = ()  # sizes of the compressed pieces


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """manifest.json: where the snapshot comes from, and the hash of each of its files."""

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
        """The regions whose contents it holds."""
        return tuple(region for region in self.regions if region.saved)

    @property
    def changed(self) -> tuple[Region, ...]:
        """The saved regions that the kernel wrote to."""
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
        """Where the contents of a file of the manifest lie."""
        return self.folder / self.stored_name(name)

    def is_packed(self, name: str) -> bool:
        """Whether the contents of a file of the manifest are stored compressed."""
        return self.stored_name(name) != (self.manifest.files[name].same_as or name)
