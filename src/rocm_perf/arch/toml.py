"""Reads TOML files, or refuses them by name. The one place that knows which Python versions include a parser."""

from __future__ import annotations

import sys
from typing import Any

from rocm_perf.errors import InputError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found, unused-ignore]

__all__ = ["read_toml", "tomllib"]


def read_toml(data: bytes, name: str) -> dict[str, Any]:
    """The tables of a file; `name` is what an error calls it."""
    try:
        tables: dict[str, Any] = tomllib.loads(data.decode())
    except (
        ValueError,
        RecursionError,
    ) as error:  # of a number too long or lists too deep, beside its own errors
        raise InputError(f"{name} is not valid TOML", str(error)) from error
    return tables
