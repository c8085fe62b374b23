"""The GPU code of a product, and the kernels in it by the names of the source."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from rocm_perf.analysis.basis.names import demangle
from rocm_perf.arch.codeobject import reader
from rocm_perf.arch.codeobject.model import Kernel
from rocm_perf.errors import InputError, UsageError
from rocm_perf.optimize.guards.image import CodeImage

_LISTED = 5
_ANONYMOUS = "(anonymous namespace)::"


@dataclass(frozen=True)
class GpuCode:
    """The code objects of a file that have kernels, in order."""

    images: tuple[CodeImage, ...]
    ptx: str = ""  # what NVIDIA's compiler put beside them

    @property
    def archs(self) -> tuple[str, ...]:
        """The chips for which it has kernels, each once."""
        return tuple(dict.fromkeys(image.arch for image in self.images))

    def kernels(self, arch: str) -> tuple[Kernel, ...]:
        """Every kernel for a chip."""
        return tuple(kernel for image in self.images if image.arch == arch for kernel in image.code.kernels)

    def image(self, arch: str, symbol: str) -> CodeImage:
        """The code object for a chip that has the kernel with this symbol."""
        for image in self.images:
            if image.arch == arch and image.kernel(symbol) is not None:
                return image
        if arch not in self.archs:
            raise InputError(f"there is no code for {arch}", f"it is made for {_listed(self.archs)}")
        names = [kernel.name for kernel in self.kernels(arch)]
        raise InputError(f"there is no kernel {symbol} for {arch}", f"there is {_listed(names)}")

    def symbols(self, arch: str, name: str) -> tuple[str, ...]:
        """The symbols of a kernel as the source or a profile names it: of all its instances where it is a template."""
        symbols = [kernel.name for kernel in self.kernels(arch)]
        for reading in (_whole_names, _qualified_names, _own_name):
            matching = tuple(symbol for symbol in symbols if name in reading(symbol))
            if matching:
                return matching
        raise UsageError(f"no kernel is named {name}", next_step=_nearest(name, symbols))


def read_code(path: Path) -> GpuCode:
    """The code objects of a program, library, object file, bundle, cubin or .hsaco."""
    objects = reader.read(path)
    with_kernels = [code for code in objects if code.kernels]
    if not with_kernels:
        unread = next((code.unread for code in objects if code.unread), "its GPU code is empty")
        raise InputError(f"{path.name} has no kernel", unread)
    images = tuple(CodeImage(code, reader.image_of(path, code.index)) for code in with_kernels)
    listings = [reader.image_of(path, code.index) for code in objects if code.kind == "NVIDIA PTX"]
    return GpuCode(images, b"\n".join(listings).decode("utf-8", "replace"))


def _whole_names(symbol: str) -> tuple[str, ...]:
    return symbol, demangle(symbol)


def _qualified_names(symbol: str) -> tuple[str, ...]:
    """`void math::scale<float>(float*, int)` -> `math::scale<float>` and `math::scale`."""
    with_arguments = without_arguments = ""
    depth = 0
    for character in demangle(symbol).replace(_ANONYMOUS, ""):
        depth += (character == "<") - (character == ">")
        if depth == 0 and character == "(":
            break
        if depth == 0 and character == " ":  # behind the type of the result
            with_arguments = without_arguments = ""
            continue
        with_arguments += character
        without_arguments += character if depth == 0 and character != ">" else ""
    return with_arguments, without_arguments


def _own_name(symbol: str) -> tuple[str, ...]:
    return (_qualified_names(symbol)[1].rpartition("::")[2],)


def _nearest(name: str, symbols: Iterable[str]) -> str:
    names = list(dict.fromkeys(_qualified_names(symbol)[1] for symbol in symbols))
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.4) or names
    return f"There is {_listed(near)}."


def _listed(names: Iterable[str]) -> str:
    every = list(names)
    more = f" and {len(every) - _LISTED} more" if len(every) > _LISTED else ""
    return (", ".join(every[:_LISTED]) or "none") + more
