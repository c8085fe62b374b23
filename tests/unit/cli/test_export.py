"""`export` into every form, and back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from bench.make_rocpd import make as make_rocpd

from rocm_perf.cli.demo import workload_file
from rocm_perf.cli.export import FORMATS
from rocm_perf.cli.main import main
from rocm_perf.errors import OutputError
from rocm_perf.files import write_whole
from rocm_perf.ingest.load import load
from rocm_perf.ingest.survey import FLOOR_BYTES
from rocm_perf.model.bundle import write as write_bundle
from rocm_perf.model.schema import conform
from rocm_perf.model.time_window import TimeWindow
from rocm_perf.model.trace import Trace
from rocm_perf.render.formats import perfetto
from tests.unit.test_files import full_disk

NAMES = {
    "rocpd": "x.db",
    "rpd": "x.rpd",
    "perfetto": "x.pftrace",
    "torch": "x.json.gz",
    "rocprofv3-csv": "folder",
    "rocprofv3-json": "x_results.json",
    "rocprof-csv": "results.csv",
    "rocprof-json": "results.json",
}
ONE_WAY = {"speedscope": "x.speedscope.json", "folded": "x.folded", "prometheus": "x.prom"}  # not read back
TABLES_ONLY = {"parquet", "csv", "json"}


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("export") / "bundle"
    assert (
        main(
            ["profile", "--device", "sim:MI300X", "-o", str(folder), "--", str(workload_file("sync_in_loop"))]
        )
        == 0
    )
    return folder


def test_every_form_is_tried() -> None:
    assert set(FORMATS) - TABLES_ONLY - {"bundle"} == {*NAMES, *ONE_WAY}


@pytest.mark.parametrize("form", NAMES)
@pytest.mark.whole
def test_the_tools_own_formats_come_back(form: str, recording: Path, tmp_path: Path) -> None:
    target = tmp_path / NAMES[form]
    assert main(["export", str(recording), "-o", str(target), "--format", form]) == 0
    before, after = (load(path).table("dispatches").sort("start_ns") for path in (recording, target))
    columns = ("kernel", "start_ns", "end_ns", "agent_id")
    assert after.select(columns).rows() == before.select(columns).rows()
    assert main(["export", str(recording), "-o", str(target), "--format", form]) == 2


@pytest.mark.parametrize("name", ["x.db", "x.rpd", "x.pftrace"])
def test_the_suffix_says_it(name: str, recording: Path, tmp_path: Path) -> None:
    assert main(["export", str(recording), "-o", str(tmp_path / name)]) == 0
    assert load(tmp_path / name).rows("dispatches") == 360


@pytest.mark.parametrize("form", ONE_WAY)
@pytest.mark.whole
def test_what_viewers_read_is_written_by_its_suffix(form: str, recording: Path, tmp_path: Path) -> None:
    by_name, by_format = tmp_path / ONE_WAY[form], tmp_path / "named" / ONE_WAY[form]
    assert main(["export", str(recording), "-o", str(by_name)]) == 0
    assert main(["export", str(recording), "-o", str(by_format), "--format", form]) == 0
    assert by_name.read_bytes() == by_format.read_bytes()
    assert by_name.stat().st_size > 100
    assert main(["export", str(recording), "-o", str(by_name)]) == 2


def test_a_window_is_what_starts_in_it(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "x.pftrace"
    window = ["--from", "2ms", "--to", "0.004"]
    assert main(["export", str(recording), "-o", str(target), *window]) == 0
    assert "0.002s..0.004s" in capsys.readouterr().err
    whole = load(recording)
    first = min(
        int(whole.table(table)["start_ns"].min())  # type: ignore[arg-type]
        for table in ("dispatches", "api_calls", "ranges", "copies")
    )
    starts = whole.table("dispatches")["start_ns"] - first
    inside = starts.filter(starts.is_between(2_000_000, 4_000_000, closed="left"))
    back = load(target).table("dispatches")["start_ns"] - first
    assert back.sort().to_list() == inside.sort().to_list()
    assert 0 < back.len() < starts.len()


@pytest.mark.parametrize(
    ("window", "refusal"),
    [
        (["--from", "1000"], (5, "starts in the window 1000s..")),
        (["--from", "later"], (2, "'later' is not a time")),
        (["--from", "2", "--to", "1"], (2, "ends before it starts")),
    ],
)
def test_a_window_that_shows_nothing_is_refused(
    window: list[str],
    refusal: tuple[int, str],
    recording: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = main(["export", str(recording), "-o", str(tmp_path / "x.pftrace"), *window])
    assert code == refusal[0]
    assert refusal[1] in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.whole
def test_a_trace_in_parts_loses_and_doubles_nothing(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "x.pftrace"
    arguments = ["export", str(recording), "-o", str(target), "--split", "60k"]
    assert main(arguments) == 0
    assert "parts" in capsys.readouterr().err
    parts = sorted(tmp_path.iterdir())
    assert [part.name for part in parts] == [
        f"x-{number + 1}-of-{len(parts)}.pftrace" for number in range(len(parts))
    ]
    assert len(parts) > 2
    assert all(part.stat().st_size <= 60_000 for part in parts)
    columns = ["start_ns", "end_ns", "pid", "correlation_id"]
    for table in ("dispatches", "api_calls", "ranges"):
        pieces = [load(part).table(table).select(columns) for part in parts]
        together = pl.concat(pieces).sort(columns)
        assert together.equals(load(recording).table(table).select(columns).sort(columns))
    assert main(arguments) == 2
    assert main([*arguments, "--force"]) == 0


def test_parts_that_cannot_all_be_written_are_taken_away(
    recording: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fill_the_disk(path: Path, write: Callable[[Path], object], *, overwrite: bool) -> None:
        if "-3-of-" in path.name:
            raise OutputError(f"cannot write {path}", "No space left on device")
        write_whole(path, write, overwrite=overwrite)

    monkeypatch.setattr(perfetto, "write_whole", fill_the_disk)
    assert main(["export", str(recording), "-o", str(tmp_path / "x.pftrace"), "--split", "60k"]) == 6
    assert not list(tmp_path.iterdir())


def test_what_is_small_enough_stays_whole(recording: Path, tmp_path: Path) -> None:
    arguments = ["export", str(recording), "-o", str(tmp_path / "x.pftrace")]
    assert main([*arguments, "--split", "1G"]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["x.pftrace"]


def test_what_cannot_be_split_says_so(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["export", str(recording), "-o"]
    assert main([*arguments, str(tmp_path / "x.db"), "--split", "1M"]) == 2
    assert "rocpd files are not split" in capsys.readouterr().err
    assert main([*arguments, str(tmp_path / "x.pftrace"), "--split", "100"]) == 2
    assert "no part of this trace fits into 100 B" in capsys.readouterr().err


def test_a_recording_of_sensors_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = pl.DataFrame(
        [
            {"time_ns": 1000 + number, "agent_id": 4, "metric": "power_w", "value": number / 2, "unit": "W"}
            for number in range(20)
        ]
    )
    bundle = tmp_path / "sensors"
    write_bundle(Trace({"samples": conform("samples", rows)}), bundle)
    assert main(["export", str(bundle), "-o", str(tmp_path / "x.pftrace")]) == 0
    assert load(tmp_path / "x.pftrace").table("samples")["value"].to_list() == rows["value"].to_list()
    assert main(["export", str(bundle), "-o", str(tmp_path / "x.speedscope.json")]) == 0
    assert main(["export", str(bundle), "-o", str(tmp_path / "x.prom")]) == 0
    capsys.readouterr()
    assert main(["export", str(bundle), "-o", str(tmp_path / "x.folded")]) == 2
    assert "no kernels and no copies" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_to(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert main(["export", str(recording), "-o", str(tmp_path / "file" / "x.pftrace")]) == 6
    assert "cannot write" in capsys.readouterr().err


def test_a_torch_trace_holds_one_process(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, target = tmp_path / "run", tmp_path / "t.json"
    assert (
        main(["profile", "--device", "sim:MI300X", "-o", str(run), "--", str(workload_file("straggler"))])
        == 0
    )
    arguments = ["export", str(run), "-o", str(target), "--format", "torch"]
    assert main(arguments) == 2
    assert "--pid" in capsys.readouterr().err
    assert main([*arguments, "--pid", "4002"]) == 0
    of_process = load(run).table("dispatches").filter(load(run).table("dispatches")["pid"] == 4002)
    assert load(target).rows("dispatches") == of_process.height == 60


@pytest.mark.whole
def test_the_same_workload_gives_the_same_bytes(tmp_path: Path) -> None:
    written = []
    for number in range(2):
        run, target = tmp_path / f"run{number}", tmp_path / f"x{number}.pftrace"
        main(["profile", "--device", "sim:MI300X", "-o", str(run), "--", str(workload_file("slivers"))])
        assert main(["export", str(run), "-o", str(target)]) == 0
        written.append((target.read_bytes(), (run / "dispatches.parquet").read_bytes()))
    assert written[0] == written[1]


@pytest.mark.parametrize("form", FORMATS)
def test_a_full_disk_is_an_output_error(
    form: str, recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "new" / (NAMES | ONE_WAY).get(form, "x")
    with full_disk(600):
        assert main(["export", str(recording), "-o", str(target), "--format", form]) == 6
    assert "cannot write" in capsys.readouterr().err
    assert not target.is_file()
    assert not list(tmp_path.rglob("*.partial"))


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_a_table_needs_no_suffix(form: str, recording: Path, tmp_path: Path) -> None:
    target = tmp_path / "table"
    assert main(["export", str(recording), "-o", str(target), "--format", form]) == 0
    read = pl.read_parquet if form == "parquet" else pl.read_csv
    assert read(target).height == 360


def test_a_device_is_not_replaced(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    link = tmp_path / "full.json"
    link.symlink_to("/dev/full")
    assert main(["export", str(recording), "-o", str(link), "--force"]) == 2
    assert "not a regular file" in capsys.readouterr().err
    assert link.is_char_device()


# A bundle within some memory


def test_a_bundle_is_written_piece_by_piece_within_the_memory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    database, bundle = tmp_path / "results.db", tmp_path / "bundle"
    make_rocpd(database, 2_000, 2_000)
    memory = str(FLOOR_BYTES + 1_000_000)
    assert main(["export", str(database), "-o", str(bundle), "--memory", memory]) == 0
    assert "rows (read in 4 pieces)" in capsys.readouterr().err
    whole, pieced = load(database), load(bundle)
    for table in ("dispatches", "api_calls"):
        assert pieced.table(table).sort("start_ns").equals(whole.table(table).sort("start_ns"))
    assert (
        main(["export", str(database), "-o", str(bundle), "--memory", memory, "--from", "5ms", "--force"])
        == 0
    )
    assert "(read in 3 pieces, what starts in the window 0.005s..)" in capsys.readouterr().err
    assert (
        load(bundle)
        .table("dispatches")
        .equals(load(database, window=TimeWindow(5 * 10**6)).table("dispatches"))
    )


def test_what_can_only_be_read_whole_does_not_fit_into_less_memory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recording = tmp_path / "x.json"
    recording.write_text(
        "[" + ",".join(['{"ph":"X","name":"a","ts":1,"dur":1,"pid":1,"tid":1}'] * 99_999) + "]"
    )
    assert main(["export", str(recording), "-o", str(tmp_path / "bundle"), "--memory", "151M"]) == 4
    assert "does not fit into memory: about 99,999 events" in capsys.readouterr().err
    assert main(["export", str(recording), "-o", str(tmp_path / "x.csv"), "--memory", "151M"]) == 2
    assert "--memory is for bundles" in capsys.readouterr().err


# Sheets


@pytest.mark.parametrize("name", ["report.xlsx", "report"])
@pytest.mark.whole
def test_sheets_are_written_once(
    name: str, recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / name
    assert main(["export", str(recording), "--sheets", str(target), "--whole"]) == 0
    assert "gpu_timeline" in capsys.readouterr().err
    assert target.exists()
    assert main(["export", str(recording), "--sheets", str(target)]) == 2


def test_other_workbooks_are_refused_before_anything_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", str(tmp_path / "missing"), "--sheets", str(tmp_path / "report.ods")]) == 2
    assert "Name a file that ends in .xlsx, or a folder." in capsys.readouterr().err
