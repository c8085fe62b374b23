"""The family of a kernel, by the pattern table in families.toml."""

from __future__ import annotations

import re
from functools import lru_cache
from importlib import resources
from typing import Literal

import msgspec
import polars as pl

from rocm_perf.analysis.basis.names import LONGEST, demangle, short_name
from rocm_perf.arch.toml import read_toml
from rocm_perf.model.results.kernels import Family, FamilyName
from rocm_perf.once import once

OTHER = Family("other", "")
RUNTIME = "ROCm runtime"  # copies and fills that the program asked for as such
# A product of a matrix and one vector uses each element of the matrix once.
MATRIX_VECTOR = re.compile(r"gemv|mat_?vec|mmvq", re.IGNORECASE)
CONVERSION = Family("copy", "MIOpen, cuDNN")  # of layouts and types, around kernels of these libraries


class Rule(msgspec.Struct, frozen=True):
    """One row of the pattern table."""

    family: FamilyName
    library: str
    pattern: str
    examples: tuple[str, ...]
    on: Literal["name", "full"] = "name"


@once
def rules() -> tuple[Rule, ...]:
    """The pattern table, in order."""
    file = resources.files("rocm_perf.analysis.time") / "families.toml"
    return msgspec.convert(read_toml(file.read_bytes(), "families.toml")["rule"], tuple[Rule, ...])


@lru_cache(maxsize=1 << 20)
def family(kernel: str) -> Family:
    """The family of a kernel, by the first rule that matches its name."""
    full = demangle(kernel)[:LONGEST]
    texts = {"name": short_name(kernel).removesuffix(".kd"), "full": full}
    for rule, pattern in _patterns():
        if pattern.search(texts[rule.on]):
            return Family(rule.family, rule.library)
    return OTHER


def families(names: pl.Series) -> pl.Series:
    """The family of each kernel; distinct names are worked out once."""
    distinct = names.unique().drop_nulls()
    kinds = pl.Series([family(name).name for name in distinct], dtype=pl.String)
    by_kernel: pl.Series = names.replace_strict(distinct, kinds, default=None, return_dtype=pl.String)
    return by_kernel


def is_collective(names: pl.Series) -> pl.Series:
    """Whether each kernel communicates; null for null."""
    collectives = [name for name in names.unique() if name is not None and family(name).name == "collective"]
    if not collectives and not names.null_count():
        return pl.repeat(False, names.len(), dtype=pl.Boolean, eager=True).alias(names.name)
    return names.is_in(collectives)


@once
def _patterns() -> tuple[tuple[Rule, re.Pattern[str]], ...]:
    return tuple((rule, re.compile(rule.pattern)) for rule in rules())
