"""Inputs, made by a user's function in its own process, or in this one."""

from __future__ import annotations

import inspect
import random
import sys
from collections.abc import Callable
from typing import Any

from rocm_perf.bench.inside.target import TargetError, required_parameters


def made_inputs(maker: Callable[..., object], seed: int) -> list[Any]:
    """What a function makes as inputs, one entry per case: it returns a tuple of arguments, a dictionary of keyword
    arguments, or a list of either, or yields them. It gets the seed if it takes an argument."""
    made = maker(seed) if required_parameters(maker) else maker()
    cases = list(made) if inspect.isgenerator(made) or isinstance(made, list) else [made]
    for case in cases:
        if not isinstance(case, (tuple, dict)):
            raise TargetError(
                f"it returned a value of type {type(case).__name__} where a tuple of arguments belongs: "
                "return (x,) for one argument"
            )
    if not cases:
        raise TargetError("it made no inputs")
    return cases


def seed_generators(seed: int) -> None:
    """Start the random numbers of Python, numpy and torch from the seed."""
    random.seed(seed)
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed(seed % 2**32)
    if torch := sys.modules.get("torch"):
        torch.manual_seed(seed)
