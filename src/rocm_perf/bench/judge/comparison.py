"""Whether one value is as expected: structure, type, shape, strides, and numbers within a tolerance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from rocm_perf.bench.judge.decoded import Numbers, decoded
from rocm_perf.bench.judge.series import packed
from rocm_perf.bench.judge.tolerance import Tolerance
from rocm_perf.bench.judge.values import Array, Layout, Value
from rocm_perf.units import format_count


@dataclass(frozen=True)
class Comparison:
    """How a value differs from the expected one."""

    problems: tuple[str, ...] = ()  # each names the place; empty if the value is right
    largest_absolute: float = 0.0
    largest_relative: float = 0.0

    @property
    def is_right(self) -> bool:
        return not self.problems

    def __add__(self, other: Comparison) -> Comparison:
        return Comparison(
            problems=self.problems + other.problems,
            largest_absolute=max(self.largest_absolute, other.largest_absolute),
            largest_relative=max(self.largest_relative, other.largest_relative),
        )


@dataclass(frozen=True)
class Comparer:
    """What is asked of a value."""

    tolerance: Tolerance = field(default_factory=Tolerance)
    compares_strides: bool = True
    nan_is_wildcard: bool = (
        False  # as `not (difference > tolerance).any()` has it: to show that it must not be
    )

    def compare(self, expected: Value, actual: Value, place: str = "result") -> Comparison:
        """Every difference between two values, and the largest errors."""
        return sum(self._differences(expected, actual, place), Comparison())

    def _differences(self, expected: Value, actual: Value, place: str) -> Iterator[Comparison]:
        if isinstance(expected, Array) and isinstance(actual, Array):
            yield self._arrays(expected, actual, place)
        elif type(expected) is not type(actual):
            yield _problem(f"{place} is {_kind(actual)}, expected {_kind(expected)}")
        elif isinstance(expected, dict) and isinstance(actual, dict):
            if expected.keys() != actual.keys():
                yield _problem(f"{place} has the keys {list(actual)}, expected {list(expected)}")
            for key in expected.keys() & actual.keys():
                yield from self._differences(expected[key], actual[key], f"{place}[{key!r}]")
        elif isinstance(expected, (list, tuple)) and isinstance(actual, (list, tuple)):
            yield from self._sequences(expected, actual, place)
        elif isinstance(expected, (float, complex)) and isinstance(actual, (float, complex)):
            yield self._numbers(np.array(expected), np.array(actual), "complex128", place)
        elif expected != actual:
            yield _problem(f"{place} is {actual!r:.60}, expected {expected!r:.60}")

    def _sequences(
        self, expected: list[Value] | tuple[Value, ...], actual: list[Value] | tuple[Value, ...], place: str
    ) -> Iterator[Comparison]:
        if len(expected) != len(actual):
            yield _problem(f"{place} has {format_count(len(actual), 'item')}, expected {len(expected):,}")
        elif (numbers := packed(expected)) and numbers == packed(actual):
            return
        elif {float}.issuperset(map(type, (*expected, *actual))):
            yield self._numbers(np.array(expected), np.array(actual), "float64", place)
        else:
            for index, (one, other) in enumerate(zip(expected, actual, strict=True)):
                yield from self._differences(one, other, f"{place}[{index}]")

    def _arrays(self, expected: Array, actual: Array, place: str) -> Comparison:
        problems = tuple(self._layout_problems(expected.layout, actual.layout, place))
        if expected.layout.shape != actual.layout.shape:
            return Comparison(problems)
        numbers = self._numbers(decoded(expected), decoded(actual), expected.layout.dtype, place)
        return Comparison(problems) + numbers

    def _layout_problems(self, expected: Layout, actual: Layout, place: str) -> Iterator[str]:
        for name in ("library", "dtype", "shape", "device"):
            wanted, got = getattr(expected, name), getattr(actual, name)
            if wanted != got:
                yield f"{place} has the {name} {_shown(got)}, expected {_shown(wanted)}"
        if self.compares_strides and expected.shape == actual.shape and _steps(expected) != _steps(actual):
            yield f"{place} has the strides {_shown(actual.strides)}, expected {_shown(expected.strides)}"

    def _numbers(self, expected: Numbers, actual: Numbers, dtype: str, place: str) -> Comparison:
        """Compare elements. NaN is right only where NaN is expected, infinity only where the same one is."""
        if expected.size == 0:
            return Comparison()
        if self.tolerance.is_exact(dtype):
            return _exactly(expected, actual, place)
        with np.errstate(invalid="ignore", over="ignore"):
            error = np.abs(actual - expected)
            is_right = (error <= self._allowed(expected, dtype)) | _is_same(expected, actual)
        if self.nan_is_wildcard:
            is_right |= np.isnan(error)
        finite = np.isfinite(error)
        largest = Comparison(
            largest_absolute=float(error[finite].max(initial=0.0)),
            largest_relative=_largest_relative(error[finite], expected[finite]),
        )
        return largest if is_right.all() else largest + _wrong_elements(expected, actual, is_right, place)

    def _allowed(self, expected: Numbers, dtype: str) -> Numbers:
        """The largest error allowed, per element: 0 where the expected number is not finite."""
        size = np.where(np.isfinite(expected), np.abs(expected), 0.0)
        if self.tolerance.absolute is not None:
            return np.where(np.isfinite(expected), self.tolerance.absolute, 0.0)
        relative = self.tolerance.relative(dtype)
        return np.where(np.isfinite(expected), relative * (size + _root_mean_square(size)), 0.0)


def _root_mean_square(size: Numbers) -> float:
    largest = float(size.max())
    return largest * float(np.sqrt(np.mean((size / largest) ** 2))) if largest > 0 else 0.0


def _is_same(expected: Numbers, actual: Numbers) -> Numbers:
    """Where two numbers are the same one, or neither is a number."""
    same: Numbers = (expected == actual) | (np.isnan(expected) & np.isnan(actual))
    return same


def _exactly(expected: Numbers, actual: Numbers, place: str) -> Comparison:
    is_right = expected == actual
    if is_right.all():
        return Comparison()
    error = np.abs(actual.astype(np.float64) - expected.astype(np.float64))
    largest = Comparison(
        largest_absolute=float(error.max()), largest_relative=_largest_relative(error, expected)
    )
    return largest + _wrong_elements(expected, actual, is_right, place)


def _largest_relative(error: Numbers, expected: Numbers) -> float:
    """The largest error as a share of the expected number, where that is not 0."""
    size = np.abs(expected)
    known = (size > 0) & np.isfinite(size)
    with np.errstate(over="ignore"):
        return float((error[known] / size[known]).max(initial=0.0))


def _wrong_elements(expected: Numbers, actual: Numbers, is_right: Numbers, place: str) -> Comparison:
    """How many elements are wrong, and the first of them."""
    wrong = np.argwhere(~is_right)
    first = tuple(int(index) for index in wrong[0])
    at = f"{place}{list(first)}" if first else place
    example = f"{at} is {actual[first].item()!r}, expected {expected[first].item()!r}"
    extra_nan = int((np.isnan(actual) & ~np.isnan(expected)).sum()) if actual.dtype.kind in "fc" else 0
    nan = f", {extra_nan:,} are NaN where a number belongs" if extra_nan else ""
    if expected.size == 1:
        return _problem(example)
    return _problem(f"{place}: {len(wrong):,} of {expected.size:,} elements are wrong{nan}; {example}")


def _problem(text: str) -> Comparison:
    return Comparison(problems=(text,))


def _steps(layout: Layout) -> tuple[int, ...]:
    """The strides that matter: an axis of one element is never stepped along."""
    if layout.count <= 1:
        return ()
    return tuple(stride for size, stride in zip(layout.shape, layout.strides, strict=True) if size > 1)


def _shown(value: object) -> str:
    return repr(list(value)) if isinstance(value, tuple) else str(value)


def _kind(value: Value) -> str:
    if isinstance(value, Array):
        return f"a {value.layout.library} array"
    name = type(value).__name__
    return "nothing" if value is None else f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
