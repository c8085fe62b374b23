"""Chrome traces of any origin: exact times, spans matched, nothing taken for GPU work that is not called so."""

from __future__ import annotations

import gzip
import json
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.errors import EmptyCaptureError, InputError
from rocm_perf.ingest.chrome import events as chrome_events
from rocm_perf.ingest.chrome import trace
from rocm_perf.ingest.io import json as json_io
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.part import Part
from rocm_perf.ingest.peek import Peek

EVENTS: list[dict[str, Any]] = [
    {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "main"}},
    {"ph": "X", "name": "load", "cat": "io", "pid": 1, "tid": "7", "ts": 10, "dur": 5},
    {"ph": "X", "name": "gemm.kd", "cat": "Kernel", "pid": 0, "tid": 7, "ts": "1700000000000000.123", "dur": 2.5,
     "args": {"device": 2, "stream": 3, "correlation": 44}},
    {"ph": "X", "name": "Memcpy HtoD (Pinned -> Device)", "cat": "gpu_memcpy", "ts": 30, "dur": 1,
     "args": {"bytes": 4096, "stream": 9}},
    {"ph": "X", "name": "Memset (Device)", "cat": "gpu_memset", "ts": 31, "dur": 1},
    {"ph": "X", "name": "step", "cat": "gpu_user_annotation", "pid": 0, "tid": 3, "ts": 32, "dur": 1},
    {"ph": "B", "name": "outer", "pid": 1, "tid": "worker", "ts": 40},
    {"ph": "B", "name": "inner", "pid": 1, "tid": "worker", "ts": 41},
    {"ph": "E", "pid": 1, "tid": "worker", "ts": 42.001},
    {"ph": "E", "pid": 1, "tid": "worker", "ts": 43},
    {"ph": "i", "name": "here", "pid": 1, "tid": 8, "ts": 50, "s": "t"},
    {"ph": "s", "name": "dep", "cat": "flow", "id": 5, "pid": 1, "tid": 8, "ts": 51},
    {"ph": "f", "name": "dep", "cat": "flow", "id": 5, "pid": 2, "tid": 9, "ts": 52, "bp": "e"},
]  # fmt: skip


def _write(folder: Path, document: object) -> Source:
    file = folder / "anything.dat"
    file.write_text(document if isinstance(document, str) else json.dumps(document))
    return Source(file)


def _read(folder: Path, document: object) -> Part:
    source = _write(folder, document)
    assert trace.ADAPTERS[0].claims(Peek(source))
    return trace.read_trace(source)


@pytest.mark.parametrize(
    "document",
    [EVENTS, {"displayTimeUnit": "ns", "traceEvents": EVENTS, "otherData": {"a": []}}],
    ids=["array", "object"],
)
def test_spans_and_marks_are_ranges(tmp_path: Path, document: object) -> None:
    part = _read(tmp_path, document)
    assert part.losses == ()
    ranges = (
        part.tables["ranges"]
        .sort("start_ns")
        .select("name", "start_ns", "end_ns", "pid", "tid", "depth", "on_gpu", "source")
        .rows()
    )
    assert ranges == [
        ("load", 10_000, 15_000, 1, 7, None, False, "chrome"),
        ("step", 32_000, 33_000, 0, 3, None, True, "chrome"),
        ("outer", 40_000, 43_000, 1, None, 0, False, "chrome"),
        ("inner", 41_000, 42_001, 1, None, 1, False, "chrome"),
        ("here", 50_000, 50_000, 1, 8, None, False, "chrome"),
    ]


def test_gpu_work_is_what_the_trace_calls_so(tmp_path: Path) -> None:
    tables = _read(tmp_path, EVENTS).tables
    assert tables["dispatches"].select(
        "kernel", "start_ns", "end_ns", "agent_id", "stream_id", "correlation_id", "pid"
    ).rows() == [("gemm", 1700000000000000123, 1700000000000002623, 2, 3, 44, None)]
    assert tables["copies"].select("kind", "size_bytes", "start_ns", "stream_id").rows() == [
        ("H2D", 4096, 30_000, 9),
        ("MEMSET", None, 31_000, None),
    ]


