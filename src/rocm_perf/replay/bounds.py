"""What a snapshot may say. It is data from a stranger, and replaying it runs a GPU kernel: nothing else may happen. So
every word and every number that is used is bounded here, once. Each function gives what is wrong, or an empty text."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Iterable, Iterator
from math import prod
from pathlib import PurePosixPath

from rocm_perf.model.results.replay import CapturedDevice
from rocm_perf.replay.pieces import PIECE, count_of
from rocm_perf.replay.snapshot import Dispatch, Manifest, Region, Snapshot, StoredFile

_ADDRESSES = 1 << 57  # of a process, with five levels of pages
_MEMORY = 4 << 40  # bytes, of all GPUs of a program together: eight of 288 GiB have 2.25 TiB
_LOWEST = 32 << 20  # of memory that comes back: a reservation is of whole granules, and must not begin at 0
_NUMBERS = 1 << 63
_REGIONS = 1 << 20
_GRID_AMD = (1 << 32) - 1  # work-items along an axis: an AQL packet has 32 bits
_GRID_NVIDIA = ((1 << 31) - 1, 65535, 65535)  # blocks: CUDA C++ Programming Guide, technical specifications
_WORKGROUP = 1024  # work-items, of either vendor
_CLUSTER = 1024  # blocks; the hardware has 16
_SEGMENT = 1 << 31  # LDS and scratch: drivers take an int
_KERNARG = 64 << 10
_CODE_OBJECT = 4 << 30
_FRAME = 2 * PIECE  # what does not compress grows a little
_SHA256 = re.compile(r"[0-9a-f]{64}")
_MEMORY_FILE = re.compile(r"(memory|after)/region_[0-9a-f]+\.bin")


def cropped(value: object) -> str:
    """What a file says, short enough for a message."""
    return reprlib.repr(value)


def is_word(text: str) -> bool:
    """Whether a text can stand in a line of words, and on a terminal."""
    return bool(text) and text.isprintable() and " " not in text


def is_inside(name: str) -> bool:
    """Whether a name stays inside of the snapshot's folder."""
    path = PurePosixPath(name)
    return (
        bool(path.parts)
        and str(path) == name
        and not path.is_absolute()
        and ".." not in path.parts
        and name.isprintable()
    )


def launch_fault(dispatch: Dispatch) -> str:
    """What is impossible about the launch in dispatch.json; empty if nothing is."""
    return next(_launch_faults(dispatch), "")


def _launch_faults(dispatch: Dispatch) -> Iterator[str]:
    if not is_word(dispatch.kernel):
        yield f"{cropped(dispatch.kernel)} is not the name of a kernel"
    if not is_inside(dispatch.code_object):
        yield f"{cropped(dispatch.code_object)} is not the name of a code object"
    yield from _device_faults(dispatch.device)
    if not _can_run(dispatch):
        yield f"a grid of {cropped(dispatch.grid)} by {cropped(dispatch.workgroup)} cannot run"
    if (
        not all(size >= 1 for size in dispatch.attributes.cluster)
        or prod(dispatch.attributes.cluster) > _CLUSTER
    ):
        yield f"there is no cluster of {cropped(dispatch.attributes.cluster)}"
    for name in ("dynamic_lds_bytes", "group_segment_bytes", "private_segment_bytes"):
        if not 0 <= getattr(dispatch, name) < _SEGMENT:
            yield f"{name} is {cropped(getattr(dispatch, name))}"
    for name in ("dispatch", "launch"):
        if not 0 <= (getattr(dispatch, name) or 0) < _NUMBERS:
            yield f"{name} is {cropped(getattr(dispatch, name))}"
    yield from _argument_faults(dispatch)


def _device_faults(device: CapturedDevice) -> Iterator[str]:
    if device.gfx and not is_word(device.gfx):
        yield f"{cropped(device.gfx)} is not the name of a GPU's instruction set"
    if not 0 <= device.index < _NUMBERS or not 0 <= (device.memory_bytes or 0) < _NUMBERS:
        yield "there is no such device"


