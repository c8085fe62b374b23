"""`export` into every form, and back."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from rocm_perf.cli.demo import workload_file
from rocm_perf.cli.export import FORMATS
from rocm_perf.cli.main import main
from rocm_perf.ingest.load import load
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
    assert set(FORMATS) - TABLES_ONLY - {"bundle"} == set(NAMES)


@pytest.mark.parametrize("form", NAMES)
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
    target = tmp_path / "new" / NAMES.get(form, "x")
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
