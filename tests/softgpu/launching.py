"""Launches kernels of a code object on the executor, with numpy arrays as their arguments."""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rocm_perf.arch.codeobject.model import Argument
from rocm_perf.softgpu.answer import Answer
from rocm_perf.softgpu.code import LoadedCode, load_code
from rocm_perf.softgpu.plan import Dispatch, Dump, Emulation, Options, Region, Three
from rocm_perf.softgpu.run import execute

CODE_BASE = 0x7F1000000000
_KERNARG_BASE = 0x7F2000000000
_BUFFERS_BASE = 0x7F3000000000
_PACKET_BASE = 0x7F4000000000
_APART = 1 << 24

_OPTIONS = Options()

Array = np.ndarray[Any, np.dtype[Any]]
Value = Array | np.generic


@dataclass(frozen=True)
class Launched:
    """What a launch left: the arrays that were arguments, in their order, and the emulator's answer."""

    arrays: tuple[Array, ...]
    answer: Answer


def load(path: Path) -> LoadedCode:
    return load_code(path.read_bytes(), CODE_BASE, path.name)


def launch(
    code: LoadedCode,
    kernel: str,
    arguments: Sequence[Value],
    *,
    groups: Three | int,
    block: Three | int,
    dynamic_lds: int = 0,
    options: Options = _OPTIONS,
) -> Launched:
    """Launch `groups` workgroups of `block` work-items; arrays are copied in, and back."""
    groups3, block3 = _three(groups), _three(block)
    metadata = code.kernel(kernel)
    addresses = [_BUFFERS_BASE + _APART * at for at in range(len(arguments))]
    with tempfile.TemporaryDirectory(prefix="rocm-perf-") as folder:
        work = Path(folder)
        regions, dumps = [], []
        for value, address in zip(arguments, addresses, strict=True):
            if isinstance(value, np.ndarray):
                file = work / f"{address:x}.bin"
                file.write_bytes(value.tobytes())
                regions.append(Region(address, value.nbytes, file))
                dumps.append(Dump(address, value.nbytes, work / f"{address:x}.out"))
                assert value.nbytes <= _APART
        kernarg = work / "kernarg.bin"
        kernarg.write_bytes(_kernarg(metadata.arguments, arguments, addresses, groups3, block3))
        regions.append(Region(_KERNARG_BASE, kernarg.stat().st_size, kernarg, is_writable=False))
        grid = (groups3[0] * block3[0], groups3[1] * block3[1], groups3[2] * block3[2])
        packet = work / "packet.bin"
        packet.write_bytes(
            struct.pack("<HHHHHHIIIIIQQ", 0, 3, *block3, 0, *grid, 0, 0, 0, _KERNARG_BASE).ljust(64, b"\0")
        )
        regions.append(Region(_PACKET_BASE, 64, packet, is_writable=False))
        dispatch = Dispatch(
            descriptor=code.descriptor(kernel),
            kernarg=_KERNARG_BASE,
            packet=_PACKET_BASE,
            grid=grid,
            workgroup=block3,
            lds_bytes=metadata.lds_bytes + dynamic_lds,
            scratch_bytes=metadata.scratch_bytes,
        )
        emulation = Emulation(
            code=code, dispatch=dispatch, regions=tuple(regions), dumps=tuple(dumps), options=options
        )
        answer = execute(emulation, work)
        arrays = [value for value in arguments if isinstance(value, np.ndarray)]
        after = tuple(
            np.frombuffer(dump.file.read_bytes(), array.dtype).reshape(array.shape)
            for dump, array in zip(dumps, arrays, strict=True)
        )
    return Launched(after, answer)


def _three(size: Three | int) -> Three:
    return (size, 1, 1) if isinstance(size, int) else size


def _kernarg(
    layout: Sequence[Argument], values: Sequence[Value], addresses: Sequence[int], groups: Three, block: Three
) -> bytes:
    """The kernel's arguments, and those that the compiler added, as a runtime fills them in."""
    block_of = bytearray(max((item.offset + item.size_bytes for item in layout), default=0) + 8)
    shown = [item for item in layout if not item.hidden]
    for item, value, address in zip(shown, values, addresses, strict=True):
        data = struct.pack("<Q", address) if isinstance(value, np.ndarray) else value.tobytes()
        assert len(data) == item.size_bytes, (item, value)
        block_of[item.offset : item.offset + len(data)] = data
    for item in layout:
        if number := _hidden(item.kind, groups, block):
            block_of[item.offset : item.offset + item.size_bytes] = number.to_bytes(item.size_bytes, "little")
    return bytes(block_of)


def _hidden(kind: str, groups: Three, block: Three) -> int:
    for axis, letter in enumerate("xyz"):
        if kind == f"hidden_block_count_{letter}":
            return groups[axis]
        if kind == f"hidden_group_size_{letter}":
            return block[axis]
    return 3 if kind == "hidden_grid_dims" else 0
