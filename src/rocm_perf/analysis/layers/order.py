"""What equal layers run, in its order, and how they differ."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rocm_perf.analysis.basis.names import short_name
from rocm_perf.analysis.layers.alikeness import Content, common_order
from rocm_perf.analysis.layers.repetition import Stack
from rocm_perf.analysis.layers.units import Unit
from rocm_perf.model.results.layers import LayerKernel, LayerKind


@dataclass(frozen=True)
class LayerWork:
    """The layers of a unit that run the same kernels, in one or several stacks of it. `operators`: owner, operator
    and shapes of each kernel of the unit."""

    unit: Unit
    operators: pl.DataFrame
    stacks: tuple[Stack, ...]

    @cached_property
    def contents(self) -> list[Content]:
        """The kernels of each layer: the same in every stack."""
        return self.stacks[0].contents(self.unit.codes)

    @cached_property
    def layer_ns(self) -> NDArray[np.float64]:
        """The time of each layer (columns) in each stack (rows), the median over the steps."""
        return np.array([self._times(stack) for stack in self.stacks])

    def _times(self, stack: Stack) -> list[float]:
        spans = pairwise(stack.borders)
        return [float(np.median(self.unit.times[:, start:end].sum(axis=1))) for start, end in spans]

    @cached_property
    def total_ns(self) -> float:
        """The time of all layers in one step."""
        spans = [stack.borders for stack in self.stacks]
        return sum(float(self.unit.mean_ns[borders[0] : borders[-1]].sum()) for borders in spans)

    @cached_property
    def kinds(self) -> list[Content]:
        """The different contents, the most frequent first."""
        return [content for content, _ in Counter(self.contents).most_common()]

    @cached_property
    def common(self) -> tuple[Content, list[list[int]]]:
        """The kernels of all kinds in one order, and the places of each kind in it."""
        return common_order(self.kinds)

    def places(self) -> dict[int, list[int]]:
        """For each place of the common order, where its kernels stand in the unit."""
        taken = dict(zip(self.kinds, self.common[1], strict=True))
        places: dict[int, list[int]] = defaultdict(list)
        for stack in self.stacks:
            for start, content in zip(stack.borders[:-1], self.contents, strict=True):
                for offset, place in enumerate(taken[content]):
                    places[place].append(start + offset)
        return places

    @cached_property
    def operators_inside(self) -> pl.DataFrame:
        """Operator and shapes of each kernel, null for what lies around several layers: a compiled region."""
        layers = pl.Series([None] * len(self.unit.kernels), dtype=pl.Int64)
        for number, span in enumerate(span for stack in self.stacks for span in pairwise(stack.borders)):
            layers = layers.scatter(list(range(*span)), number)
        numbered = self.operators.with_columns(layer=layers)
        inside = (pl.col("layer").drop_nulls().n_unique() <= 1).over("owner")
        known = pl.when(inside)
        return numbered.select(known.then(name).alias(name) for name in ("operator", "shapes"))


def order_of(work: LayerWork) -> tuple[LayerKernel, ...]:
    """The kernels of all layers in their order, those that only some layers run among them."""
    total = work.total_ns
    return tuple(_kernel(work, places, total) for _, places in sorted(work.places().items()))


def _kernel(work: LayerWork, places: Sequence[int], total_ns: float) -> LayerKernel:
    total = float(work.unit.mean_ns[list(places)].sum())
    name = work.unit.kernels[places[0]]
    return LayerKernel(
        kernel=name,
        short_name=short_name(name),
        operator=_usual(work.operators_inside["operator"], places),
        shapes=_usual(work.operators_inside["shapes"], places),
        layers=len(places) // len(work.stacks),
        each_ns=float(np.median(work.unit.median_ns[list(places)])),
        total_ns=total,
        share=total / total_ns if total_ns else 0.0,
    )


def _usual(values: pl.Series, places: Sequence[int]) -> str | None:
    """The most frequent of the values that are known."""
    known = Counter(value for place in places if (value := values[place]) is not None)
    return known.most_common(1)[0][0] if known else None


def kinds_of(work: LayerWork) -> tuple[LayerKind, ...]:
    """The kinds of layers, by what they run."""
    order, taken = work.common
    filled = Counter(place for content in work.contents for place in taken[work.kinds.index(content)])
    usual = {place for place, count in filled.items() if 2 * count > len(work.contents)}
    everywhere = {place for place, count in filled.items() if count == len(work.contents)}
    names = dict(zip(work.unit.codes, map(short_name, work.unit.kernels), strict=True))
    return tuple(
        LayerKind(
            numbers=tuple(number for number, own in enumerate(work.contents) if own == content),
            kernels=len(content),
            median_ns=_median_ns(work, content),
            own=tuple(names[order[place]] for place in sorted(set(places) - everywhere - usual)),
            lacks=tuple(names[order[place]] for place in sorted(usual - set(places))),
        )
        for content, places in zip(work.kinds, taken, strict=True)
    )


def _median_ns(work: LayerWork, content: Content) -> float:
    columns = [place for place, own in enumerate(work.contents) if own == content]
    return float(np.median(work.layer_ns[:, columns]))
