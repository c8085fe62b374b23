"""rocpd: the tables of schema 3, several processes in one file, and what other layouts lose."""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from rocm_perf.errors import EmptyCaptureError, InputError, RocmPerfError
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.io.sqlite import Database
from rocm_perf.ingest.part import Part
from rocm_perf.ingest.rocpd import database as rocpd
from rocm_perf.ingest.rocpd.tables import Lookup
from rocm_perf.ingest.sniff import sniff
from tests.properties import examples

UUID = "_00003fdc_92cb_72cb_9169_c7e541b1fcdf"
NAME = 'void gemm<float, 4>(float const*, "int")'
BIG = 9_007_199_254_740_993  # no float holds it

COLUMNS = {
    "metadata": "tag value",
    "string": "guid string",
    "event": "guid category_id stack_id parent_stack_id correlation_id call_stack line_info extdata",
    "info_agent": "guid nid pid type absolute_index logical_index type_index uuid name model_name vendor_name "
    "product_name user_name extdata",
    "info_code_object": "guid nid pid agent_id uri load_base load_size load_delta storage_type extdata",
    "info_kernel_symbol": "guid nid pid code_object_id kernel_name display_name kernel_object "
    "kernarg_segment_size kernarg_segment_alignment group_segment_size private_segment_size sgpr_count "
    "arch_vgpr_count accum_vgpr_count extdata",
    "info_node": "guid hash machine_id system_name hostname release version hardware_name domain_name",
    "info_pmc": "guid nid pid agent_id target_arch event_code instance_id name symbol description "
    "long_description component units value_type block expression is_constant is_derived extdata",
    "info_process": "guid nid ppid pid init fini start end command environment extdata",
    "info_thread": "guid nid ppid pid tid name start end extdata",
    "kernel_dispatch": "guid nid pid tid agent_id kernel_id dispatch_id queue_id stream_id start end "
    "private_segment_size group_segment_size workgroup_size_x workgroup_size_y workgroup_size_z grid_size_x "
    "grid_size_y grid_size_z region_name_id event_id extdata",
    "memory_allocate": "guid nid pid tid agent_id type level start end address size queue_id stream_id "
    "event_id extdata",
    "memory_copy": "guid nid pid tid start end name_id dst_agent_id dst_address src_agent_id src_address size "
    "queue_id stream_id region_name_id event_id extdata",
    "pmc_event": "guid event_id pmc_id value extdata",
    "region": "guid nid pid tid start end name_id event_id extdata",
    "sample": "guid track_id timestamp event_id extdata",
    "track": "guid nid pid tid name_id extdata",
}

Rows = dict[str, list[dict[str, Any]]]

STRINGS = (
    *("", "KERNEL_DISPATCH", "HIP_RUNTIME_API_EXT", "MARKER_CORE_RANGE_API", "MEMORY_COPY"),
    *(
        "MEMORY_COPY_HOST_TO_DEVICE",
        "hipLaunchKernel",
        "roctxThreadRangeA",
        "MEMORY_ALLOCATION",
        "device_smi",
    ),
)


def _string(text: str) -> int:
    return STRINGS.index(text) + 1


def _row(numbers: str, **others: object) -> dict[str, Any]:
    """`id=8 pid=1` as a row."""
    return {**{name: int(number) for name, number in (pair.split("=") for pair in numbers.split())}, **others}


def _info() -> Rows:
    agent = (
        '{"cu_count": 304, "lds_size_in_kb": 64, "wave_front_size": 64, "num_xcc": 8, "other": [1],'
        ' "max_engine_clk_fcompute": 2100, "mem_banks": [{"size_in_bytes": 206141652992}]}'
    )
    kernel = (
        "group_segment_size=512 private_segment_size=0 sgpr_count=96 arch_vgpr_count=32 accum_vgpr_count=4"
    )
    product = {"product_name": "AMD Instinct MI300X", "vendor_name": "AMD", "extdata": agent}
    return {
        "string": [_row(f"id={number}", string=text) for number, text in enumerate(STRINGS, start=1)],
        "info_node": [_row("id=77", machine_id="m", system_name="Linux", hostname="box", release="6.1")],
        "info_process": [_row("id=1 nid=77 ppid=4 pid=501 start=10 end=90", command="./app -n 3")],
        "info_thread": [_row("id=1 nid=77 pid=1 tid=502")],
        "info_agent": [
            _row("id=7 nid=77 pid=1 absolute_index=0 type_index=0", type="CPU", name="some CPU"),
            _row("id=8 nid=77 pid=1 absolute_index=4 type_index=0", type="GPU", name="gfx942", **product),
        ],
        "info_code_object": [_row("id=3 nid=77 pid=1 agent_id=8", uri="memory://501")],
        "info_kernel_symbol": [
            _row(f"id=9 nid=77 pid=1 code_object_id=3 {kernel}", kernel_name="_Z4gemm.kd", display_name=NAME)
        ],
    }


