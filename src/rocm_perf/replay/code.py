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
    fitting = [code for code in objects if _fits(code, snapshot)]
    if not fitting:
        archs = ", ".join(dict.fromkeys(code.arch for code in objects))
        gfx = snapshot.dispatch.device.gfx
        raise OtherGpuError(f"{path} holds no code for {gfx}", f"it is made for {archs}")
    kernel = snapshot.dispatch.kernel
    for code in fitting:
        if any(one.name == kernel for one in code.kernels):
            return Code(label, _image(path, code, label, work))
    names = [one.name for code in fitting for one in code.kernels]
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    raise InputError(f"{path} has no kernel {kernel}", f"it has {', '.join(names[:_LISTED]) or 'none'}{more}")


def _fits(code: CodeObject, snapshot: Snapshot) -> bool:
    gfx = snapshot.dispatch.device.gfx
    is_generic = code.arch.endswith("generic")  # whether it fits, the loader knows
    return code.arch == gfx or not gfx or is_generic


def _refuse_unreadable(path: Path) -> None:
    """Refuse what is not a plain file: it may never come to an end."""
    try:
        if not path.exists():
            raise InputError(f"there is no file {path}")
        if not path.is_file():
            raise InputError(f"{path} is not a file", next_step="Give a code object, a program or a library.")
        with path.open("rb"):
            return
    except OSError as error:
        raise InputError(f"cannot read {path}", error.strerror or str(error)) from error


def _image(path: Path, code: CodeObject, label: str, work: Path) -> Path:
    """The file of a code object; one that lies inside of another file gets its own."""
    image = reader.image_of(path, code.index)
    if len(image) == path.stat().st_size:
        return path.absolute()
    own = work / f"code_{label}"
    try:
        own.write_bytes(image)
    except OSError as error:
        why = error.strerror or str(error)
        raise OutputError(f"the code of {path} cannot be unpacked", why, "Set TMPDIR.") from error
    return own
