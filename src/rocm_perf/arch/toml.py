"""Reads TOML files, or refuses them by name. Python's own parser, compiled: reading the catalogue takes a third of the
time."""

from __future__ import annotations

from typing import Any

import tomli

from rocm_perf.errors import InputError


def read_toml(data: bytes, name: str) -> dict[str, Any]:
    """The tables of a file; `name` is what an error calls it."""
    try:
        tables: dict[str, Any] = tomli.loads(data.decode())
    except (
        ValueError,
        RecursionError,
    ) as error:  # of a number too long or lists too deep, beside its own errors
        raise InputError(f"{name} is not valid TOML", str(error)) from error
    return tables
