"""The function that a target names: `module:function` or `script.py:function`."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from rocm_perf.bench.inside.timers import Call


class TargetError(Exception):
    """The target cannot be had; the text says why, in one line."""


def load_target(target: str) -> Call:
    """The function, ready to be called without arguments. Raises TargetError."""
    function = named_function(target)
    if needed := required_parameters(function):
        raise TargetError(
            f"{target.rpartition(':')[2]} needs arguments ({', '.join(needed)}): "
            "name a function without, which makes its inputs once"
        )
    return function


def named_function(target: str) -> Callable[..., object]:
    """The function, whatever arguments it takes. Raises TargetError."""
    place, _, name = target.rpartition(":")
    if not place or not name:
        raise TargetError("it does not name a function: write module:function or script.py:function")
    value: object = _module(place)
    for part in name.split("."):
        if not hasattr(value, part):
            raise TargetError(f"{place} has no {part!r}{_others(value)}")
        value = getattr(value, part)
    if not callable(value):
        raise TargetError(f"{name} is not a function, but of type {type(value).__name__}")
    return value


def _module(place: str) -> ModuleType:
    """The module, imported as Python would import it from the working directory, or beside the script."""
    try:
        if place.endswith(".py"):
            return _script(Path(place))
        sys.path.insert(0, "")
        return importlib.import_module(place)
    except TargetError:
        raise
    except (Exception, SystemExit) as error:
        raise TargetError(f"{place} does not import: {type(error).__name__}: {error}") from error


def _script(path: Path) -> ModuleType:
    if not path.is_file():
        raise TargetError(f"there is no file {path}")
    sys.path.insert(0, str(path.parent.absolute()))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # dataclasses and pickle look a class's module up here
    spec.loader.exec_module(module)
    return module


def _others(value: object) -> str:
    names = (
        [name for name, each in vars(value).items() if inspect.isfunction(each)] if _has_names(value) else []
    )
    return f"; it has {', '.join(names[:5])}" if names else ""


def _has_names(value: object) -> bool:
    return hasattr(value, "__dict__")


def required_parameters(function: Callable[..., object]) -> list[str]:
    """The parameters that have no default."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # of a built-in: calling it will tell
        return []
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [one.name for one in parameters if one.default is one.empty and one.kind not in variable]