def _dispatch(number: int, event: int, at: int, **changed: object) -> dict[str, Any]:
    where = "nid=77 pid=1 tid=1 agent_id=8 kernel_id=9 queue_id=2 stream_id=5 region_name_id=1"
    group = "workgroup_size_x=64 workgroup_size_y=2 workgroup_size_z=1"
    grid = "grid_size_x=640 grid_size_y=4 grid_size_z=1 private_segment_size=16 group_segment_size=8456"
    what = f"id={number} dispatch_id={number} event_id={event} start={at} end={at + 6}"
    return _row(f"{what} {where} {group} {grid}", **changed)


def _event(number: int, category: str, stack: int, **others: object) -> dict[str, Any]:
    return _row(f"id={number} category_id={_string(category)} stack_id={stack} correlation_id=0", **others)


def _kernels() -> Rows:
    return {
        **_info(),
        "event": [_event(1, "KERNEL_DISPATCH", 41), _event(2, "KERNEL_DISPATCH", 42)],
        "kernel_dispatch": [_dispatch(1, 1, BIG), _dispatch(2, 2, BIG + 100)],
    }


def _write(file: Path, rows: Rows, suffix: str = UUID, columns: dict[str, str] | None = None) -> Path:
    """A database with every table of the schema; `rows` says what is in them."""
    with closing(sqlite3.connect(file)) as connection:
        for table, names in {**COLUMNS, **(columns or {})}.items():
            quoted = ", ".join(f'"{name}"' for name in names.split())
            connection.execute(f'CREATE TABLE "rocpd_{table}{suffix}" (id INTEGER PRIMARY KEY, {quoted})')
            for row in rows.get(table, []):
                values = ", ".join(f":{name}" for name in row)
                named = ", ".join(f'"{name}"' for name in row)
                connection.execute(f'INSERT INTO "rocpd_{table}{suffix}" ({named}) VALUES ({values})', row)
        connection.commit()
    return file