def test_flows_are_links(tmp_path: Path) -> None:
    assert _read(tmp_path, EVENTS).tables["links"].select(
        "kind", "pid", "cause_ns", "cause_track", "effect_ns", "effect_track", "known"
    ).rows() == [("flow", 1, 51_000, 8, 52_000, 9, "recorded")]


def test_what_has_no_counterpart_is_counted(tmp_path: Path) -> None:
    alone = [
        {"ph": "E", "pid": 1, "tid": 2, "ts": 1},
        {"ph": "B", "name": "x", "pid": 1, "tid": 2, "ts": 2},
        {"ph": "B", "name": "x", "pid": 1, "tid": 3, "ts": 3},
        {"ph": "s", "name": "dep", "cat": "flow", "id": 5, "ts": 51},
        {"ph": "f", "name": "dep", "cat": "flow", "id": 6, "ts": 52},
        {"ph": "C", "name": "memory", "ts": 1, "args": {"bytes": 5}},
        {"ph": "X", "name": "no duration", "ts": 1},
        {"ph": "X", "name": "before it began", "ts": 1, "dur": -1},
        {"ph": "X", "name": "too long", "ts": 9223372036854773, "dur": 9223372036854773},
        {"ph": "X", "ts": 1, "dur": 1},
        "not an event",
        17,
        {},
    ]
    part = _read(tmp_path, [*EVENTS, *alone])
    assert part.tables["ranges"].height == 5
    assert {loss.what: loss.records for loss in part.losses} == {
        "begins (B) without an end": 2,
        "ends (E) without a begin": 1,
        "ends of flows without their other end": 2,
        "events that are not used (no name, time or duration)": 4,
        "events that are not used (phase ?)": 2,
        "events that are not used (phase C)": 1,
    }


def test_begins_and_ends_match_in_the_order_of_time(tmp_path: Path) -> None:
    shuffled = [
        {"ph": "E", "pid": 1, "tid": 1, "ts": 9},
        {"ph": "B", "name": "late in the file", "pid": 1, "tid": 1, "ts": 4},
    ]
    part = _read(tmp_path, shuffled)
    assert part.tables["ranges"].select("name", "start_ns", "end_ns").rows() == [
        ("late in the file", 4000, 9000)
    ]


def test_many_pieces_give_the_same_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many = [
        {**event, "name": f"{event.get('name')} {i}"} if event["ph"] == "X" else event
        for i in range(200)
        for event in EVENTS
    ]
    whole = _read(tmp_path, many)
    monkeypatch.setattr(json_io, "PIECE_BYTES", 4096)
    monkeypatch.setattr("rocm_perf.ingest.io.source.CHUNK_BYTES", 1024)
    pieces = _read(tmp_path, many)
    assert whole.tables["ranges"].height == 1000
    for name, table in whole.tables.items():
        assert pieces.tables[name].sort(table.columns).equals(table.sort(table.columns))


def test_an_array_that_was_never_closed(tmp_path: Path) -> None:
    part = _read(tmp_path, json.dumps(EVENTS)[:-1] + ',\n{"ph": "X", "na')
    assert part.tables["ranges"].height == 5
    assert "breaks off" in part.losses[0].what


