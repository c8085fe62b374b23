"""A kernel before and after a change, as the guards that read the source compare it: with the device functions that
it alone calls."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from tree_sitter import Node

from rocm_perf.errors import RocmPerfError
from rocm_perf.optimize.source.kernels import called
from rocm_perf.optimize.source.model import Function, Kernel, Span
from rocm_perf.optimize.source.parse import Source, parse
from rocm_perf.optimize.source.tree import below, span_of, text_of


@dataclass(frozen=True)
class KernelText:
    """One version of a source, and the kernel in it."""

    source: Source
    kernel: Kernel
    own: tuple[Function, ...]  # device functions that nothing else of the file mentions

    @property
    def spans(self) -> list[Span]:
        """What belongs to the kernel, in the order of the text."""
        return sorted([self.kernel.span, *(each.span for each in self.own)])

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The definitions of the kernel and of all device functions that it reaches."""
        return (self.kernel.node, *(each.node for each in self.kernel.calls))

    @property
    def called(self) -> Iterator[Node]:
        """What the kernel and the functions that it reaches call."""
        return (each for node in self.nodes for each in called(node))

    def below(self, *types: str) -> Iterator[Node]:
        """Nodes of these types in the kernel and in what it reaches."""
        return (each for node in self.nodes for each in below(node, *types))


@dataclass(frozen=True)
class ChangedKernel:
    """Both versions."""

    old: KernelText
    new: KernelText


def changed_kernel(original: bytes, candidate: bytes, name: str) -> ChangedKernel | str:
    """The kernel in both texts, or why it cannot be compared."""
    try:
        old = _kernel_text(original, name)
        new = _kernel_text(candidate, name)
    except RocmPerfError as error:
        return f"the changed text cannot be read: {error.what}" + (f": {error.why}" if error.why else "")
    names = {each.name for each in old.own} & {each.name for each in new.own}
    return ChangedKernel(old=_with_own(old, names), new=_with_own(new, names))


@lru_cache(maxsize=16)  # three gates read the same texts
def _kernel_text(text: bytes, name: str) -> KernelText:
    source = parse(text)
    kernel = source.kernel(name)
    return KernelText(source=source, kernel=kernel, own=_own_functions(source, kernel))


def _with_own(text: KernelText, names: set[str]) -> KernelText:
    own = tuple(each for each in text.own if each.name in names)
    return KernelText(source=text.source, kernel=text.kernel, own=own)


def _own_functions(source: Source, kernel: Kernel) -> tuple[Function, ...]:
    """Device functions that only the kernel, or other such functions, mention."""
    own = list(kernel.calls)
    while True:
        allowed = [kernel.span, *(each.span for each in own)]
        foreign = {
            text_of(each)
            for each in below(source.tree.root_node, "identifier")
            if not any(span.holds(span_of(each)) for span in allowed)
        }
        left = [each for each in own if each.name not in foreign]
        if len(left) == len(own):
            return tuple(left)
        own = left
