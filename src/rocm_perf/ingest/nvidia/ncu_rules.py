"""Metrics that only the texts of Nsight Compute's rules name: stalls, sectors, conflicts and the fullest pipe."""

from __future__ import annotations

from importlib import resources

import msgspec
import polars as pl

from rocm_perf.arch.toml import read_toml
from rocm_perf.once import once


class Number(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A metric, and the text around its value."""

    metric: str
    pattern: str


def numbers_of_rules(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the metrics in the texts of rules, as counter and text.

    `rows` has a column `rule` with the text, beside which all other columns are kept."""
    texts = rows.drop_nulls("rule")
    found = [
        texts.with_columns(counter=pl.lit(number.metric), text=pl.col("rule").str.extract(number.pattern))
        for number in _numbers()
    ]
    return pl.concat(found).drop_nulls("text").drop("rule")


@once
def _numbers() -> tuple[Number, ...]:
    file = resources.files("rocm_perf.ingest.nvidia").joinpath("ncu_rules.toml")
    content = read_toml(file.read_bytes(), file.name)
    return msgspec.convert(content["number"], tuple[Number, ...])