def _can_run(dispatch: Dispatch) -> bool:
    grid, workgroup = dispatch.grid, dispatch.workgroup
    if not all(size >= 1 for size in (*grid, *workgroup)) or prod(workgroup) > _WORKGROUP:
        return False
    if dispatch.vendor == "AMD":
        return all(size <= _GRID_AMD for size in grid)
    axes = zip(grid, workgroup, _GRID_NVIDIA, strict=True)
    return all(size % group == 0 and size // group <= most for size, group, most in axes)


def _argument_faults(dispatch: Dispatch) -> Iterator[str]:
    kernarg = dispatch.kernarg
    if not 0 <= kernarg.size <= _KERNARG:
        yield f"there can be no arguments of {cropped(kernarg.size)} bytes"
    if len(dispatch.parameters) > _KERNARG or not all(
        one.offset >= 0 and one.size >= 0 and one.offset + one.size <= kernarg.size
        for one in dispatch.parameters
    ):
        yield "a parameter lies outside of the kernel's arguments"


def regions_fault(regions: Iterable[Region]) -> str:
    """What is impossible about regions that are in the order of addresses; empty if nothing is."""
    last, count, total = 0, 0, 0
    for count, region in enumerate(regions, 1):  # noqa: B007
        if not _can_be(region):
            return f"there can be no such region at 0x{region.base:x}"
        if region.saved and region.is_global and not is_word(region.name):
            return f"{cropped(region.name)} is not the name of a variable"
        total += region.size if region.saved else 0
        if total > _MEMORY:
            return f"no GPU has the {cropped(total)} bytes of its regions"
        if region.is_global or not region.saved:
            continue
        if region.base < last:
            return f"two regions overlap at 0x{region.base:x}"
        last = region.end
    return f"it has {count:,} regions" if count > _REGIONS else ""


def _can_be(region: Region) -> bool:
    """Whether there can be such a region. What was not saved is only listed, even without a known address."""
    if not region.saved:
        return 0 <= region.base < 2 * _NUMBERS and 0 <= region.size < 2 * _NUMBERS
    lowest = 1 if region.is_global else _LOWEST
    return region.base >= lowest and region.size > 0 and region.end <= _ADDRESSES and _are_in_order(region)


def _are_in_order(region: Region) -> bool:
    """Whether the spans that the kernel wrote lie one behind the other in the region."""
    at = 0
    for offset, length in region.changed:
        if offset < at or length <= 0:
            return False
        at = offset + length
    return at <= region.size


def manifest_fault(manifest: Manifest) -> str:
    """What is impossible about manifest.json; empty if nothing is."""
    return next(_manifest_faults(manifest), "")


def _manifest_faults(manifest: Manifest) -> Iterator[str]:
    if not 0 <= manifest.raw_bytes < _NUMBERS or not 0 <= manifest.stored_bytes < _NUMBERS:
        yield "manifest.json gives impossible sizes"
    if sum(max(0, entry.size) for entry in manifest.files.values() if entry.same_as is None) > 2 * _MEMORY:
        yield "its files are larger than any GPU's memory, before the kernel and after it"
    for name, entry in manifest.files.items():
        if not is_inside(name):
            yield f"its manifest lists {cropped(name)}"
        elif not _SHA256.fullmatch(entry.sha256) or not 0 <= entry.size < _NUMBERS:
            yield f"its manifest gives no size or no hash of {name}"
        elif entry.same_as is not None and not _is_held(entry, manifest.files.get(entry.same_as)):
            yield f"{name} should be the same as {cropped(entry.same_as)}, which is not so"
        elif not _is_in_pieces(name, entry):
            yield f"the compressed pieces of {name} do not make up its {entry.size:,} bytes"


def _is_held(entry: StoredFile, holder: StoredFile | None) -> bool:
    return (
        holder is not None
        and holder.same_as is None
        and (holder.sha256, holder.size) == (entry.sha256, entry.size)
    )


def _is_in_pieces(name: str, entry: StoredFile) -> bool:
    """Whether the pieces fit the file. Compressed ones are unpacked to their own names: those of memory alone."""
    if entry.stored == "raw" or entry.same_as is not None:
        return not entry.frames
    return (
        _MEMORY_FILE.fullmatch(name) is not None
        and len(entry.frames) == count_of(entry.size)
        and all(0 < frame <= _FRAME for frame in entry.frames)
    )


def sizes_fault(snapshot: Snapshot) -> str:
    """Where a file has another size than dispatch.json or memory_regions.json say; empty if none has."""
    files, dispatch = snapshot.manifest.files, snapshot.dispatch
    expected = [("kernarg.bin", dispatch.kernarg.size)]
    expected += [(region.before, region.size) for region in snapshot.saved]
    expected += [(region.after, region.size) for region in snapshot.changed]
    for name, size in expected:
        if files[name].size != size:
            return f"{name} holds {files[name].size} bytes of {size}"
    if files[dispatch.code_object].size > _CODE_OBJECT:
        return f"{dispatch.code_object} is far too large"
    return ""
