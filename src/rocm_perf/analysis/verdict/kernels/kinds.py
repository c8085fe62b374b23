"""What a kernel's name tells where nothing was measured: its kind, what then probably limits it, and what to do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources

import msgspec

from rocm_perf.analysis.basis.names import LONGEST, demangle, short_name
from rocm_perf.analysis.limits.tiles import tile
from rocm_perf.analysis.operators.work.grouped_kernels import product_of
from rocm_perf.analysis.remedies.setting import Setting, Vendor
from rocm_perf.analysis.remedies.table import Row, checked, chosen, remedy
from rocm_perf.analysis.time.kernel_family import family
from rocm_perf.arch.toml import read_toml
from rocm_perf.errors import InputError
from rocm_perf.model.results.kernels import FamilyName
from rocm_perf.once import once

_PACKAGE = "rocm_perf.analysis.verdict.kernels"
_KINDS, _ACTIONS = "kinds.toml", "actions.toml"
# Rows of a tile. Libraries choose small ones where the result has few rows. A weight of 16 bits that is used for 32
# rows is worth 32 FLOPs a byte; GPUs that can compute 100 to 300 for each byte then wait for memory.
_FEW_ROWS = 32
_LONG = 2  # times the short side: of small tiles that are square a small result is as likely
_MANY_ROWS = 128  # both sides: 64 FLOPs a byte and more, and the caches serve the rest


class KernelKind(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One row of kinds.toml, where the fields are explained."""

    name: str
    does: str
    examples: tuple[str, ...]
    family: tuple[FamilyName, ...] = ()
    library: tuple[str, ...] = ()
    pattern: str = ""
    limit: str = ""
    why: str = ""
    roof: bool = False
    graph: bool = False
    tile: bool = False
    another: bool = False
    narrow: bool = False
    remedy: str = ""
    vendor: Vendor | None = None

    def fits(self, kernel: str) -> bool:
        """Return whether a kernel is of this kind."""
        known = family(kernel)
        if (self.family and known.name not in self.family) or (
            self.library and known.library not in self.library
        ):
            return False
        texts = (short_name(kernel), demangle(kernel)[:LONGEST])
        return not self.pattern or any(re.search(self.pattern, text) for text in texts)


class Guess(msgspec.Struct, frozen=True):
    """What probably limits a kernel, and why."""

    limit: str
    why: str
    roof: bool  # the limit is a roof


@once
def kinds() -> tuple[KernelKind, ...]:
    """Return the kinds, in their order, each with something to do. Raise InputError for a file that is wrong."""
    return checked_kinds(_read(_KINDS))


def checked_kinds(data: bytes) -> tuple[KernelKind, ...]:
    """Return the kinds of a file. Raise InputError where one cannot be recognised, or has nothing to do about it."""
    try:
        listed = msgspec.convert(read_toml(data, _KINDS)["kind"], tuple[KernelKind, ...])
    except msgspec.ValidationError as error:
        raise InputError(f"{_KINDS} has a wrong row", str(error)) from error
    for kind in listed:
        if not kind.remedy and kind.name not in actions():
            raise InputError(f"{_ACTIONS} has no remedy for {kind.name}")
        if bool(kind.limit) != bool(kind.why):
            raise InputError(f"{_KINDS}: {kind.name}: a limit and the reason for it belong together")
    return listed


@once
def actions() -> Mapping[str, tuple[Row, ...]]:
    """Return what to do about each kind, in every setting."""
    return checked(_read(_ACTIONS)).causes


@lru_cache(maxsize=1 << 14)
def kind_of(kernel: str) -> KernelKind | None:
    """Return the kind of a kernel, where its name tells one."""
    return next((kind for kind in kinds() if kind.fits(kernel)), None)


def action(kind: KernelKind, setting: Setting) -> str:
    """Return what to do about a kernel of this kind in this setting."""
    if kind.remedy:
        return remedy(kind.remedy, setting)
    return chosen(actions()[kind.name], setting).text


def guess(kind: KernelKind, kernel: str, *, replayed: bool) -> Guess | None:
    """Return what probably limits a kernel, by its tile or by what such kernels do; None where neither tells.

    Parameters
    ----------
    replayed
        Whether it runs in replays of a graph, as servers decode.
    """
    by_tile = _by_tile(kernel, kind) if kind.tile else None
    if by_tile is not None:
        return by_tile
    if not kind.limit or (kind.graph and not replayed):
        return None
    return Guess(kind.limit, kind.why, roof=kind.roof)


def _by_tile(kernel: str, kind: KernelKind) -> Guess | None:
    """Return what the tile in a name tells: the library chose it for the sizes of the product."""
    known, grouped = tile(kernel), product_of(kernel, (1, 1, 1))
    high, wide = (grouped.height, grouped.width) if grouped is not None else known.sides if known else (0, 0)
    if not high or not wide:
        return None
    few, many = sorted((high, wide))
    if few <= _FEW_ROWS and many >= _LONG * few:
        return Guess(
            kind.limit or "reading the larger operand sets the pace",
            f"its tiles have {high} x {wide} elements, as for results with few rows or columns: each value of the "
            "larger operand is read for little arithmetic",
            roof=True,
        )
    if few >= _MANY_ROWS:
        return Guess(
            "arithmetic sets the pace",
            f"its tiles have {high} x {wide} elements, as for large products, which use each value often",
            roof=True,
        )
    return None


def _read(name: str) -> bytes:
    return (resources.files(_PACKAGE) / name).read_bytes()
