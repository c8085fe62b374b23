"""The runner's PLAN: a snapshot and what to do with it, as lines of words. Pure: nothing here reads or runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from rocm_perf.errors import UsageError
from rocm_perf.model.results.replay import Three
from rocm_perf.model.vendor import Vendor
from rocm_perf.replay.json_files import number
from rocm_perf.replay.snapshot import KERNARG, Region, Snapshot

# Of reservations. CUDA's driver 580.159 gave what was asked for at multiples of 32 MiB, and elsewhere within them not.
GRANULES: Mapping[Vendor, int] = {"AMD": 2 << 20, "NVIDIA": 32 << 20}
COLD_CACHE_BYTES = 512 << 20  # written before each iteration: twice the largest cache of the catalogue
CAPTURED = "captured"  # the label of the snapshot's own code

Mode = Literal["reserve", "run"]
Range = tuple[int, int]  # base, size


@dataclass(frozen=True)
class Sizes:
    """How many work-items are launched, in all and in each workgroup."""

    grid: Three
    workgroup: Three


@dataclass(frozen=True)
class Code:
    """A code object to launch the kernel from."""

    label: str  # one word
    path: Path
    sizes: Sizes | None = None  # of its own launches; None: as captured


@dataclass(frozen=True)
class Poison:
    """Memory to be filled before the launch."""

    address: int
    size: int
    byte: int


@dataclass(frozen=True)
class Options:
    """What to do with the snapshot."""

    mode: Mode = "run"
    device: int = 0
    codes: tuple[Code, ...] = ()  # none: the captured one
    iterations: int = 1
    warmup: int = 0
    recopy: bool = True
    cold_cache: bool = False
    launch: bool = True
    grid: Three | None = None  # None: as captured
    poison: tuple[Poison, ...] = ()
    dumps: tuple[Region, ...] = ()  # whole regions, to dump_path
    swap: Mapping[int, Path] = field(
        default_factory=dict
    )  # by a region's base: its contents for the last launch


def plan_text(snapshot: Snapshot, files: Mapping[str, Path], work: Path, options: Options) -> str:
    """The PLAN. `files` says where the raw contents of the snapshot's files lie."""
    return "".join(f"{_one_line(line)}\n" for line in _lines(snapshot, files, work, options))


def _one_line(text: str) -> str:
    """The text, refused where it has a line break: the runner would take what follows for another instruction. What a
    snapshot says is single words (bounds.py), so it can only be in a path."""
    if "\n" not in text:
        return text
    why = f"the runner's plan cannot hold {text!r}"
    raise UsageError("a path has a line break in it", why, "Move or rename the file or folder.")


def dump_path(work: Path, region: Region) -> Path:
    """Where the runner puts a region's memory after the last iteration."""
    return work / "dump" / f"region_{region.base:x}.bin"


def reservations(regions: Iterable[Region], granule: int) -> list[Range]:
    """Ranges of whole granules that hold the regions, merged where they meet, in the order of addresses."""
    merged: list[Range] = []
    for region in sorted(regions, key=lambda region: region.base):
        start = region.base // granule * granule
        end = -(-region.end // granule) * granule
        if merged and start <= sum(merged[-1]):
            base, size = merged[-1]
            merged[-1] = (base, max(base + size, end) - base)
        else:
            merged.append((start, end - start))
    return merged


def _lines(snapshot: Snapshot, files: Mapping[str, Path], work: Path, options: Options) -> Iterator[str]:
    mapped = [region for region in snapshot.saved if not region.is_global]
    yield "version 1"
    yield f"mode {options.mode}"
    yield f"device {options.device}"
    if snapshot.dispatch.device.gfx:
        yield f"isa {snapshot.dispatch.device.gfx}"
    for base, size in reservations(mapped, GRANULES[snapshot.dispatch.vendor]):
        yield f"reserve 0x{base:x} {size}"
    if options.mode == "reserve":
        return
    yield from _memory(snapshot, files, mapped, options.recopy)
    for region in mapped:
        if region.base in options.swap:
            yield f"swap 0x{region.base:x} {region.size} 0 {options.swap[region.base]}"
    yield from _kernel(snapshot, files, mapped, options)
    yield f"warmup {options.warmup}"
    yield f"iterations {options.iterations}"
    yield f"recopy {int(options.recopy)}"
    yield f"cold_cache {COLD_CACHE_BYTES if options.cold_cache else 0}"
    yield f"launch {int(options.launch)}"
    for spot in options.poison:
        yield f"poison 0x{spot.address:x} {spot.size} {spot.byte}"
    for region in options.dumps:
        if region.is_global:
            yield f"dump_global {region.name} {region.size} {dump_path(work, region)}"
        else:
            yield f"dump 0x{region.base:x} {region.size} {dump_path(work, region)}"


def _memory(
    snapshot: Snapshot, files: Mapping[str, Path], mapped: list[Region], recopy: bool
) -> Iterator[str]:
    for region in mapped:
        yield f"load 0x{region.base:x} {region.size} 0 {files[region.before]}"
    for region in snapshot.saved:
        if region.is_global:
            yield f"global {region.name} {region.size} {files[region.before]}"
    if not recopy:
        return
    for region in mapped:
        # Without the state after the kernel nobody knows what it writes: then it may be everything.
        spans = region.changed if snapshot.manifest.outputs else ((0, region.size),)
        for offset, size in spans:
            yield f"restore 0x{region.base + offset:x} {size} {offset} {files[region.before]}"


def _kernel(
    snapshot: Snapshot, files: Mapping[str, Path], mapped: list[Region], options: Options
) -> Iterator[str]:
    dispatch = snapshot.dispatch
    for code in options.codes or (Code(CAPTURED, files[dispatch.code_object]),):
        yield f"code {code.label} {code.path}"
        if code.sizes is not None:
            yield f"sizes {code.label} {_spaced(code.sizes.grid)} {_spaced(code.sizes.workgroup)}"
    yield f"kernel {dispatch.kernel}"
    yield f"kernarg {_kernarg_place(snapshot, mapped)} {dispatch.kernarg.size} {files[KERNARG]}"
    yield f"grid {_spaced(options.grid or dispatch.grid)}"
    yield f"workgroup {_spaced(dispatch.workgroup)}"
    yield f"dynamic_lds {dispatch.dynamic_lds_bytes}"
    yield f"group_segment {dispatch.group_segment_bytes}"
    yield f"private_segment {dispatch.private_segment_bytes}"
    yield f"cooperative {int(dispatch.attributes.cooperative)}"
    yield f"cluster {_spaced(dispatch.attributes.cluster)}"
    if dispatch.parameters:
        pairs = (f"{parameter.offset}:{parameter.size}" for parameter in dispatch.parameters)
        yield f"parameters {' '.join(pairs)}"


def _kernarg_place(snapshot: Snapshot, mapped: list[Region]) -> str:
    """The address of the arguments, where that is part of the memory that comes back; else a dash."""
    kernarg = snapshot.dispatch.kernarg
    if kernarg.address is None:
        return "-"
    address = number(kernarg.address)
    inside = any(region.base <= address and address + kernarg.size <= region.end for region in mapped)
    return f"0x{address:x}" if inside else "-"


def _spaced(sizes: Three) -> str:
    return " ".join(map(str, sizes))
