"""Captures without a manifest, in the layout that guides describe: dispatch.json, kernarg.bin, kernel.hsaco,
memory_regions.json, memory/region_<base>.bin. They hold no hashes, and no state after the kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from rocm_perf.arch.codeobject import reader as codeobject
from rocm_perf.errors import InputError, RocmPerfError
from rocm_perf.model.results.replay import CapturedDevice, Three
from rocm_perf.replay import reading
from rocm_perf.replay.json_files import checked_dispatch, read_json, read_regions
from rocm_perf.replay.snapshot import (
    DISPATCH,
    KERNARG,
    KIND,
    MANIFEST,
    REGIONS,
    VERSION,
    Dispatch,
    Kernarg,
    Manifest,
    Region,
    Snapshot,
    StoredFile,
)

CODE_OBJECT = "kernel.hsaco"
_AXES = 3


class _Launch(msgspec.Struct, frozen=True, kw_only=True):
    """dispatch.json, as such tools write it; what does not describe the launch may be missing."""

    mangled_name: str = ""
    kernel_name: str = ""
    demangled_name: str = ""
    isa_name: str = ""  # amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-
    agent_name: str = ""
    grid: tuple[int, ...]  # work-items, as in the packet
    block: tuple[int, ...]
    group_segment_size: int = 0
    private_segment_size: int = 0
    kernarg_address: int | str | None = None
    kernel_object: int | str | None = None
    dispatch_index: int = 0  # counted from 0
    rocm_version: str = ""


class _OurLaunch(msgspec.Struct, frozen=True):
    """What only our own dispatch.json has."""

    vendor: Any = None
    code_object: Any = None


def read_legacy(folder: Path) -> Snapshot:
    """Such a capture as a snapshot, with a list of what it lacks."""
    if not reading.is_there(folder, DISPATCH) and not reading.is_there(folder, REGIONS):
        raise InputError(f"{folder} is not a snapshot", f"it has neither {MANIFEST} nor {DISPATCH}")
    _refuse_ours(folder)
    launch = read_json(folder / DISPATCH, _Launch)
    # Without the state after the kernel, what the file may say of it cannot be used.
    regions = tuple(msgspec.structs.replace(one, changed=()) for one in read_regions(folder / REGIONS))
    files = _files(folder, regions)
    dispatch = checked_dispatch(folder / DISPATCH, _dispatch(folder, launch, files[KERNARG].size))
    return Snapshot(
        folder=folder,
        manifest=_manifest(folder, dispatch, files),
        dispatch=dispatch,
        regions=regions,
        missing=tuple(_missing(dispatch)),
    )


def _refuse_ours(folder: Path) -> None:
    launch = read_json(folder / DISPATCH, _OurLaunch)
    if launch.vendor is not None and launch.code_object is not None:
        raise InputError(
            f"the snapshot {folder} is incomplete", f"{MANIFEST} is missing", "Copy or capture it again."
        )


def _files(folder: Path, regions: tuple[Region, ...]) -> dict[str, StoredFile]:
    names = (DISPATCH, REGIONS, KERNARG, CODE_OBJECT, *(region.before for region in regions if region.saved))
    return {name: StoredFile("", reading.size_of(folder, name)) for name in names}


def _dispatch(folder: Path, launch: _Launch, kernarg_bytes: int) -> Dispatch:
    if max(len(launch.grid), len(launch.block)) > _AXES:
        raise InputError(f"{folder / DISPATCH} is damaged", f"a grid has {_AXES} axes at most")
    kernel = (launch.mangled_name or launch.kernel_name).removesuffix(".kd")
    return Dispatch(
        vendor="AMD",
        kernel=kernel,
        name=launch.demangled_name.removesuffix(".kd") or kernel,
        dispatch=launch.dispatch_index + 1,
        grid=_three(launch.grid),
        workgroup=_three(launch.block),
        dynamic_lds_bytes=_dynamic_lds(folder, kernel, launch.group_segment_size),
        group_segment_bytes=launch.group_segment_size,
        private_segment_bytes=launch.private_segment_size,
        kernarg=Kernarg(kernarg_bytes, launch.kernarg_address),
        device=CapturedDevice(name=launch.agent_name, gfx=_gfx(launch)),
        runtime=f"ROCm {launch.rocm_version}" if launch.rocm_version else "",
        kernel_object=launch.kernel_object,
        code_object=CODE_OBJECT,
    )


def _dynamic_lds(folder: Path, kernel: str, whole: int) -> int:
    """What the launch had beyond what the code declares; a replay adds it to what its own code declares."""
    if whole <= 0:
        return 0
    try:
        objects = codeobject.read(folder / CODE_OBJECT)
    except RocmPerfError:  # the loader will say more
        return 0
    declared = [one.lds_bytes for code in objects for one in code.kernels if one.name == kernel]
    return max(0, whole - declared[0]) if declared else 0


def _three(sizes: tuple[int, ...]) -> Three:
    x, y, z = (*sizes, 1, 1, 1)[:_AXES]
    return (x, y, z)


def _gfx(launch: _Launch) -> str:
    """The instruction set, gfx942, out of either name; empty if neither has it."""
    isa = launch.isa_name.rpartition("--")[2] or launch.agent_name
    gfx = isa.partition(":")[0]
    return gfx if gfx.startswith("gfx") else ""


def _missing(dispatch: Dispatch) -> list[str]:
    missing = [
        "hashes: damage cannot be seen",
        "the state after the kernel: a replay can be timed, but not verified",
        "what the kernel writes: all memory is restored before each iteration",
        "module variables: they begin as the code object has them",
    ]
    if not dispatch.device.gfx:
        missing.append("the GPU: whether the code fits this one shows when it is loaded")
    if dispatch.kernarg.address is None:
        missing.append("the address of the kernel's arguments: they are put elsewhere")
    return missing


def _manifest(folder: Path, dispatch: Dispatch, files: dict[str, StoredFile]) -> Manifest:
    size = sum(entry.size for entry in files.values())
    return Manifest(
        kind=KIND,
        version=VERSION,
        producer="",
        created_at="",
        vendor=dispatch.vendor,
        device=dispatch.device,
        driver="",
        command=(),
        kernel=dispatch.kernel,
        name=dispatch.name,
        grid=dispatch.grid,
        workgroup=dispatch.workgroup,
        outputs=False,
        raw_bytes=size,
        stored_bytes=size,
        files=files,
        notes=(f"{folder.name} is in the layout that guides describe",),
    )
