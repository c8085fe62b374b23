"""A runner without a GPU: the captured kernel's machine code is executed on the snapshot's memory by the CPU."""

from __future__ import annotations

import os
import shutil
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from rocm_perf.errors import InputError, NotSupportedError, OutputError, UsageError
from rocm_perf.model.results.replay import Three
from rocm_perf.replay.errors import KernelFailedError, OtherGpuError, ReplayTimeoutError
from rocm_perf.replay.json_files import number
from rocm_perf.replay.plan import Poison, dump_path
from rocm_perf.replay.run import Answer, Ended, RanOn, Variable
from rocm_perf.replay.runner import TMPDIR, Runner, Task
from rocm_perf.replay.snapshot import KERNARG, Region, Snapshot
from rocm_perf.softgpu import answer as softgpu
from rocm_perf.softgpu import plan as emulator
from rocm_perf.softgpu.build import emulator as build_emulator
from rocm_perf.softgpu.code import LoadedCode, load_code
from rocm_perf.softgpu.errors import EmulationError, EmulationTimeoutError
from rocm_perf.softgpu.run import execute

NO_TIMES = "emulation has no times"
_PAGE = 4096
_LOWEST = 1 << 32  # where memory of our own may lie
_CHUNK = 1 << 20
_PACKET_BYTES = 64
_KERNEL_DISPATCH = 2  # the type of an AQL packet (HSA runtime specification)


def emulating_runner(snapshot: Snapshot) -> Runner:
    """The runner for an AMD snapshot; compiled unless that was done before."""
    if snapshot.dispatch.vendor != "AMD":
        raise NotSupportedError(
            "only AMD kernels can be emulated",
            f"this is one of {snapshot.dispatch.vendor}",
            "Leave out --emulate.",
        )
    build_emulator()
    return Emulator()


@dataclass(frozen=True)
class Emulator:
    """Executes a task's launch once, in a process of its own."""

    _loaded: dict[Path, LoadedCode] = field(default_factory=dict, repr=False)

    def __call__(self, task: Task, timeout_s: float) -> Ended:
        options = task.options
        if options.iterations != 1 or options.warmup or options.swap:
            raise UsageError(NO_TIMES, next_step="replay verify --emulate says whether results are right.")
        code = self.code(task)
        try:
            (task.work / "dump").mkdir(exist_ok=True)
            if options.launch:
                self.execute(task, code, emulator.Options(threads=_threads(), timeout_s=timeout_s))
            else:
                _leave_as_loaded(task)
        except OSError as error:
            why = error.strerror or str(error)
            raise OutputError("the result of the replay cannot be written", why, TMPDIR) from error
        variables = tuple(
            Variable(region.name, hex(code.symbols[region.name])) for region in _globals(task.snapshot)
        )
        device = RanOn(name="emulated", gfx=code.arch)
        return Ended(0, Answer(state="done", device=device, variables=variables), "")

    def code(self, task: Task) -> LoadedCode:
        """The code object that the task launches, as a loader leaves it, with the captured values of its variables."""
        chosen = (
            task.options.codes[0].path
            if task.options.codes
            else task.files[task.snapshot.dispatch.code_object]
        )
        if chosen not in self._loaded:
            self._loaded[chosen] = _loaded(task, chosen)
        return self._loaded[chosen]

    def execute(self, task: Task, code: LoadedCode, options: emulator.Options) -> softgpu.Answer:
        """What the emulator says of the launch; the dumps that the task asks for are written."""
        mapped = [region for region in task.snapshot.saved if not region.is_global]
        regions = [emulator.Region(region.base, region.size, _contents(task, region)) for region in mapped]
        kernarg, packet = _own_memory(task, code)
        emulation = emulator.Emulation(
            code=code,
            dispatch=_launch(task, code, kernarg.base, packet.base),
            regions=(*regions, *(own for own in (kernarg, packet) if own.file)),
            dumps=tuple(_dumps(task, code)),
            options=options,
        )
        try:
            return execute(emulation, task.work)
        except EmulationTimeoutError as error:
            raise ReplayTimeoutError(
                f"the emulation did not end within {options.timeout_s:g} s, and was ended",
                error.why,
                "--timeout S gives it longer.",
            ) from error
        except EmulationError as error:
            raise KernelFailedError(error.what, error.why, error.next_step) from error


