"""Where in the model time is spent: modules with equal ones folded into one line, and the operators inside them."""

from __future__ import annotations

from typing import Literal

import msgspec

from rocm_perf.model.quantity import Quantity


class ModulePass(msgspec.Struct, frozen=True):
    """What one pass spent below modules."""

    time_ns: int  # GPU time, or host time of the operators where no GPU was recorded
    host_ns: int  # of the calls; of the backward pass, which calls no modules, of its operators
    dispatches: int


class ModuleOperator(msgspec.Struct, frozen=True):
    """An operator directly inside a module: in none of the modules in it. Times are its own."""

    name: str | None  # None: GPU work that was launched without an operator
    calls: int
    forward_ns: int  # GPU time, or host time where no GPU was recorded; likewise below
    recomputed_ns: int
    backward_ns: int
    total_ns: int  # of all passes
    dispatches: int


class ModuleSpread(msgspec.Struct, frozen=True):
    """How alike the modules of one line are: the time of each, all passes together."""

    least_ns: int
    median_ns: float
    most_ns: int
    longest: str  # the module that took most, as recorded


class ModuleLine(msgspec.Struct, frozen=True):
    """Modules of one class with the same modules and operators in them, inside the same module. Times are of all of
    them together, with everything inside them."""

    name: str  # as recorded where it is one module, else their class
    kind: Literal["module", "graph"]  # graph: what torch.compile made of one
    parent: int | None  # place in the list, always an earlier one
    depth: int
    modules: int
    calls: int  # in the forward pass
    recomputed_calls: int
    forward: ModulePass
    recomputed: ModulePass
    backward: ModulePass
    total_ns: int  # of all passes
    share: float  # of Modules.total_ns
    spread: ModuleSpread | None  # None of a single module
    matrix_share: Quantity  # of its kernel time, in kernels that use matrix units
    occupancy: Quantity  # achieved, mean over its kernel time
    operators: tuple[ModuleOperator, ...]  # that took time, longest first


class Modules(msgspec.Struct, frozen=True):
    """The modules of a run, each behind the one around it. total_ns = the lines without a parent + outside_ns."""

    lines: tuple[ModuleLine, ...]
    outside: tuple[ModuleOperator, ...]  # in no module, longest first
    measured: Literal["gpu", "host"]  # what times are of
    total_ns: int
    outside_ns: int
    backward_by: str | None = None  # how backward operators are linked to forward ones
    left_out: int = 0  # lines beyond the largest 1,000
    unavailable: str | None = None
