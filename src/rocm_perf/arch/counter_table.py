"""The packaged tables of counters as they are read: definitions.tsv, releases.toml and blocks.toml."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from typing import NamedTuple, TypeVar

import msgspec

from rocm_perf.arch.toml import read_toml
from rocm_perf.once import once

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
    """A release that definitions were taken from, and the chip they are for."""

    rocm: str
    gfx: str
    source: str
    licence: str
    commit: str = ""
    date: str = ""

    def covers(self, gfx: str) -> bool:
        """Whether the release was asked about this chip."""
        return self.gfx in (EVERY_CHIP, gfx)


class Later(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A chip that newer releases define."""

    family: str
    since: str
    lacks: tuple[str, ...] = ()  # names and wildcards of the family that the chip does not have


class Releases(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of releases.toml."""

    release: tuple[Release, ...]
    families: Mapping[str, tuple[str, ...]]
    later: Mapping[str, Later]


class Block(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part of the GPU with counters of its own, and how many of them one pass holds."""

    slots: int
    title: str
    assumed: bool = False  # no source states the number of slots


class Blocks(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of blocks.toml."""

    source: str
    assumed_slots: int
    block: Mapping[str, Block]


def toml(name: str, kind: type[T]) -> T:
    """A TOML file of counters/, converted to `kind`."""
    return msgspec.convert(read_toml(_text(name).encode(), name), kind)


@once
def releases() -> Releases:
    """The releases that definitions were taken from."""
    return toml("releases.toml", Releases)


@once
def blocks() -> Blocks:
    """The blocks of the hardware and their slots."""
    return toml("blocks.toml", Blocks)


@once
def rows() -> tuple[Row, ...]:
    """Every definition of every counter."""
    return tuple(
        Row(
            counter=counter,
            block=block,
            expression=expression,
            rocm=frozenset(rocm.split()),
            gfx=frozenset(gfx.split()),
        )
        for counter, block, expression, rocm, gfx, _ in _lines()
    )


@once
def descriptions() -> Mapping[str, str]:
    """What each counter counts, by its name."""
    return {line[0]: line[-1] for line in _lines() if line[-1]}


@once
def chips() -> frozenset[str]:
    """Every chip and family that a definition names."""
    return frozenset().union(*(row.gfx for row in rows()))


def version(rocm: str) -> tuple[int, ...]:
    """7.2.4 as (7, 2, 4); ValueError if it is not a release."""
    return tuple(int(part) for part in rocm.split("."))


def _lines() -> list[list[str]]:
    lines = [line for line in _text("definitions.tsv").splitlines() if not line.startswith("#")]
    return [line.split("\t") for line in lines[1:]]


def _text(name: str) -> str:
    return (resources.files("rocm_perf.arch") / "counters" / name).read_text(encoding="utf-8")
