"""Names of slices and texts of details, each of which the timeline holds once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from rocm_perf.analysis.basis.names import short_name
from rocm_perf.analysis.timeline.layer import Layer
from rocm_perf.model.results.timeline import SLICE, SliceDetail


class Interned:
    """The names and texts of all layers, numbered in the order in which they are first met."""

    def __init__(self, layers: Sequence[Layer]) -> None:
        texts = [text.unique(maintain_order=True) for layer in layers for text in _texts(layer)]
        distinct = pl.concat([pl.Series([], dtype=pl.String), *texts]).drop_nulls()
        self._numbers = pl.Enum(distinct.unique(maintain_order=True))
        self.names = tuple(self._numbers.categories)
        kernels = {
            name for layer in layers if layer.kind == "queue" for name in layer.slices["name"].unique()
        }
        self.labels = tuple(short_name(name) if name in kernels else name for name in self.names)

    def slices(self, layer: Layer) -> pl.DataFrame:
        """The slices of a layer as the timeline has them."""
        numbered = layer.slices.with_columns(pl.col("name").cast(self._numbers).to_physical())
        return numbered.select(pl.col(column).cast(dtype) for column, dtype in SLICE.items())

    def details(self, layer: Layer, first: int) -> Iterator[SliceDetail]:
        """What is known of the slices of a layer, which begin at row `first` of the timeline's."""
        for column, meaning in layer.details.items():
            values = layer.slices[column]
            is_text = values.dtype == pl.String
            yield SliceDetail(
                label=meaning.label,
                unit=meaning.unit,
                first=first,
                values=values.cast(self._numbers).to_physical().cast(pl.UInt32) if is_text else values,
                is_text=is_text,
            )


def _texts(layer: Layer) -> Iterator[pl.Series]:
    yield layer.slices["name"]
    for column in layer.details:
        if layer.slices[column].dtype == pl.String:
            yield layer.slices[column]
