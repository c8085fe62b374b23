"""rpd2tracing.py's trace: the kernels of the RPD file it was made of."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from rocm_perf.errors import EmptyCaptureError, RocmPerfError
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.part import Part
from rocm_perf.ingest.rpd import chrome_json, database
from rocm_perf.ingest.sniff import sniff
from tests.properties import examples

NAME = "void gemm<float, 4>(float const*)"
GPU = {"name": "process_name", "ph": "M", "pid": "2", "args": {"name": "GPU2"}}
THREAD = {"name": "thread_name", "ph": "M", "pid": "70", "tid": "71", "args": {"name": "Hip 71"}}


def _span(pid: str, tid: str, name: str, times: tuple[object, object], desc: str | None) -> dict[str, object]:
    args = {"kernels": "3"} if desc is None else {"desc": desc}
    return {"pid": pid, "tid": tid, "name": name, "ts": times[0], "dur": times[1], "ph": "X", "args": args}


KERNEL = _span("2", "5", NAME, ("9007199254740.993", "26211.956"), "KernelExecution")
CALL = _span("70", "71", "hipLaunchKernel", ("8000", "5"), "")


def _text(*events: object) -> str:
    return "[ {}\n" + "".join(f",{json.dumps(event)}\n" for event in events) + "]\n"


def _read(tmp_path: Path, text: str) -> Part:
    file = tmp_path / "anything"
    file.write_text(text)
    source = Source(file)
    adapter = sniff(source)
    assert adapter.name == "rpd-json"
    return adapter.read(source)


def test_times_are_exact(tmp_path: Path) -> None:
    part = _read(tmp_path, _text(GPU, THREAD, KERNEL, CALL))
    (row,) = part.tables["dispatches"].rows(named=True)
    assert row["kernel"] == NAME
    assert (row["start_ns"], row["end_ns"]) == (9007199254740993, 9007199254740993 + 26211956)
    assert (row["agent_id"], row["queue_id"]) == (2, 5)
    (call,) = part.tables["api_calls"].rows(named=True)
    assert (call["domain"], call["name"], call["pid"], call["tid"]) == ("hip", "hipLaunchKernel", 70, 71)
    assert (call["start_ns"], call["end_ns"]) == (8_000_000, 8_005_000)
    assert (part.pid, part.clock, part.notices) == (70, "boot", ())


def test_bare_numbers_and_the_form_of_an_object(tmp_path: Path) -> None:
    kernel = _span("2", "5", NAME, (8306017670485.923, 0.001), "KernelExecution")
    part = _read(tmp_path, '{"traceEvents": ' + _text(GPU, THREAD, kernel).strip() + "}\n")
    (row,) = part.tables["dispatches"].rows(named=True)
    assert (row["start_ns"], row["end_ns"]) == (8306017670485923, 8306017670485924)


def test_every_other_event(tmp_path: Path) -> None:
    flow = {"cat": "api_op", "name": "api_op", "id": "1"}
    part = _read(
        tmp_path,
        _text(
            GPU,
            THREAD,
            _span("2", "0", "CopyHostToDevice", ("100", "7"), "CopyHostToDevice"),
            _span("2", "0", "Barrier", ("100", "7"), "Barrier"),
            _span("2", "0", "step", ("99", "9"), "UserMarker frame: 3 ops"),
            _span("2", "0", "Graph 0x5", ("99", "9"), None),
            _span("2", "0", "odd", ("99", "9"), "Teleport"),
            _span("70", "71", "step", ("50", "60"), "step"),
            _span("70", "71", "aten::add", ("51", "60"), "sizes"),
            {
                "pid": "70",
                "tid": "71",
                "name": "here",
                "ts": "55",
                "ph": "i",
                "s": "p",
                "args": {"desc": "here"},
            },
            {"pid": "70", "tid": "71", **flow, "ts": "98", "ph": "s"},
            {"pid": "2", "tid": "0", **flow, "ts": "100", "ph": "f", "bp": "e"},
            {"pid": "2", "name": "Idle", "ph": "C", "ts": 5, "args": {"idle": 0}},
            {"pid": "0", "name": "sclk", "ph": "C", "ts": 6, "args": {"sclk": 800}},
            _span("70", "71", "hipFree", ("when", "7"), ""),
            "no event",
        ),
    )
    tables = part.tables
    assert tables["copies"].select("kind", "start_ns", "end_ns").rows() == [("H2D", 100_000, 107_000)]
    assert tables["ranges"].select("name", "on_gpu", "start_ns", "end_ns").rows() == [
        ("step", True, 99_000, 108_000),
        ("Graph 0x5", True, 99_000, 108_000),
        ("step", False, 50_000, 110_000),
        ("here", False, 55_000, 55_000),
    ]
    assert tables["ops"]["name"].to_list() == ["aten::add"]
    (link,) = tables["links"].rows(named=True)
    assert (link["kind"], link["cause_ns"], link["effect_ns"], link["cause_track"]) == (
        "flow",
        98_000,
        100_000,
        71,
    )
    assert tables["samples"].select("time_ns", "metric", "value").rows() == [(6000, "clock_mhz", 800.0)]
    assert "dispatches" not in tables
    assert sum(loss.records or 0 for loss in part.losses) == 3
    assert part.notices == (chrome_json._ROUNDED,)


def _arrow(number: int, left: float, arrived: float) -> list[dict[str, object]]:
    flow = {"cat": "api_op", "name": "api_op", "id": str(number)}
    return [
        {"pid": "70", "tid": "71", **flow, "ts": str(left), "ph": "s"},
        {"pid": "2", "tid": "5", **flow, "ts": str(arrived), "ph": "f", "bp": "e"},
    ]


def test_arrows_join_calls_and_kernels_that_they_alone_touch(tmp_path: Path) -> None:
    calls = [("100", "10"), ("120", "1"), ("200", "9"), ("300", "9"), ("400", "50"), ("410", "9")]
    kernels = ["105", "125", "210", "220", "310", "420"]
    arrows = [(104, 105), (122, 125), (201, 210), (202, 220), (305, 310), (415, 420)]
    events: list[object] = [GPU, THREAD]
    events += [_span("70", "71", "hipLaunchKernel", times, "") for times in calls]
    events += [_span("2", "5", NAME, (start, "3"), "KernelExecution") for start in kernels]
    for number, ends in enumerate(arrows):
        events += _arrow(number, *ends)
    tables = _read(tmp_path, _text(*events)).tables
    launched = tables["dispatches"].join(tables["api_calls"], on="correlation_id")
    # The second has ended just before; the third launches two, and the last lies in two calls: nothing is said of them.
    assert sorted(launched.select("start_ns", "start_ns_right").rows()) == [
        (105_000, 100_000),
        (125_000, 120_000),
        (310_000, 300_000),
    ]


def test_a_trace_without_gpus(tmp_path: Path) -> None:
    assert set(_read(tmp_path, _text(THREAD, CALL)).tables) == {"api_calls"}
    with pytest.raises(EmptyCaptureError, match="no call and no kernel"):
        _read(tmp_path, _text(THREAD))


def test_a_trace_that_breaks_off(tmp_path: Path) -> None:
    text = _text(GPU, KERNEL, CALL, CALL)
    part = _read(tmp_path, text[:-40])
    assert part.tables["dispatches"].height == 1
    assert part.tables["api_calls"].height == 1
    assert any("breaks off" in loss.what for loss in part.losses)


@pytest.mark.parametrize(
    "text",
    [
        '[{"name": "k", "ph": "X", "ts": 1, "dur": 2, "pid": 1, "tid": 1}]',
        '{"traceEvents":[{},{"args":{"name":"6 GPU0"},"ph":"M","name":"process_name","pid":6,"sort_index":5}]}',
        "[ {}\n]",
        "GPU2",
        "",
    ],
)
def test_other_traces_are_not_claimed(tmp_path: Path, text: str) -> None:
    file = tmp_path / "other.json"
    file.write_text(text)
    from rocm_perf.ingest.peek import Peek

    assert not any(adapter.claims(Peek(Source(file))) for adapter in chrome_json.ADAPTERS)


@examples(times=4, allowed=[HealthCheck.function_scoped_fixture])
@given(cut=st.integers(0, 700), place=st.integers(0, 700), put=st.text(max_size=6))
def test_any_damage_gives_a_part_or_a_sentence(tmp_path: Path, cut: int, place: int, put: str) -> None:
    whole = _text(GPU, THREAD, KERNEL, CALL)
    file = tmp_path / "damaged.json"
    file.write_text(
        (whole[:place] + put + whole[place:])[: len(whole) + 6 - cut], encoding="utf-8", errors="replace"
    )
    with suppress(RocmPerfError):
        assert chrome_json.read(Source(file)).tables


def test_the_specimen_has_the_kernels_of_its_rpd(specimens: Path) -> None:
    folder = specimens / "rpd"
    source = Source(folder / "ROCm_rocmProfileData__matmul_result.json")
    part = sniff(source).read(source)
    whole = database.read(Source(folder / "ROCm_rocmProfileData__matmul_result.rpd"))
    columns = ["kernel", "agent_id", "queue_id"]
    assert part.tables["dispatches"].select(columns).equals(whole.tables["dispatches"].select(columns))
    # This release of rpd2tracing cut start and duration to microseconds, each on its own.
    spans = whole.tables["dispatches"].select("start_ns", "end_ns").rows()
    cut = [(start // 1000 * 1000, (start // 1000 + (end - start) // 1000) * 1000) for start, end in spans]
    assert part.tables["dispatches"].select("start_ns", "end_ns").rows() == cut
    assert part.tables["copies"]["kind"].to_list() == whole.tables["copies"]["kind"].to_list()
    assert {name: part.tables[name].height for name in ("api_calls", "links", "samples")} == {
        "api_calls": 125,
        "links": 85,
        "samples": 16,
    }
    assert part.losses == ()


def test_the_trace_that_rpd2tracing_makes_today_is_exact(specimens: Path, tmp_path: Path) -> None:
    """Today it divides by 1000.0 and prints the number bare."""
    file = specimens / "rpd" / "ROCm_rocmProfileData__matmul_result.rpd"
    ops = (
        "SELECT gpuId, queueId, B.string, rocpd_op.start/1000.0, (rocpd_op.end - rocpd_op.start)/1000.0, A.string "
        "FROM rocpd_op JOIN rocpd_string A ON A.id = opType_id JOIN rocpd_string B ON B.id = description_id"
    )
    with closing(sqlite3.connect(f"file:{file}?mode=ro&immutable=1", uri=True)) as connection:
        rows = connection.execute(ops).fetchall()
    spans = [
        _span(str(gpu), str(queue), name or kind, (at, length), kind)
        for gpu, queue, name, at, length, kind in rows
    ]
    made = _read(tmp_path, _text(GPU, *spans)).tables["dispatches"]
    columns = ["kernel", "start_ns", "end_ns", "agent_id"]
    assert made.select(columns).equals(database.read(Source(file)).tables["dispatches"].select(columns))
