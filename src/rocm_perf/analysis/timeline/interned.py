"""Names of slices and texts of details, each of which the timeline holds once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from rocm_perf.analysis.basis.names import short_name
from rocm_perf.analysis.timeline.layer import Layer
from rocm_perf.model.results.timeline import SLICE, SliceDetail


class Interned:
    """The names of all layers. Names that are ids have entries of their own: a kernel may be called like one."""

    def __init__(self, layers: Sequence[Layer]) -> None:
        texts = [text for layer in layers for text in _texts(layer)]
        distinct = pl.concat(
            [pl.Series([], dtype=pl.String), *(text.unique(maintain_order=True) for text in texts)]
        )
        self._texts = distinct.drop_nulls().unique(maintain_order=True)
        self._ids = {id_: word for layer in layers for id_, word in layer.words.items()}
        kernels = {
            name for layer in layers if layer.kind == "queue" for name in layer.slices["name"].unique()
        }
        self.names = (*self._texts.to_list(), *self._ids)
        self.labels = (
            *(short_name(name) if name in kernels else name for name in self._texts),
            *self._ids.values(),
        )

    def slices(self, layer: Layer) -> pl.DataFrame:
        """The slices of a layer as the timeline has them."""
        name = self._ids_of(layer.slices["name"]) if layer.words else self._numbers(layer.slices["name"])
        return layer.slices.with_columns(name).select(
            pl.col(column).cast(dtype) for column, dtype in SLICE.items()
        )

    def details(self, layer: Layer, first: int) -> Iterator[SliceDetail]:
        """What is known of the slices of a layer, which begin at row `first` of the timeline's."""
        for column, meaning in layer.details.items():
            values = layer.slices[column]
            is_text = values.dtype == pl.String
            yield SliceDetail(
                label=meaning.label,
                unit=meaning.unit,
                first=first,
                values=self._numbers(values) if is_text else values,
                is_text=is_text,
            )

    def _numbers(self, texts: pl.Series) -> pl.Series:
        numbers: pl.Series = texts.cast(pl.Enum(self._texts)).to_physical().cast(pl.UInt32)
        return numbers

    def _ids_of(self, names: pl.Series) -> pl.Series:
        places = {name: place for place, name in enumerate(self._ids, start=self._texts.len())}
        numbers: pl.Series = names.replace_strict(places, return_dtype=pl.UInt32)
        return numbers


def _texts(layer: Layer) -> Iterator[pl.Series]:
    if not layer.words:
        yield layer.slices["name"]
    for column in layer.details:
        if layer.slices[column].dtype == pl.String:
            yield layer.slices[column]
