"""The carried tables of counters, as they are read: definitions.tsv, releases.toml and blocks.toml."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import NamedTuple, TypeVar

import msgspec

from rocm_perf.arch.toml import read_toml

EVERY_CHIP = "all"

T = TypeVar("T")


class Row(NamedTuple):
    """One definition of one counter: either a block of the hardware counts it, or an expression gives it."""

    counter: str
    block: str
    expression: str
    rocm: frozenset[str]
    gfx: frozenset[str]


class Release(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A release that definitions were taken from, and the chip it was asked about."""

    rocm: str
    gfx: str
    source: str
    licence: str
    commit: str = ""
    date: str = ""

    def speaks_of(self, gfx: str) -> bool:
        return self.gfx in (EVERY_CHIP, gfx)


class Later(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A chip that newer releases define."""

    family: str
    since: str


class Releases(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    release: tuple[Release, ...]
    families: Mapping[str, tuple[str, ...]]
    later: Mapping[str, Later]


class Block(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part of the GPU with counters of its own, and how many of them one pass holds."""

    slots: int
    title: str
    assumed: bool = False  # no source states the number of slots


class Blocks(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    source: str
    assumed_slots: int
    block: Mapping[str, Block]


def toml(name: str, kind: type[T]) -> T:
    """A file of counters/ as what it should hold."""
    return msgspec.convert(read_toml(_text(name).encode(), name), kind)


@cache
def releases() -> Releases:
    return toml("releases.toml", Releases)


@cache
def blocks() -> Blocks:
    return toml("blocks.toml", Blocks)


@cache
def rows() -> tuple[Row, ...]:
    return tuple(
        Row(counter, block, expression, frozenset(rocm.split()), frozenset(gfx.split()))
        for counter, block, expression, rocm, gfx, _ in _lines()
    )


@cache
def descriptions() -> Mapping[str, str]:
    return {line[0]: line[-1] for line in _lines() if line[-1]}


@cache
def chips() -> frozenset[str]:
    """Every chip and family that a definition names."""
    return frozenset().union(*(row.gfx for row in rows()))


def version(rocm: str) -> tuple[int, ...]:
    """7.2.4 as (7, 2, 4); ValueError where it is no release."""
    return tuple(int(part) for part in rocm.split("."))


def _lines() -> list[list[str]]:
    lines = [line for line in _text("definitions.tsv").splitlines() if not line.startswith("#")]
    return [line.split("\t") for line in lines[1:]]


def _text(name: str) -> str:
    return (resources.files("rocm_perf.arch") / "counters" / name).read_text(encoding="utf-8")
