"""Messages made by columns, as the protobuf library reads them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import DebugAnnotation, Trace

from rocm_perf.render.formats.wire import constant, eight_bytes, message, number, rows, varint, width_of
from tests.properties import examples

UNSIGNED = st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=6)
SIGNED = st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=6)
REAL = st.lists(st.floats(allow_nan=False), min_size=1, max_size=6)


@examples(times=1)
@given(UNSIGNED)
def test_numbers_of_any_width_share_one(values: list[int]) -> None:
    column = np.array(values, np.uint64)
    parts = message(1, *constant(10, 300), *number(8, column, width_of(column)))
    packets = Trace.FromString(b"".join(rows(parts, len(values)))).packet
    assert [packet.timestamp for packet in packets] == values
    assert {packet.trusted_packet_sequence_id for packet in packets} == {300}


@examples(times=1)
@given(SIGNED)
def test_negative_numbers(values: list[int]) -> None:
    column = np.array(values, np.int64)
    encoded = rows(number(4, column, width_of(column)), len(values))
    assert [DebugAnnotation.FromString(data).int_value for data in encoded] == values


@examples(times=1)
@given(REAL)
def test_real_numbers(values: list[float]) -> None:
    encoded = rows(eight_bytes(5, np.array(values)), len(values))
    assert [DebugAnnotation.FromString(data).double_value for data in encoded] == values


def test_the_shortest_form_of_a_number() -> None:
    assert [varint(value) for value in (0, 127, 128, 300)] == [b"\0", b"\x7f", b"\x80\1", b"\xac\2"]
