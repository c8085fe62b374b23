"""The gate `interface`: whatever launches the original can launch the candidate, and nothing is kept between launches.

The same kernels with the same arguments, no argument of the compiler's that launches of the original do not fill, the
same variables. A new variable in device memory could hold results from one launch to the next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from rocm_perf.arch.codeobject.elf import Elf
from rocm_perf.arch.codeobject.model import Argument, Kernel
from rocm_perf.optimize.gates import Passage
from rocm_perf.optimize.guards.image import CodeImage

_WRITABLE = 1  # SHF_WRITE
_VARIABLE = "STT_OBJECT"
# Of the compiler's own: an identifier of the translation unit, and what a block reserves of its shared memory.
_OWN = ("__hip_cuid_", ".nv.reservedSmem")
_HOLDING = (".data", ".bss", ".nv.global", ".nv.global.init")
_LISTED = 3


def interface_passage(
    before: Sequence[CodeImage], after: Sequence[CodeImage], workgroup_size: int | None = None
) -> Passage:
    """Whether the candidate's code objects can stand in for the original's. `workgroup_size` is that of its launch."""
    fault = next(_faults(before, after, workgroup_size), None)
    if fault is not None:
        return Passage("interface", False, fault)
    kernels = sum(len(image.code.kernels) for image in before)
    return Passage("interface", True, f"the same arguments and variables in {kernels} kernel(s)")


def _faults(
    before: Sequence[CodeImage], after: Sequence[CodeImage], workgroup_size: int | None
) -> Iterator[str]:
    old, new = _kernels(before), _kernels(after)
    yield from _set_difference("kernel", old, new)
    for key, kernel in old.items():
        if key in new:
            yield from _of_kernel(kernel, new[key], workgroup_size)
    yield from _of_variables(_variables(before), _variables(after))
    yield from _of_memory(_memory(before), _memory(after))


def _kernels(images: Iterable[CodeImage]) -> dict[tuple[str, str], Kernel]:
    return {(image.arch, kernel.name): kernel for image in images for kernel in image.code.kernels}


def _set_difference(
    what: str, old: Mapping[tuple[str, str], object], new: Mapping[tuple[str, str], object]
) -> Iterator[str]:
    for verb, names in (("lacks", old.keys() - new.keys()), ("adds", new.keys() - old.keys())):
        if names:
            listed = sorted({name for _, name in names})
            more = f" and {len(listed) - _LISTED} more" if len(listed) > _LISTED else ""
            yield f"it {verb} {what} {', '.join(listed[:_LISTED])}{more}"


def _of_kernel(old: Kernel, new: Kernel, workgroup_size: int | None) -> Iterator[str]:
    if _visible(old) != _visible(new):
        yield f"the arguments of {old.name} are laid out otherwise: {_first_difference(old, new)}"
    unfilled = _hidden(new) - _hidden(old)
    if unfilled:
        names = sorted({kind for kind, _, _ in unfilled})
        yield f"{old.name} needs arguments that its launches do not have: {', '.join(names[:_LISTED])}"
    if new.kernarg_bytes > old.kernarg_bytes:
        yield f"the arguments of {old.name} take {new.kernarg_bytes} instead of {old.kernarg_bytes} bytes"
    if new.wave_size != old.wave_size:
        yield f"{old.name} has waves of {new.wave_size} instead of {old.wave_size} lanes"
    if new.dynamic_stack and not old.dynamic_stack:
        yield f"{old.name} needs a stack whose size is not known"
    most = new.max_workgroup_size
    if workgroup_size is not None and most is not None and workgroup_size > most:
        yield f"{old.name} allows {most} work-items per block, and is launched with {workgroup_size}"


def _visible(kernel: Kernel) -> tuple[tuple[int, int, str, str], ...]:
    return tuple(
        (argument.offset, argument.size_bytes, argument.kind, argument.address_space)
        for argument in kernel.arguments
        if not argument.hidden
    )


def _hidden(kernel: Kernel) -> frozenset[tuple[str, int, int]]:
    """What the runtime fills in. A candidate may need less of it than the original, and never more."""
    return frozenset(
        (argument.kind, argument.offset, argument.size_bytes)
        for argument in kernel.arguments
        if argument.hidden
    )


def _first_difference(old: Kernel, new: Kernel) -> str:
    visible = [[one for one in kernel.arguments if not one.hidden] for kernel in (old, new)]
    if len(visible[0]) != len(visible[1]):
        return f"there are {len(visible[1])} instead of {len(visible[0])}"
    pairs = enumerate(zip(*visible, strict=True), start=1)
    number, (one, other) = next(pair for pair in pairs if _shape(pair[1][0]) != _shape(pair[1][1]))
    return f"number {number} was {_shape(one)} and is {_shape(other)}"


def _shape(argument: Argument) -> str:
    return f"{argument.kind} of {argument.size_bytes} bytes at offset {argument.offset}"


def _of_variables(
    before: Mapping[tuple[str, str], int], after: Mapping[tuple[str, str], int]
) -> Iterator[str]:
    yield from _set_difference("variable", before, after)
    for key, size_bytes in before.items():
        if key in after and after[key] != size_bytes:
            yield f"variable {key[1]} has {after[key]} instead of {size_bytes} bytes"


def _of_memory(before: Mapping[str, int], after: Mapping[str, int]) -> Iterator[str]:
    """Names can be stripped; the memory that variables take cannot."""
    for arch, size_bytes in after.items():
        if size_bytes != before.get(arch, 0):
            yield f"its variables take {size_bytes} instead of {before.get(arch, 0)} bytes"


def _variables(images: Iterable[CodeImage]) -> dict[tuple[str, str], int]:
    """The bytes of every variable that device code can write, by chip and name."""
    return {
        (image.arch, symbol.name): symbol.size_bytes
        for image in images
        for elf in (Elf(image.data, image.code.place),)
        for symbol in elf.symbols
        if symbol.kind == _VARIABLE
        and symbol.section is not None
        and elf.sections[symbol.section].flags & _WRITABLE
        and not symbol.name.startswith(_OWN)
    }


def _memory(images: Iterable[CodeImage]) -> dict[str, int]:
    """The bytes of writable memory that a module has for its variables, by chip."""
    sizes: Counter[str] = Counter()
    for image in images:
        for section in Elf(image.data, image.code.place).sections:
            sizes[image.arch] += section.size_bytes if section.name in _HOLDING else 0
    return dict(sizes)
