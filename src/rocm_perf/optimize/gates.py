"""The gates that every candidate passes, whoever proposed it. Users always have all of them; tests open some, to show
what each is there for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Gate = Literal[
    "text",  # only the text of the kernel differs: harness, inputs, timers, launches, other functions are as before
    "safety",  # barriers, atomics, shuffles and wave sizes are used as before
    "build",  # it compiles
    "interface",  # the same kernels, symbols, argument layouts and variables
    "resources",  # no spills that the original did not have, and it fits; fewer waves are left to the measurement
    "precision",  # no narrower or approximate arithmetic that was not allowed
    "rebuild",  # two builds give the same bytes
    "captured",  # the application's own result, on every captured state, with controls that must fail
    "fresh",  # the original's result on inputs that nobody has seen before
    "timed",  # the launches that were timed left the right result too
    "floor",  # no faster than the bytes and operations of the problem allow
    "outputs",  # the program's own files and numbers
    "gain",  # the interval of the speedup in replay excludes anything below the least gain
    "program",  # the program as a whole is not slower, in fresh processes
]
GATES: tuple[Gate, ...] = get_args(Gate)


@dataclass(frozen=True)
class Passage:
    """How a candidate fared at one gate."""

    gate: Gate
    passed: bool
    words: str  # what was seen; why not, where it did not pass
    needed: str = ""  # the option with which it would have passed; empty: none is known
