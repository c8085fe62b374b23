"""The files of the catalogue: which facts a GPU has, each with its source, checked before anyone uses them.

A file describes one chip (gfx). Facts are in tables named after their source: `[from.specs]` holds what all GPUs of the
chip share, `[sku.from.specs]` below a `[[sku]]` what that product has.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NoReturn

import msgspec

from rocm_perf.arch.gpu import Gpu, Method, Source
from rocm_perf.errors import InputError

_CHIP_KEYS = {"gfx", "vendor", "family", "matrix_unit", "sources", "from", "method", "sku"}
_SKU_KEYS = {"name", "aliases", "from"}
_LABELS = {"name", "gfx", "vendor", "family", "aliases", "matrix_unit", "methods", "sources"}
_FIELDS = {field.name: field for field in msgspec.structs.fields(Gpu) if field.name not in _LABELS}
_MAPPINGS = {"max_waves_per_simd", "vgprs_per_simd", "vgpr_granule", "vector_tflops", "matrix_tflops"}
_UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
# Limits that no GPU exceeds: a number outside them has a wrong unit or digit.
_MOST = 1e300  # a float may not hold more
_RANGES = {
    "compute_units": (1, 1024),
    "clock_mhz": (200, 5000),
    "memory_gbps": (10, 50_000),
    "memory_bus_bits": (32, 1 << 16),
    "memory_gbps_per_pin": (0.5, 100),
    "memory_bytes": (1 << 28, 1 << 42),
    "vector_tflops": (0.01, 5000),
    "matrix_tflops": (0.01, 100_000),
    "board_power_w": (3, 5000),
    "links": (1, 64),
    "link_gbps": (1, 1000),
    "links_per_peer": (1, 64),
}


class Fact(msgspec.Struct, frozen=True):
    """A value and where it was taken from."""

    value: Any
    source: Source


Facts = Mapping[str, Fact]  # by field; "matrix_tflops.f16" for an entry of a mapping


class Sku(msgspec.Struct, frozen=True):
    """What a file says about one product."""

    name: str
    aliases: tuple[str, ...]
    facts: Facts


class Chip(msgspec.Struct, frozen=True):
    """What a file says about one gfx."""

    file: str
    gfx: str
    labels: Mapping[str, str]  # vendor, family, matrix_unit
    facts: Facts
    methods: tuple[Method, ...]
    method_sources: Mapping[str, Source]
    skus: tuple[Sku, ...]


def read_sources(tables: Mapping[str, Any], file: str) -> dict[str, Source]:
    """The sources that a file lists, by the name that it gives them."""
    return {key: _converted(entry, Source, file, f"source {key!r}") for key, entry in tables.items()}


def read_chip(tables: Mapping[str, Any], file: str, shared: Mapping[str, Source]) -> Chip:
    """The chip that a file describes; `shared` are sources that every file can name."""
    _only(tables, _CHIP_KEYS, file, "")
    if not isinstance(tables.get("gfx"), str):
        _refuse(file, "gfx", "is missing")
    sources = {**shared, **read_sources(_table(tables, "sources", file), file)}
    methods = [_converted(entry, Method, file, "method") for entry in _tables(tables, "method", file)]
    return Chip(
        file=file,
        gfx=tables["gfx"],
        labels={
            key: _text(tables[key], file, key) for key in ("vendor", "family", "matrix_unit") if key in tables
        },
        facts=_facts(_table(tables, "from", file), file, "", sources),
        methods=tuple(
            msgspec.structs.replace(m, source=_source(sources, m.source, file, m.name).title) for m in methods
        ),
        method_sources={f"methods.{m.name}": sources[m.source] for m in methods},
        skus=tuple(_sku(entry, file, sources) for entry in _tables(tables, "sku", file)),
    )


def _sku(entry: Mapping[str, Any], file: str, sources: Mapping[str, Source]) -> Sku:
    name = entry.get("name")
    if not isinstance(name, str) or not name.strip():
        _refuse(file, "sku", "has no name")
    _only(entry, _SKU_KEYS, file, f"{name}: ")
    aliases = entry.get("aliases", [])
    if not isinstance(aliases, list) or not all(isinstance(alias, str) for alias in aliases):
        _refuse(file, f"{name}: aliases", "is not a list of names")
    return Sku(name, tuple(aliases), _facts(_table(entry, "from", file), file, f"{name}: ", sources))


def _facts(tables: Mapping[str, Any], file: str, owner: str, sources: Mapping[str, Source]) -> Facts:
    facts: dict[str, Fact] = {}
    for key, entries in tables.items():
        source = _source(sources, key, file, f"{owner}from.{key}")
        if not isinstance(entries, dict):
            _refuse(file, f"{owner}from.{key}", "is not a table of facts")
        for path, value in _flat(entries):
            field = path.split(".")[0]
            if field not in _FIELDS:
                _refuse(file, owner + path, "is not a field of a GPU")
            if path in facts:
                _refuse(file, owner + path, "is given twice")
            facts[path] = Fact(_checked(value, field, file, owner + path), source)
    return facts


def _flat(entries: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in entries.items():
        if key in _MAPPINGS and isinstance(value, dict):
            yield from ((f"{key}.{entry}", number) for entry, number in value.items())
        else:
            yield key, value


def _checked(value: Any, field: str, file: str, where: str) -> Any:
    if isinstance(value, str) and ("bytes" in field or "lds" in field):
        value = _size(value, file, where)
    for number in value if isinstance(value, list) else [value]:
        if isinstance(number, bool) or not isinstance(number, int | float):
            continue
        if isinstance(number, int) and number > _MOST:
            _refuse(file, where, "is larger than any number of a GPU")
        if not math.isfinite(number) or number <= 0:
            _refuse(file, where, f"is {number}, not a positive number")
        low, high = _RANGES.get(field, (0, math.inf))
        if not low <= number <= high:
            _refuse(file, where, f"is {number:g}, outside the physical range {low:g} to {high:g}")
    return value


def _size(text: str, file: str, where: str) -> int:
    parts = re.fullmatch(r"(\d+) (B|KiB|MiB|GiB)", text)
    if parts is None:
        _refuse(file, where, f"is {text!r}, not a size such as '64 KiB'")
    return int(parts[1]) * _UNITS[parts[2]]


def build(chip: Chip, sku: Sku, facts: Facts) -> Gpu:
    """The GPU with these facts: those of the chip, of the SKU, and of the user's files."""
    values: dict[str, Any] = {name: {} for name in _MAPPINGS}
    for path, fact in facts.items():
        field, _, entry = path.partition(".")
        if entry:
            values[field][entry] = fact.value
        else:
            values[field] = fact.value
    for name, field_info in _FIELDS.items():
        if name not in values and field_info.required:
            values[name] = None  # refused below if the field must have a value
    labels = {"matrix_unit": None, **chip.labels}
    record = {"name": sku.name, "gfx": chip.gfx, "aliases": sku.aliases, **labels, **values}
    gpu: Gpu = _converted(record, Gpu, chip.file, sku.name)
    for field in ("vgprs_per_simd", "max_waves_per_simd", "vgpr_granule"):
        if set(getattr(gpu, field)) != set(gpu.wave_sizes):
            _refuse(
                chip.file,
                f"{sku.name}: {field}",
                f"does not have one entry for each of the wave sizes {gpu.wave_sizes}",
            )
    sources = {**{path: fact.source for path, fact in facts.items()}, **chip.method_sources}
    return msgspec.structs.replace(gpu, methods=chip.methods, sources=sources)


