"""What a side runs on the GPU in one step, in order: calls of operators with the GPU work that they launched."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import msgspec

from rocm_perf.analysis.compare.matching import plain_name
from rocm_perf.analysis.compare.operator_matching import plain_operator
from rocm_perf.analysis.time.kernel_family import family

ANCHORS = frozenset(("gemm", "attention", "convolution", "collective"))  # kernels that compilers leave alone
COPY = "copy "  # what copies and fills begin with, in the place of a kernel's name
_TELLING = 2  # arguments whose shapes tell calls of one operator apart; `out=` is a further one, of compiled code only
_NUMBER = re.compile(r"_\d+(?=/|$| )")

# The calls of a step have few names, and long ones.
_plain_kernel = lru_cache(maxsize=65_536)(plain_name)
_plain_operator = lru_cache(maxsize=65_536)(plain_operator)


class GpuWork(msgspec.Struct, frozen=True):
    """A kernel, copy or fill; its time is the mean over the steps that run the same calls."""

    name: str
    gpu_ns: int

    @property
    def plain_name(self) -> str:
        return self.name if self.name.startswith(COPY) else _plain_kernel(self.name)

    @property
    def family(self) -> str:
        return "copy" if self.name.startswith(COPY) else family(self.name).name


@dataclass(frozen=True)
class GpuCall:
    """One call of an operator with the GPU work that it launched itself, or GPU work that no operator owns."""

    work: tuple[GpuWork, ...]
    operator: str | None = None
    shapes: str | None = None
    dtypes: str | None = None
    module: str | None = None  # the path of nn.Modules that it was called in: Net_0/Linear_1
    around: tuple[str, ...] = ()  # operators around it, the outermost first
    root: int | None = None  # which call of an outermost operator it is part of
    root_shapes: str | None = None

    @cached_property
    def gpu_ns(self) -> int:
        return sum(one.gpu_ns for one in self.work)

    @cached_property
    def kernels(self) -> tuple[str, ...]:
        return tuple(one.plain_name for one in self.work)

    @property
    def name(self) -> str:
        """The operator, or the kernel where none is known."""
        return self.operator or self.kernels[0]

    @property
    def plain_operator(self) -> str | None:
        """The operator without the numbers that a compiler gives."""
        return self.operator and _plain_operator(self.operator)

    @property
    def outermost(self) -> str:
        """The outermost operator around it, or its own."""
        return self.around[0] if self.around else self.name

    @property
    def plain_module(self) -> str | None:
        """The path of modules without their numbers, which layers of one kind share."""
        return self.module and without_numbers(self.module)

    @property
    def size(self) -> str | None:
        """The shapes that tell it from other calls of its operator."""
        return leading_shapes(self.shapes)

    @cached_property
    def anchor(self) -> str | None:
        """The family of its longest kernel, where compilers leave such kernels alone."""
        kind = max(self.work, key=lambda one: one.gpu_ns).family
        return kind if kind in ANCHORS else None

    @property
    def identity(self) -> tuple[str, ...]:
        """What tells it from other calls, but for its time."""
        known = (self.operator, self.module, self.shapes, self.dtypes, *self.around)
        return *(part or "" for part in known), *(one.name for one in self.work)


def gpu_ns(calls: Iterable[GpuCall]) -> int:
    """The GPU time of all of them."""
    return sum(call.gpu_ns for call in calls)


@lru_cache(maxsize=65_536)
def without_numbers(path: str) -> str:
    """The path of modules without their numbers."""
    return _NUMBER.sub("", path)


@lru_cache(maxsize=65_536)
def leading_shapes(shapes: str | None) -> str | None:
    """The shapes of the first arguments, of a JSON list of all."""
    try:
        return shapes and str(msgspec.json.decode(shapes, type=list[object])[:_TELLING])
    except msgspec.DecodeError:
        return shapes


def is_alike(one: str | None, other: str | None) -> bool:
    """Whether two JSON lists about arguments agree as far as both go; what is not recorded contradicts nothing."""
    if not one or not other:
        return True
    shorter, longer = sorted((one, other), key=len)
    return longer == shorter or longer.startswith(f"{shorter[:-1]},")