def test_bytes_that_are_no_text_cost_one_name(tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_bytes(json.dumps(EVENTS).encode().replace(b'"load"', b'"lo\xff\\"d"'))
    assert "lo\ufffd" in trace.read_trace(Source(file)).tables["ranges"]["name"][0]


def test_what_holds_nothing(tmp_path: Path) -> None:
    with pytest.raises(EmptyCaptureError):
        _read(tmp_path, {"traceEvents": []})
    with pytest.raises(EmptyCaptureError):
        _read(tmp_path, [EVENTS[0]])
    with pytest.raises(InputError):
        _read(tmp_path, {"traceEvents": {"a": 1}})


@pytest.mark.parametrize(
    "text", ['[{"ph":"X","name":', '{"traceEvents": [', '{"traceEvents": [{"ph":"M"},{"na']
)
def test_a_file_cut_off_before_its_first_span_is_damaged_rather_than_empty(tmp_path: Path, text: str) -> None:
    file = tmp_path / "x.json"
    file.write_text(text)
    with pytest.raises(InputError, match=r"breaks off before its end\. Copy it again"):
        trace.read_trace(Source(file))


@pytest.mark.parametrize("text", ["[1, 2, 3]", '{"a": 1}', "[[]]", "ph", '[{"a": 1}]', "", "\x00\x01"])
def test_other_files_are_not_claimed(tmp_path: Path, text: str) -> None:
    assert not trace.ADAPTERS[0].claims(Peek(_write(tmp_path, text)))


def _nanoseconds(*texts: str) -> list[int | None]:
    return chrome_events.with_nanoseconds(pl.DataFrame({"ts": texts}, schema={"ts": pl.String}), "ts")[
        "ts"
    ].to_list()


@given(st.integers(-(2**62), 2**62))
def test_every_nanosecond_survives(time_ns: int) -> None:
    sign, (micros, part) = "-" if time_ns < 0 else "", divmod(abs(time_ns), 1000)
    assert _nanoseconds(f"{sign}{micros}.{part:03d}", f"{sign}{micros}.{part:03d}000") == [time_ns, time_ns]


@given(st.decimals(-(10**9), 10**9, places=9))
def test_times_are_rounded_by_less_than_a_nanosecond(micros: Decimal) -> None:
    (time_ns,) = _nanoseconds(f"{micros:f}")
    assert time_ns is not None
    assert abs(Decimal(time_ns) - micros * 1000) < 1


def test_numbers_that_are_no_times() -> None:
    assert _nanoseconds("1.5e3", "1E-3", "12", "1e999", "99999999999999999999", "nan", "[1]", "", "0x10", "1_0") == [
        1_500_000, 1, 12_000, None, None, None, None, None, None, None,
    ]  # fmt: skip


WHOLE = json.dumps({"traceEvents": EVENTS}).encode()


@given(cut=st.integers(0, len(WHOLE)), at=st.integers(0, len(WHOLE)), junk=st.binary(max_size=12))
def test_no_damage_gives_a_traceback(
    tmp_path_factory: pytest.TempPathFactory, cut: int, at: int, junk: bytes
) -> None:
    file = tmp_path_factory.getbasetemp() / "chrome_mutated.json"
    file.write_bytes((WHOLE[:at] + junk + WHOLE[at:])[: cut + len(junk)])
    with suppress(InputError, EmptyCaptureError):
        assert isinstance(trace.read_trace(Source(file)), Part)


odd = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=4),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["device", "stream", "bytes", "name"]), inner, max_size=2)
    ),
)


@given(
    at=st.integers(0, len(EVENTS) - 1),
    key=st.sampled_from(["ph", "name", "cat", "pid", "tid", "ts", "dur", "id", "args"]),
    value=odd,
)
def test_an_odd_value_costs_at_most_its_event(
    tmp_path_factory: pytest.TempPathFactory, at: int, key: str, value: object
) -> None:
    file = tmp_path_factory.getbasetemp() / "chrome_odd.json"
    file.write_text(
        json.dumps([{**event, key: value} if index == at else event for index, event in enumerate(EVENTS)])
    )
    part = trace.read_trace(Source(file))
    assert part.tables["ranges"].height >= 3
    assert sum(part.tables[name].height for name in ("dispatches", "copies") if name in part.tables) >= 2


def test_specimen_of_merged_ranks(specimens: Path) -> None:
    file = specimens / "torch_trace" / "amd_HPCTrainingExamples__merged_nccl_only.json.gz"
    part = trace.read_trace(Source(file))
    with gzip.open(file) as stream:
        events = json.load(stream, parse_float=Decimal)["traceEvents"]
    kernels = [event for event in events if event.get("cat") == "kernel"]
    assert (part.tables["dispatches"].height, part.tables["ranges"].height, part.losses) == (84, 84, ())
    assert part.tables["dispatches"]["start_ns"].to_list() == [int(event["ts"] * 1000) for event in kernels]
    assert part.tables["dispatches"]["stream_id"].to_list() == [event["args"]["stream"] for event in kernels]
