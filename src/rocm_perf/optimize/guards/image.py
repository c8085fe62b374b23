"""One code object as guards look at it."""

from __future__ import annotations

from dataclasses import dataclass

from rocm_perf.arch.codeobject.model import CodeObject, Kernel


@dataclass(frozen=True)
class CodeImage:
    """What a code object describes, and its bytes."""

    code: CodeObject
    data: bytes

    @property
    def arch(self) -> str:
        """The chip it is made for."""
        return self.code.arch

    def kernel(self, symbol: str) -> Kernel | None:
        """The kernel with this symbol."""
        return next((kernel for kernel in self.code.kernels if kernel.name == symbol), None)
