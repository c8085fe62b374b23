"""Rows of a forest (basis/forest.py) numbered anew, because some are left out and others go in between them."""

from __future__ import annotations

import msgspec
import polars as pl

from rocm_perf.analysis.basis.forest import itself_or_around


class KeptRows(msgspec.Struct, frozen=True):
    """`kept`: whether each row stays. `numbers`: the number that each then has, with one more for the end. `closest`:
    of each row the closest one that stays, itself or around it."""

    kept: pl.Series
    numbers: pl.Series
    closest: pl.Series

    def of(self, rows: pl.Series) -> pl.Series:
        """The numbers of these rows, or of what stays around them."""
        return self.numbers.gather(self.closest.gather(rows)).alias(rows.name)

    def spans(self, nested: pl.DataFrame) -> pl.DataFrame:
        """The spans that stay, with their new numbers."""
        own = self.numbers.slice(0, nested.height)
        behind = self.numbers.gather(nested["behind"])
        numbered = nested.with_columns(row=own, parent=self.of(nested["parent"]), behind=behind)
        return numbered.filter(self.kept)

    def later(self, moves: pl.Series) -> KeptRows:
        """The rows with room between them: `moves` says how far each moves."""
        return msgspec.structs.replace(self, numbers=(self.numbers + moves).cast(pl.UInt32))


def kept_rows(parents: pl.Series, kept: pl.Series) -> KeptRows:
    """The kept rows, numbered from 0 on."""
    before = pl.concat([pl.zeros(1, pl.UInt32, eager=True), kept.cum_sum().cast(pl.UInt32)])
    return KeptRows(kept=kept, numbers=before, closest=itself_or_around(parents, kept))