def _converted(record: Any, kind: Any, file: str, owner: str) -> Any:
    try:
        return msgspec.convert(record, kind, str_keys=True)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at `$")
        field = where.strip(".`").strip()
        reason = "is missing" if "got `null`" in what else f"is wrong: {what}"
        _refuse(file, f"{owner}: {field}" if field else owner, reason)


def _source(sources: Mapping[str, Source], key: str, file: str, where: str) -> Source:
    if key not in sources:
        _refuse(file, where, f"names the source {key!r}, which [sources] does not have")
    return sources[key]


def _only(entry: Mapping[str, Any], known: Iterable[str], file: str, owner: str) -> None:
    for key in entry:
        if key in _FIELDS and key not in known:
            _refuse(
                file, owner + key, "has no source: put it in the table [from.SOURCE] or [sku.from.SOURCE]"
            )
        if key not in known:
            _refuse(file, owner + key, "is not a field of this file")


def _table(entry: Mapping[str, Any], key: str, file: str) -> Mapping[str, Any]:
    value = entry.get(key, {})
    if not isinstance(value, dict):
        _refuse(file, key, "is not a table")
    return value


def _tables(entry: Mapping[str, Any], key: str, file: str) -> list[Mapping[str, Any]]:
    value = entry.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        _refuse(file, key, f"is not a list of tables: write [[{key}]]")
    return value


def _text(value: Any, file: str, where: str) -> str:
    if not isinstance(value, str):
        _refuse(file, where, "is not text")
    return value


def _refuse(file: str, where: str, what: str) -> NoReturn:
    raise InputError(f"{file}: {where} {what}", next_step="See docs/gpus.md for the form of these files.")
