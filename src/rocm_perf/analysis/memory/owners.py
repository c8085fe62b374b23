"""To whom memory belongs: inferred from where it was allocated, where it was freed, and whether it was. Each rule says
what it rests on; where none fits, the owner is not known."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

NOT_KNOWN = "not known"
BEFORE = "before the recording"

# What cuBLAS asks for unless CUBLAS_WORKSPACE_CONFIG says otherwise (at::cuda::parseChosenWorkspaceSize): 4096 KiB
# twice and 16 KiB eight times; 32 MiB from Hopper on.
_CUBLAS_BYTES = (2 * (4096 << 10) + 8 * (16 << 10), 4096 * 8 << 10)


def _outlives(stage: str) -> pl.Expr:
    """Whether it was never freed, or is known to have been freed elsewhere."""
    elsewhere = pl.col("frees_have_sites") & (pl.col("freed_stage") != stage).fill_null(True)
    return pl.col("freed").is_null() | elsewhere


class _Rule(NamedTuple):
    owner: str
    known_by: str
    when: pl.Expr


_STAGE = pl.col("stage")
_STAYS = pl.col("freed").is_null()
# Where a snapshot has stacks, one without any is of a thread that runs no Python.
_NATIVE = (
    (pl.col("level") == "SNAPSHOT")
    & pl.col("site").is_null()
    & ~pl.col("earlier").fill_null(False)
    & pl.col("frees_have_sites")
)
_FREED_BY_PYTHON = pl.col("freed_site").is_not_null()

_RULES = (
    _Rule("workspace", "a library's workspace, by its call stack", _STAGE == "workspace"),
    _Rule(
        "workspace",
        "of the size of cuBLAS's workspace, made while a matrix product ran, and never freed",
        pl.col("requested_bytes").is_in(_CUBLAS_BYTES) & _STAYS & _STAGE.is_in(["forward", "backward"]),
    ),
    _Rule("KV cache", "made by a function for the KV cache", _STAGE == "kv cache"),
    _Rule("communication", "made by the code of collectives", _STAGE == "communication"),
    _Rule(
        "parameters", "made where modules make, move or load their parameters and buffers", _STAGE == "model"
    ),
    _Rule(
        "optimiser state",
        "made in the optimiser's step, and kept after it",
        (_STAGE == "optimiser") & _outlives("optimiser"),
    ),
    _Rule("workspace", "made and freed in the optimiser's step", _STAGE == "optimiser"),
    _Rule(
        "gradients",
        "made in the backward pass, and not freed in it",
        (_STAGE == "backward") & _outlives("backward"),
    ),
    _Rule("backward pass", "made and freed in the backward pass", _STAGE == "backward"),
    _Rule("activations", "made in a forward pass", _STAGE == "forward"),
    _Rule(
        "gradients",
        "made outside Python, as autograd's threads do, and freed by Python",
        _NATIVE & _FREED_BY_PYTHON,
    ),
    _Rule(
        "backward pass",
        "made and freed outside Python, as autograd's threads do",
        _NATIVE & ~_STAYS & pl.col("freed_site").is_null(),
    ),
)


def owner(lives: pl.DataFrame) -> pl.Series:
    """The owner of each allocation and how it is known, as a struct of `owner` and `known_by`."""
    frees_have_sites = (pl.col("freed_site").count().over("level") > 0).alias("frees_have_sites")
    fitting = [pl.when(rule.when).then(pl.lit(number)) for number, rule in enumerate(_RULES)]
    rules = lives.with_columns(frees_have_sites).select(pl.coalesce(fitting).alias("rule")).to_series()
    owners = dict(enumerate(rule.owner for rule in _RULES))
    reasons = dict(enumerate(rule.known_by for rule in _RULES))
    return pl.select(
        pl.struct(
            rules.replace_strict(owners, default=NOT_KNOWN, return_dtype=pl.String).alias("owner"),
            rules.replace_strict(reasons, default="", return_dtype=pl.String).alias("known_by"),
        ).alias("owner")
    ).to_series()