def workgroups_of(grid: Three, workgroup: Three) -> int:
    """How many workgroups a grid has."""
    x, y, z = (-(-size // group) for size, group in zip(grid, workgroup, strict=True))
    return x * y * z


def _threads() -> int:
    return os.cpu_count() or 1


def _loaded(task: Task, path: Path) -> LoadedCode:
    snapshot = task.snapshot
    image = path.read_bytes()
    code = load_code(image, _LOWEST, path.name)
    if snapshot.dispatch.device.gfx not in ("", code.arch):  # some layouts do not say
        what = f"{path.name} is made for {code.arch}"
        raise OtherGpuError(what, f"the kernel was captured on {snapshot.dispatch.device.gfx}")
    code.kernel(snapshot.dispatch.kernel)
    code = load_code(image, _place(snapshot, code), path.name)
    memory = bytearray(code.memory)
    for region in _globals(snapshot):
        if region.name not in code.symbols:
            raise InputError(f"{path.name} has no variable {region.name}", "the captured code object has one")
        at = code.symbols[region.name] - code.base
        memory[at : at + region.size] = task.files[region.before].read_bytes()
    return replace(code, memory=bytes(memory))


def _place(snapshot: Snapshot, code: LoadedCode) -> int:
    """Where the code lay when it was captured, so that pointers to its variables are right; else where nothing lies."""
    captured = snapshot.dispatch.kernel_object
    descriptor = code.descriptor(snapshot.dispatch.kernel) - code.base
    base = number(captured) - descriptor if captured is not None else 0
    was_there = base > 0 and base % _PAGE == 0 and base == _free(snapshot, code.size_bytes, base)
    return base if was_there else _free(snapshot, code.size_bytes, _LOWEST)


def _free(snapshot: Snapshot, size: int, lowest: int) -> int:
    """The first page from `lowest` on where no memory of the snapshot lies."""
    base = lowest
    for region in sorted(snapshot.regions, key=lambda region: region.base):
        if not region.is_global and region.base < base + size and base < region.end:
            base = -(-region.end // _PAGE) * _PAGE
    return base


def _globals(snapshot: Snapshot) -> list[Region]:
    """The saved variables of the code object."""
    return [region for region in snapshot.saved if region.is_global]


def _own_memory(task: Task, code: LoadedCode) -> tuple[emulator.Region, emulator.Region]:
    """Arguments and packet. Arguments that lie in saved memory stay there, and need no file."""
    dispatch = task.snapshot.dispatch
    after_code = -(-(code.base + code.size_bytes) // _PAGE) * _PAGE
    base = _free(task.snapshot, 2 * _PAGE + dispatch.kernarg.size, after_code)
    packet = task.work / "packet.bin"
    kernarg = _captured_kernarg(task.snapshot)
    where = base + _PAGE if kernarg is None else kernarg
    packet.write_bytes(_packet(task, code, where))
    size = max(dispatch.kernarg.size, 1)
    arguments = emulator.Region(
        where, size, task.files[KERNARG] if kernarg is None and dispatch.kernarg.size else None
    )
    return arguments, emulator.Region(base, _PACKET_BYTES, packet)


def _captured_kernarg(snapshot: Snapshot) -> int | None:
    """Where the arguments lie within saved memory; None where they do not."""
    kernarg = snapshot.dispatch.kernarg
    if kernarg.address is None:
        return None
    address = number(kernarg.address)
    inside = any(
        region.base <= address and address + kernarg.size <= region.end
        for region in snapshot.saved
        if not region.is_global
    )
    return address if inside else None


def _sizes(task: Task) -> tuple[Three, Three]:
    """The grid and the workgroup of the launch, in work-items."""
    dispatch, options = task.snapshot.dispatch, task.options
    sizes = options.codes[0].sizes if options.codes else None
    grid = options.grid or (sizes.grid if sizes else dispatch.grid)
    return grid, sizes.workgroup if sizes else dispatch.workgroup


def _launch(task: Task, code: LoadedCode, kernarg: int, packet: int) -> emulator.Dispatch:
    dispatch = task.snapshot.dispatch
    kernel = code.kernel(dispatch.kernel)
    grid, workgroup = _sizes(task)
    return emulator.Dispatch(
        descriptor=code.descriptor(dispatch.kernel),
        kernarg=kernarg,
        grid=grid,
        workgroup=workgroup,
        lds_bytes=kernel.lds_bytes + dispatch.dynamic_lds_bytes,
        scratch_bytes=max(kernel.scratch_bytes, dispatch.private_segment_bytes),
        packet=packet,
    )


def _packet(task: Task, code: LoadedCode, kernarg: int) -> bytes:
    """The AQL packet of the launch (HSA runtime specification, 2.9.6): some kernels read their sizes from it."""
    dispatch = task.snapshot.dispatch
    grid, workgroup = _sizes(task)
    kernel = code.kernel(dispatch.kernel)
    lds = kernel.lds_bytes + dispatch.dynamic_lds_bytes
    return struct.pack(
        "<HHHHHHIIIIIQQQQ",
        _KERNEL_DISPATCH, 3, *workgroup, 0, *grid, kernel.scratch_bytes, lds,
        code.descriptor(dispatch.kernel), kernarg, 0, 0,
    )  # fmt: skip


def _dumps(task: Task, code: LoadedCode) -> Iterator[emulator.Dump]:
    for region in task.options.dumps:
        base = code.symbols[region.name] if region.is_global else region.base
        yield emulator.Dump(base, region.size, dump_path(task.work, region))


def _leave_as_loaded(task: Task) -> None:
    """Write the dumps of a launch that does not take place."""
    for region in task.options.dumps:
        shutil.copyfile(_contents(task, region), dump_path(task.work, region))


def _contents(task: Task, region: Region) -> Path:
    """The file with what a region holds before the launch: as captured, or a copy in which some of it is poisoned."""
    before = task.files[region.before]
    spots = [spot for spot in task.options.poison if region.base <= spot.address < region.end]
    if region.is_global or not spots:
        return before
    copy = task.work / f"poisoned_{region.base:x}.bin"
    shutil.copyfile(before, copy)
    with copy.open("r+b") as file:
        for spot in spots:
            file.seek(spot.address - region.base)
            for block in _filling(spot):
                file.write(block)
    return copy


def _filling(spot: Poison) -> Iterator[bytes]:
    whole, rest = divmod(spot.size, _CHUNK)
    yield from (bytes([spot.byte]) * _CHUNK for _ in range(whole))
    yield bytes([spot.byte]) * rest
