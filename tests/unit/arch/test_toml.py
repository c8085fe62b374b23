"""TOML files of strangers: read, or refused with their name."""

from __future__ import annotations

import pytest

from rocm_perf.arch.toml import read_toml
from rocm_perf.errors import InputError


@pytest.mark.parametrize(
    "data",
    [b"a = ", b"\xff", b"a = " + b"9" * 5000, b"a = " + b"[" * 5000],
    ids=["cut", "not UTF-8", "thousands of digits", "thousands of lists"],
)
def test_what_is_not_toml_is_refused_by_name(data: bytes) -> None:
    with pytest.raises(InputError, match=r"^gpu.toml is not valid TOML: ."):
        read_toml(data, "gpu.toml")


def test_tables_are_read() -> None:
    assert read_toml(b"[a]\nb = 1", "gpu.toml") == {"a": {"b": 1}}