def test_processes_of_which_nothing_is_recorded_cost_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file with a thousand empty sets of tables took a minute and a half."""
    asked: list[int] = []
    frame = Database.frame

    def counted(*given: Any) -> pl.DataFrame:
        asked.append(1)
        return frame(*given)

    monkeypatch.setattr(Database, "frame", counted)
    one = _read(tmp_path, _kernels())
    alone = len(asked)
    for number in range(40):
        _write(tmp_path / "anything.bin", {}, f"_{number}")
    asked.clear()
    source = Source(tmp_path / "anything.bin")
    many = sniff(source).read(source)
    assert len(asked) == alone
    assert {name: table.rows() for name, table in many.tables.items()} == {
        name: table.rows() for name, table in one.tables.items()
    }


def _read(tmp_path: Path, rows: Rows, suffix: str = UUID, columns: dict[str, str] | None = None) -> Part:
    source = Source(_write(tmp_path / "anything.bin", rows, suffix, columns))
    adapter = sniff(source)
    assert adapter.name == "rocpd"
    return adapter.read(source)


def test_a_dispatch_with_what_the_info_tables_say_of_it(tmp_path: Path) -> None:
    part = _read(tmp_path, _kernels())
    row = part.tables["dispatches"].row(0, named=True)
    assert row["kernel"] == NAME
    assert (row["start_ns"], row["end_ns"]) == (BIG, BIG + 6)
    assert (row["agent_id"], row["queue_id"], row["stream_id"]) == (4, 2, 5)
    assert (row["pid"], row["tid"], row["correlation_id"], row["dispatch_id"]) == (501, 502, 41, 1)
    assert (row["grid_x"], row["grid_y"], row["workgroup_x"], row["workgroup_y"]) == (640, 4, 64, 2)
    assert (row["lds_bytes"], row["scratch_bytes"], row["vgprs"], row["agprs"], row["sgprs"]) == (
        8456,
        16,
        32,
        4,
        96,
    )
    assert row["graph_id"] is None
    assert part.losses == ()


def test_what_is_said_of_the_run(tmp_path: Path) -> None:
    part = _read(tmp_path, _kernels())
    assert (part.tool, part.host, part.os, part.pid) == ("rocprofv3", "box", "Linux 6.1", 501)
    assert (part.command, part.clock) == ("./app -n 3", "boot")
    assert "nodes" not in part.tables
    gpu = part.tables["agents"].filter(pl.col("kind") == "GPU").row(0, named=True)
    assert (gpu["agent_id"], gpu["gfx"], gpu["name"], gpu["cu_count"]) == (
        4,
        "gfx942",
        "AMD Instinct MI300X",
        304,
    )
    assert (gpu["lds_bytes"], gpu["xcc_count"], gpu["memory_bytes"], gpu["clock_mhz"]) == (
        65536,
        8,
        206141652992,
        2100.0,
    )
    cpu = part.tables["agents"].row(0, named=True)
    assert (cpu["name"], cpu["gfx"], cpu["cu_count"]) == ("some CPU", None, None)
    kernel = part.tables["kernels"].row(0, named=True)
    assert (kernel["kernel_id"], kernel["kernel"], kernel["symbol"]) == (9, NAME, "_Z4gemm")
    assert (kernel["code_object_uri"], kernel["lds_bytes"], kernel["pid"]) == ("memory://501", 512, 501)
    process = part.tables["processes"].row(0, named=True)
    assert (process["pid"], process["ppid"], process["start_ns"], process["end_ns"]) == (501, 4, 10, 90)


def test_calls_meet_their_kernel_by_stack_id_and_markers_become_ranges(tmp_path: Path) -> None:
    rows = _kernels()
    rows["event"] += [
        _event(10, "HIP_RUNTIME_API_EXT", 41),
        _event(11, "MARKER_CORE_RANGE_API", 50, extdata='{"message": "step, 1"}'),
        _event(12, "MARKER_CORE_RANGE_API", 51, extdata="not json"),
    ]
    launch, marker = _string("hipLaunchKernel"), _string("roctxThreadRangeA")
    rows["region"] = [
        _row(f"id={number} nid=77 pid=1 tid=1 start=5 end=9 name_id={name} event_id={event}")
        for number, (name, event) in enumerate(((launch, 10), (marker, 11), (marker, 12), (999, 10)))
    ]
    part = _read(tmp_path, rows)
    (call,) = part.tables["api_calls"].rows(named=True)
    assert (call["domain"], call["name"], call["correlation_id"]) == ("hip", "hipLaunchKernel", 41)
    assert (call["pid"], call["tid"], call["start_ns"], call["end_ns"]) == (501, 502, 5, 9)
    ranges = part.tables["ranges"]
    assert ranges["name"].to_list() == ["step, 1", "roctxThreadRangeA"]
    assert ranges["source"].unique().to_list() == ["roctx"]
    assert ranges["correlation_id"].to_list() == [50, 51]
    lost = [(loss.what, loss.records) for loss in part.losses]
    assert lost == [("API calls whose names are not in the file", 1)]


def test_copies_have_sizes(tmp_path: Path) -> None:
    rows = _info()
    rows["event"] = [_event(1, "MEMORY_COPY", 8)]
    place = "id=1 nid=77 pid=1 tid=1 start=5 end=9 event_id=1 stream_id=3"
    name = _string("MEMORY_COPY_HOST_TO_DEVICE")
    rows["memory_copy"] = [_row(f"{place} size=4096 name_id={name} src_agent_id=7 dst_agent_id=8")]
    (copy,) = _read(tmp_path, rows).tables["copies"].rows(named=True)
    assert (copy["kind"], copy["size_bytes"], copy["src_agent"], copy["dst_agent"]) == ("H2D", 4096, 0, 4)
    assert (copy["agent_id"], copy["stream_id"], copy["queue_id"], copy["correlation_id"]) == (4, 3, None, 8)


def test_allocations_and_scratch(tmp_path: Path) -> None:
    rows = _info()
    rows["event"] = [_event(1, "MEMORY_ALLOCATION", 8)]
    place = "nid=77 pid=1 tid=1 start=5 end=9 event_id=1"
    flags = '{"flags": "USE_ONCE"}'
    rows["memory_allocate"] = [
        _row(f"id=1 {place} agent_id=8 address=-4096 size=64", type="ALLOC", level="REAL"),
        _row(f"id=2 {place} address=1 size=0", type="FREE", level="REAL"),
        _row(f"id=3 {place} agent_id=8 size=7", type="ALLOC", level="SCRATCH", extdata=flags),
        _row(f"id=4 {place} agent_id=8 size=7"),
    ]
    part = _read(tmp_path, rows)
    allocations = part.tables["allocations"]
    assert allocations["operation"].to_list() == ["ALLOC", "FREE"]
    assert allocations["address"].to_list() == [2**64 - 4096, 1]
    assert allocations["agent_id"].to_list() == [4, None]
    (scratch,) = part.tables["scratch"].rows(named=True)
    assert (scratch["operation"], scratch["size_bytes"], scratch["flags"]) == ("ALLOC", 7, "USE_ONCE")
    assert [(loss.what, loss.records) for loss in part.losses] == [("allocations without an operation", 1)]


def test_counter_instances_of_a_dispatch_are_summed(tmp_path: Path) -> None:
    rows = _kernels()
    rows["info_pmc"] = [
        _row("id=31 agent_id=8 is_derived=0", name="SQ_WAVES", block="SQ", expression=""),
        _row("id=32 agent_id=8 is_derived=1", name="VALUBusy", block="", expression="100*A/B"),
    ]
    values = ((1, 31, 10.0), (1, 31, 2.5), (2, 31, 1.0), (2, 32, 50.0), (999, 31, 7.0), (1, 999, 7.0))
    rows["pmc_event"] = [_row(f"event_id={event} pmc_id={pmc}", value=value) for event, pmc, value in values]
    tables = _read(tmp_path, rows).tables
    assert tables["counters"].select("dispatch_id", "counter", "value", "pid", "agent_id").rows() == [
        (1, "SQ_WAVES", 12.5, 501, 4),
        (2, "SQ_WAVES", 1.0, 501, 4),
        (2, "VALUBusy", 50.0, 501, 4),
    ]
    columns = ("gfx", "agent_id", "counter", "block", "expression", "derived")
    assert tables["counter_info"].select(columns).rows() == [
        ("gfx942", 4, "SQ_WAVES", "SQ", None, False),
        ("gfx942", 4, "VALUBusy", None, "100*A/B", True),
    ]


def test_events_without_length_are_marks_readings_or_lost(tmp_path: Path) -> None:
    rows = _kernels()
    rows["event"] += [
        _event(20, "MARKER_CORE_RANGE_API", 60, extdata='{"message": "here"}'),
        _event(21, "HIP_RUNTIME_API_EXT", 61),
        _event(22, "device_smi", 0),
        _event(23, "HIP_RUNTIME_API_EXT", 63),
    ]
    tracks = ("MARKER_CORE_RANGE_API", "HIP_RUNTIME_API_EXT", "device_smi", "hipLaunchKernel")
    for number, name in enumerate(tracks):
        rows.setdefault("track", []).append(_row(f"id={number} pid=1 tid=1 name_id={_string(name)}"))
        place = f"id={number} track_id={number} timestamp={70 + number} event_id={20 + number}"
        rows.setdefault("sample", []).append(_row(place))
    rows["info_pmc"] = [_row("id=31 agent_id=8", name="power", units="W")]
    rows["pmc_event"] = [_row("event_id=22 pmc_id=31", value=305.0)]
    part = _read(tmp_path, rows)
    (mark,) = part.tables["ranges"].rows(named=True)
    assert (mark["name"], mark["start_ns"], mark["end_ns"], mark["pid"]) == ("here", 70, 70, 501)
    (sample,) = part.tables["samples"].rows(named=True)
    assert (sample["time_ns"], sample["metric"], sample["value"], sample["unit"]) == (72, "power", 305.0, "W")
    assert sample["agent_id"] == 4
    (call,) = part.tables["api_calls"].rows(named=True)
    assert (call["name"], call["domain"], call["start_ns"]) == ("hipLaunchKernel", "hip", 73)
    assert [loss.records for loss in part.losses] == [1]
    assert "counters" not in part.tables


def test_pc_samples_of_the_newest_schema(tmp_path: Path) -> None:
    rows = _kernels()
    code = "code_object_id=3 code_object_offset=256"
    what = (
        "timestamp=5 pid=1 agent_id=8 dispatch_id=1 correlation_id=41 exec_mask=-1 wave_issued=0 wave_count=6"
    )
    rows["gpu_pc_sample"] = [_row(f"{what} {code}")]
    rows["disassembly_data"] = [_row(code, instruction="s_nop 0", comment="a.cpp:3")]
    columns = {
        "gpu_pc_sample": "timestamp nid pid tid agent_id event_id dispatch_id correlation_id exec_mask "
        "code_object_id code_object_offset wave_issued inst_type stall_reason wave_count",
        "disassembly_data": "nid pid code_object_id code_object_offset instruction comment",
    }
    (sample,) = _read(tmp_path, rows, columns=columns).tables["pc_samples"].rows(named=True)
    assert (sample["time_ns"], sample["dispatch_id"], sample["exec_mask"]) == (5, 1, 2**64 - 1)
    assert (sample["instruction"], sample["source"], sample["issued"]) == ("s_nop 0", "a.cpp:3", False)
    assert (sample["method"], sample["wave_count"], sample["agent_id"]) == ("stochastic", 6, 4)


def test_a_graph_is_known_from_schema_3_0_2_on(tmp_path: Path) -> None:
    rows = _kernels()
    rows["kernel_dispatch"] = [_dispatch(1, 1, 5, graph_exec_id=17), _dispatch(2, 2, 9, graph_exec_id=0)]
    columns = {"kernel_dispatch": COLUMNS["kernel_dispatch"] + " graph_exec_id graph_node_id"}
    assert _read(tmp_path, rows, columns=columns).tables["dispatches"]["graph_id"].to_list() == [17, None]


def test_several_processes_in_one_file_keep_their_own_ids(tmp_path: Path) -> None:
    file = _write(tmp_path / "merged.db", _kernels())
    other = _kernels()
    other["info_process"][0]["pid"] = 900
    other["info_node"] = [
        {"id": 78, "machine_id": "n", "system_name": "Linux", "hostname": "crate", "release": "6.1"}
    ]
    other["info_kernel_symbol"][0]["display_name"] = "other"
    part = rocpd.read(Source(_write(file, other, "_00003fdc_92cb_72cb_9169_c7e541b1fce0")))
    dispatches = part.tables["dispatches"]
    assert dispatches["pid"].to_list() == [501, 501, 900, 900]
    assert dispatches["kernel"].to_list() == [NAME, NAME, "other", "other"]
    assert dispatches["node"].to_list() == [0, 0, 1, 1]
    assert part.tables["nodes"].select("node", "host", "clock").rows() == [
        (0, "box", "boot"),
        (1, "crate", "boot"),
    ]
    assert part.tables["agents"].select("node", "agent_id").rows() == [(0, 0), (0, 4), (1, 0), (1, 4)]
    assert (part.host, part.pid, part.command) == (None, None, "./app -n 3")


def test_tables_without_a_suffix_are_split_by_guid(tmp_path: Path) -> None:
    assert _read(tmp_path, _kernels(), suffix="").tables["dispatches"].height == 2
    rows = _kernels()
    for table in rows.values():
        for row in table:
            row["guid"] = "a"
    rows["info_process"].append({"id": 2, "guid": "b", "nid": 77, "pid": 900})
    rows["kernel_dispatch"].append(_dispatch(3, 1, 5, guid="b", pid=2))
    (tmp_path / "two").mkdir()
    part = _read(tmp_path / "two", rows, suffix="")
    assert part.tables["dispatches"].select("pid", "correlation_id").rows() == [
        (501, 41),
        (501, 42),
        (900, None),
    ]


def test_a_kernel_without_name_and_times_is_still_a_kernel(tmp_path: Path) -> None:
    rows = _kernels()
    rows["kernel_dispatch"] = [
        _dispatch(1, 1, 5, kernel_id=12345),
        _dispatch(2, 2, 0, end=0),
        _dispatch(3, 2, 5, start=None),
        _dispatch(4, 2, 5, start="soon"),
    ]
    part = _read(tmp_path, rows)
    dispatches = part.tables["dispatches"]
    assert dispatches["kernel"].to_list() == ["kernel 12345 (name not recorded)", NAME]
    assert dispatches["start_ns"].to_list() == [5, None]
    assert {loss.what: loss.records for loss in part.losses} == {
        "rows of rocpd_kernel_dispatch without a usable start or end": 2,
        "names of kernels that were dispatched": 1,
    }


def test_schema_4_says_what_is_not_read(tmp_path: Path) -> None:
    columns = {"kernel_dispatch": "guid track_id start_id end_id kernel_id dispatch_id event_id"}
    rows = _info()
    rows["kernel_dispatch"] = [
        {"id": 1, "start_id": 4, "end_id": 5, "kernel_id": 9, "dispatch_id": 1, "event_id": 1}
    ]
    with pytest.raises(InputError, match=r"rocpd_kernel_dispatch .*no start and end"):
        _read(tmp_path, rows, columns=columns)


def test_nothing_recorded_is_not_unreadable(tmp_path: Path) -> None:
    with pytest.raises(EmptyCaptureError, match="without any record"):
        _read(tmp_path, _info())


@given(
    ids=st.lists(st.one_of(st.none(), st.integers(-5, 30)), max_size=30), wanted=st.lists(st.integers(-9, 40))
)
def test_a_lookup_finds_the_first_row_of_each_id(ids: list[int | None], wanted: list[int]) -> None:
    frame = pl.DataFrame(
        {"id": pl.Series(ids, dtype=pl.Int64), "place": pl.Series(range(len(ids)), dtype=pl.Int64)}
    )
    found = Lookup(frame).column(pl.Series("w", wanted, dtype=pl.Int64), "place").to_list()
    assert found == [ids.index(number) if number in ids else None for number in wanted]


def test_a_cut_off_file_is_refused_or_partly_read(tmp_path: Path) -> None:
    whole = _write(tmp_path / "whole.db", _kernels()).read_bytes()
    for part in (1, 2, 3):
        file = tmp_path / f"{part}.db"
        file.write_bytes(whole[: len(whole) * part // 4])
        with pytest.raises(RocmPerfError):
            rocpd.read(Source(file))


@examples(times=1.5, allowed=[HealthCheck.function_scoped_fixture])
@given(places=st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), min_size=1, max_size=40))
def test_any_damage_gives_a_part_or_a_sentence(tmp_path: Path, places: list[tuple[float, int]]) -> None:
    whole = tmp_path / "whole.db"
    data = bytearray((whole if whole.exists() else _write(whole, _kernels())).read_bytes())
    for place, value in places:
        data[min(int(place * len(data)), len(data) - 1)] = value
    file = tmp_path / "damaged.db"
    file.write_bytes(data)
    with suppress(RocmPerfError):
        assert rocpd.read(Source(file)).tables


def test_the_specimen_of_llama_cpp(specimens: Path) -> None:
    source = Source(specimens / "rocpd" / "JoursBleu_llama.cpp__32432_results.db.gz")
    part = sniff(source).read(source)
    assert part.losses == ()
    assert (part.host, part.pid, part.os) == ("R9700-Workstation-SH", 32432, "Linux 6.14.0-37-generic")
    dispatches = part.tables["dispatches"]
    assert dispatches.height == 5687
    assert (dispatches["start_ns"].min(), dispatches["end_ns"].max()) == (168853321180888, 168853753253668)
    assert dispatches["queue_id"].value_counts().sort("queue_id").rows() == [(1, 32), (2, 120), (3, 5535)]
    assert part.tables["kernels"].height == 527
    assert part.tables["agents"]["gfx"].to_list() == [None, *["gfx1201"] * 4]
    assert set(part.tables) == {"dispatches", "kernels", "agents", "processes"}


def test_a_database_that_lost_its_tables_since_the_first_look(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "run.db")) as connection:
        connection.execute("CREATE TABLE other (id INTEGER)")
        connection.commit()
    with pytest.raises(InputError, match=r"holds no process.*Read it again"):
        rocpd.read(Source(tmp_path / "run.db"))
