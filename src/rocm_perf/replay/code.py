"""Another code object for the captured kernel: the right one of a file, checked before anything runs."""

from __future__ import annotations

from pathlib import Path

from rocm_perf.arch.codeobject import reader
from rocm_perf.arch.codeobject.model import CodeObject
from rocm_perf.errors import InputError, OutputError
from rocm_perf.replay.errors import OtherGpuError
from rocm_perf.replay.plan import Code
from rocm_perf.replay.snapshot import Snapshot

_LISTED = 5


def code_of(path: Path, label: str, snapshot: Snapshot, work: Path) -> Code:
    """The code object in a .hsaco, .cubin, bundle, program or library that has the kernel for the snapshot's GPU."""
    _refuse_unreadable(path)
    if snapshot.dispatch.vendor == "NVIDIA" and path.suffix == ".ptx":  # the driver compiles it
        return Code(label, path.absolute())
    objects = reader.read(path)
    fitting = [found for found in objects if _fits(found, snapshot)]
    if not fitting:
        archs = ", ".join(dict.fromkeys(found.arch for found in objects))
        gfx = snapshot.dispatch.device.gfx
        raise OtherGpuError(f"{path} holds no code for {gfx}", f"it is made for {archs}")
    kernel = snapshot.dispatch.kernel
    for found in fitting:
        if any(one.name == kernel for one in found.kernels):
            return Code(label, _image(path, found, label, work))
    names = [one.name for found in fitting for one in found.kernels]
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    raise InputError(f"{path} has no kernel {kernel}", f"it has {', '.join(names[:_LISTED]) or 'none'}{more}")


def _fits(found: CodeObject, snapshot: Snapshot) -> bool:
    gfx = snapshot.dispatch.device.gfx
    return (
        found.arch == gfx or not gfx or found.arch.endswith("generic")
    )  # whether a generic one fits, the loader knows


def _refuse_unreadable(path: Path) -> None:
    """What is no plain file may never come to an end."""
    try:
        if not path.exists():
            raise InputError(f"there is no file {path}")
        if not path.is_file():
            raise InputError(f"{path} is not a file", next_step="Give a code object, a program or a library.")
        with path.open("rb"):
            return
    except OSError as error:
        raise InputError(f"cannot read {path}", error.strerror or str(error)) from error


def _image(path: Path, found: CodeObject, label: str, work: Path) -> Path:
    """A file of its own for one that lies inside of another."""
    image = reader.image_of(path, found.index)
    if len(image) == path.stat().st_size:
        return path.absolute()
    own = work / f"code_{label}"
    try:
        own.write_bytes(image)
    except OSError as error:
        why = error.strerror or str(error)
        raise OutputError(f"the code of {path} cannot be unpacked", why, "Set TMPDIR.") from error
    return own
