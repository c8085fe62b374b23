"""Pickles of plain values, and those that want more."""

from __future__ import annotations

import contextlib
import pickle
import struct
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.ingest.io.plain_pickle import PROTOCOLS, PickleError, is_pickle, load_plain

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**64), 2**64) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
    max_leaves=20,
)


class Shouting:
    """What a hostile pickle makes of one."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self.call = (function, arguments)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return self.call


@given(value=PLAIN, protocol=st.sampled_from(PROTOCOLS))
def test_plain_values_come_back(value: Any, protocol: int) -> None:
    assert load_plain(pickle.dumps(value, protocol)) == value


@pytest.mark.parametrize("protocol", [2, 4])
@pytest.mark.parametrize(
    ("hostile", "named"),
    [
        (Shouting(print, "called"), "builtin.*print"),  # __builtin__ in protocol 2
        (Shouting(eval, "print('called')"), "builtin.*eval"),
        (date(2026, 1, 1), "datetime.date"),
        (Decimal(1), "decimal.Decimal"),
        ({1, 2}, "set"),
        (bytearray(b"x"), "bytearray"),
    ],
)
def test_what_it_would_construct_is_named_and_not_constructed(
    hostile: Any, named: str, protocol: int, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(PickleError, match=f"tries to construct .*{named}|opcode 0x"):
        load_plain(pickle.dumps({"segments": [hostile]}, protocol))
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "data",
    [
        b"\x80\x04N\x94r\xff\xff\xff\xff.",  # remembers a value under 4,294,967,295: room for 32 GiB
        b"\x80\x05\x96" + struct.pack("<Q", 1 << 40) + b".",  # a bytearray of 1 TiB
        b"\x80\x04X" + struct.pack("<I", 0xFFFFFFFF) + b"text.",
        b"\x80\x04\x8b" + struct.pack("<I", 1 << 20) + b"\x01" * (1 << 20) + b".",
    ],
)
def test_a_few_bytes_reserve_no_gigabytes(data: bytes) -> None:
    with pytest.raises(PickleError):
        load_plain(data)


@pytest.mark.parametrize("protocol", [0, 1])
def test_protocols_of_text_are_not_pickles_of_snapshots(protocol: int) -> None:
    assert not is_pickle(pickle.dumps({"segments": []}, protocol))


def test_one_that_breaks_off_says_where() -> None:
    whole = pickle.dumps({"segments": ["a" * 300, 1.5, 70_000, 2**40]}, 4)
    for size in range(2, len(whole)):
        with pytest.raises(PickleError, match=r"breaks off|do not fit"):
            load_plain(whole[:size])


@given(data=st.binary(max_size=64))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    with contextlib.suppress(PickleError):
        load_plain(b"\x80\x04" + data)


DOUBLED = b")" + b"".join(
    b"\x94h" + bytes([place]) + b"\x86" for place in range(60)
)  # a tuple of itself, 60 times over


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        (DOUBLED, "tuple"),
        (b")" + b"\x85" * 1000, "tuple"),
        (b")" + b"\x85" * 500_000, "tuple"),  # its hash overflows the stack
        (b"K\x01", "int"),  # which can be chosen to have the hash of others
        (b"G" + bytes(8), "float"),
        (b"N", "NoneType"),
        (b"C\x01x", "bytes"),
    ],
)
@pytest.mark.parametrize("ending", [b"K\x01s.", b"K\x01scos\nsystem\n."])
def test_keys_are_texts(key: bytes, kind: str, ending: bytes) -> None:
    with pytest.raises(PickleError, match=f"a key of a dictionary is of type {kind}"):
        load_plain(b"\x80\x04}" + key + ending)
    with pytest.raises(PickleError, match=f"a key of a dictionary is of type {kind}"):
        load_plain(b"\x80\x04}(" + key + ending.replace(b"s", b"u", 1))


@pytest.mark.parametrize("container", [b"]", b"}"])
def test_a_byte_for_each_container_is_no_snapshot(container: bytes) -> None:
    with pytest.raises(PickleError, match="more lists and dictionaries than a snapshot of its size"):
        load_plain(b"\x80\x04](" + container * 200_000 + b"e.")


def test_values_may_look_like_opcodes() -> None:
    value = {"}": 0x7D7D, "]": [0x5D, 0x7D], "NQ": 0x2E7D}
    for protocol in PROTOCOLS:
        assert load_plain(pickle.dumps(value, protocol)) == value
