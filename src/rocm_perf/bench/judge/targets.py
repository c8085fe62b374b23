"""Functions by name, loaded beside the judged code: `module:function` or `script.py:function`."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import random
import sys
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from types import ModuleType
from typing import Any


class TargetError(Exception):
    """A name that stands for no function here."""


def load_target(target: str) -> Callable[..., object]:
    """The function that a target names."""
    place, _, name = target.rpartition(":")
    if not place or not name:
        raise TargetError(f"{target} names no function: write module:function or script.py:function")
    try:
        module = _script(Path(place)) if place.endswith(".py") else importlib.import_module(place)
    except (Exception, SystemExit) as error:
        raise TargetError(f"{place} cannot be imported ({type(error).__name__}: {error})") from error
    try:
        function = reduce(getattr, name.split("."), module)
    except AttributeError as error:
        raise TargetError(f"{place} has no {name}") from error
    if not callable(function):
        raise TargetError(f"{target} is of type {type(function).__name__}, which cannot be called")
    return function


def _script(path: Path) -> ModuleType:
    if not path.is_file():
        raise FileNotFoundError(f"no file {path}")
    sys.path.insert(0, str(path.resolve().parent))  # as Python does for a script
    specification = importlib.util.spec_from_file_location(path.stem, path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[path.stem] = module
    specification.loader.exec_module(module)
    return module


def made_inputs(maker: Callable[..., object], seed: int) -> list[Any]:
    """What a function makes as inputs, one entry per case: it returns a tuple of arguments, a dictionary of keyword
    arguments, or a list of either, or yields them. It gets the seed if it takes an argument."""
    made = maker(seed) if _takes_argument(maker) else maker()
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


def _takes_argument(maker: Callable[..., object]) -> bool:
    try:
        parameters = inspect.signature(maker).parameters.values()
    except (TypeError, ValueError):
        return False
    return any(
        parameter.default is parameter.empty
        and parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        for parameter in parameters
    )


def seed_generators(seed: int) -> None:
    """Start the random numbers of Python, numpy and torch from the seed."""
    random.seed(seed)
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed(seed % 2**32)
    if torch := sys.modules.get("torch"):
        torch.manual_seed(seed)
