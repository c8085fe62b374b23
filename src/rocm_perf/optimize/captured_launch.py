"""What a captured dispatch tells transforms: its block, and what each parameter of the source held."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence

from rocm_perf.optimize.proof.parameters import places
from rocm_perf.optimize.source.model import Kernel, Parameter
from rocm_perf.optimize.transforms.setting import CapturedLaunch, Pointer
from rocm_perf.replay.reading import contents
from rocm_perf.replay.replayer import Replayer
from rocm_perf.replay.snapshot import KERNARG, Region, Snapshot

Place = tuple[int, int]  # offset and size in the block of arguments
_ADDRESS_BYTES = 8
# Formats of struct by the built-in types of C++, little-endian as both vendors' GPUs are.
_FORMATS: Mapping[str, str] = {
    **dict.fromkeys(("bool",), "<?"),
    **dict.fromkeys(("char", "signed char", "int8_t"), "<b"),
    **dict.fromkeys(("unsigned char", "uint8_t"), "<B"),
    **dict.fromkeys(("short", "short int", "int16_t"), "<h"),
    **dict.fromkeys(("unsigned short", "uint16_t"), "<H"),
    **dict.fromkeys(("int", "int32_t"), "<i"),
    **dict.fromkeys(("unsigned", "unsigned int", "uint32_t"), "<I"),
    **dict.fromkeys(("long", "long long", "int64_t"), "<q"),
    **dict.fromkeys(("unsigned long", "unsigned long long", "uint64_t", "size_t"), "<Q"),
    "float": "<f",
    "double": "<d",
}


def launch_of(replayer: Replayer, kernel: Kernel) -> CapturedLaunch:
    """The launch that a replayer repeats."""
    snapshot = replayer.snapshot
    kernarg = contents(snapshot.folder, KERNARG, snapshot.dispatch.kernarg.size)
    return captured_launch(snapshot, kernarg, kernel.parameters, places(replayer))


def captured_launch(
    snapshot: Snapshot, kernarg: bytes, parameters: Sequence[Parameter], where: Sequence[Place]
) -> CapturedLaunch:
    """The launch of a snapshot. `where` says where the arguments lie, in the order of the parameters; where they do not
    fit to the source, only the block is told."""
    if len(where) != len(parameters):
        return CapturedLaunch(block=snapshot.dispatch.workgroup)
    pairs = list(zip(parameters, where, strict=True))
    held = {one.name: kernarg[offset : offset + size] for one, (offset, size) in pairs if one.name}
    return CapturedLaunch(
        block=snapshot.dispatch.workgroup,
        values=dict(_values(parameters, held)),
        pointers={
            one.name: _pointer(held[one.name], snapshot.regions)
            for one in parameters
            if one.depth and len(held.get(one.name, b"")) == _ADDRESS_BYTES
        },
    )


def _values(parameters: Iterable[Parameter], held: Mapping[str, bytes]) -> Iterable[tuple[str, int | float]]:
    for one in parameters:
        form = _FORMATS.get(one.element)
        if form and not one.depth and len(held.get(one.name, b"")) == struct.calcsize(form):
            yield one.name, struct.unpack(form, held[one.name])[0]


def _pointer(data: bytes, regions: Sequence[Region]) -> Pointer:
    address = int.from_bytes(data, "little")
    bases = (region.base for region in regions if region.base <= address < region.end)
    return Pointer(address=address, allocation=next(bases, None))
