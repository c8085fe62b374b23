"""Captures without a manifest, in the layout that guides describe: dispatch.json, kernarg.bin, kernel.hsaco,
memory_regions.json, memory/region_<base>.bin. They hold no hashes, and no state after the kernel."""

from __future__ import annotations

from pathlib import Path

import msgspec

from rocm_perf.errors import InputError
from rocm_perf.model.results.replay import CapturedDevice, Three
from rocm_perf.replay.snapshot import (
    DISPATCH,
    KERNARG,
    KIND,
    REGIONS,
    VERSION,
    Dispatch,
    Kernarg,
    Manifest,
    Region,
    Snapshot,
    StoredFile,
    checked_dispatch,
    number,
    read_json,
    read_regions,
)

CODE_OBJECT = "kernel.hsaco"


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


def read_legacy(folder: Path) -> Snapshot:
    """Such a capture as a snapshot, with what it lacks."""
    if not (folder / DISPATCH).is_file() and not (folder / REGIONS).is_file():
        raise InputError(f"{folder} is no snapshot", f"it has neither manifest.json nor {DISPATCH}")
    launch = read_json(folder / DISPATCH, _Launch)
    regions = read_regions(folder / REGIONS)
    files = _files(folder, regions)
    dispatch = checked_dispatch(folder / DISPATCH, _dispatch(launch, files[KERNARG].size))
    missing = tuple(_missing(dispatch))
    return Snapshot(folder, _manifest(folder, dispatch, files), dispatch, regions, missing)


def _files(folder: Path, regions: tuple[Region, ...]) -> dict[str, StoredFile]:
    names = (DISPATCH, REGIONS, KERNARG, CODE_OBJECT, *(region.before for region in regions if region.saved))
    return {name: StoredFile("", _size(folder, name)) for name in names}


def _size(folder: Path, name: str) -> int:
    try:
        return (folder / name).stat().st_size
    except OSError as error:
        raise InputError(f"the capture {folder} is incomplete", f"{name} is missing") from error


def _dispatch(launch: _Launch, kernarg_bytes: int) -> Dispatch:
    kernel = (launch.mangled_name or launch.kernel_name).removesuffix(".kd")
    address = launch.kernarg_address
    return Dispatch(
        vendor="AMD",
        kernel=kernel,
        name=launch.demangled_name.removesuffix(".kd") or kernel,
        dispatch=launch.dispatch_index + 1,
        grid=_three(launch.grid),
        workgroup=_three(launch.block),
        group_segment_bytes=launch.group_segment_size,
        private_segment_bytes=launch.private_segment_size,
        kernarg=Kernarg(kernarg_bytes, None if address is None else number(address)),
        device=CapturedDevice(name=launch.agent_name, gfx=_gfx(launch)),
        runtime=f"ROCm {launch.rocm_version}" if launch.rocm_version else "",
        kernel_object=launch.kernel_object,
        code_object=CODE_OBJECT,
    )


def _three(sizes: tuple[int, ...]) -> Three:
    x, y, z = (*sizes, 1, 1, 1)[:3]
    return (x, y, z)


def _gfx(launch: _Launch) -> str:
    """gfx942 of either name."""
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
