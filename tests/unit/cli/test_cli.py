"""The command line as a user meets it: output, exit codes, errors without tracebacks."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from rocm_perf.cli.main import main

COLUMNS = (
    "Kind Agent_Id Queue_Id Stream_Id Thread_Id Dispatch_Id Kernel_Id Kernel_Name Correlation_Id Start_Timestamp "
    "End_Timestamp LDS_Block_Size Scratch_Size VGPR_Count Accum_VGPR_Count SGPR_Count Workgroup_Size_X "
    "Workgroup_Size_Y Workgroup_Size_Z Grid_Size_X Grid_Size_Y Grid_Size_Z"
)
KERNELS = ",".join(f'"{column}"' for column in COLUMNS.split()) + "\n"


def kernel_trace(
    folder: Path, name: str, start: int = 1000, kernel: str = "void scale<float, 4>(float*)"
) -> Path:
    rows = [
        f'"KERNEL_DISPATCH","Agent 4",1,0,7,{i},1,"{kernel}",{i},{start + 100 * i},{start + 100 * i + 60},'
        "0,0,8,0,16,64,1,1,640,1,1"
        for i in range(1, 11)
    ]
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(KERNELS + "\n".join(rows) + "\n")
    return path


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    return kernel_trace(tmp_path, "77_kernel_trace.csv")


def test_analyze_answers_in_a_screenful(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", str(recording)]) == 0
    out = capsys.readouterr().out
    assert "the GPU computes 60 ns (60.0 %)" in out
    assert "scale" in out
    assert len(out.splitlines()) <= 40


def test_sections_are_shown_in_full(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", str(recording), "--show", "gaps, kernels,gaps"]) == 0
    out = capsys.readouterr().out
    assert "360 ns in 9 gaps" in out
    assert out.count("Idle time of the GPU") == 1
    assert out.index("Idle time of the GPU") < out.index("9 dispatches of 1 kernel")
    assert "Coverage" not in out
    assert main(["analyze", str(recording), "--show", "all"]) == 0
    out = capsys.readouterr().out
    assert "Coverage" in out
    assert "Energy  unavailable: no power was read" in out


@pytest.mark.parametrize("names", ["gap", "", "gaps,nothing"])
def test_a_section_that_does_not_exist_lists_those_that_do(
    names: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["analyze", str(tmp_path / "missing"), "--show", names]) == 2
    error = capsys.readouterr().err
    assert "gaps, sync, launches" in error
    assert "all;" in error


def test_json_is_complete(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", "--json", str(recording)]) == 0
    document = json.loads(capsys.readouterr().out)
    run = document["runs"][0]
    assert (document["schema_version"], document["errors"]) == (2, [])
    assert run["hotspots"]["rows"][0]["total_ns"] == 540
    assert run["devices"][0]["busy"] == {
        "value": 0.6,
        "unit": "",
        "formula": "busy_ns / window_ns",
        "inputs": {"busy_ns": 540, "window_ns": 900},
        "unavailable": None,
        "doubt": None,
    }


def test_analyze_writes_its_files_once(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(["analyze", str(recording), "-o", str(out)]) == 0
    kernels = json.loads((out / "analysis.json").read_text())["kernels"]
    assert (kernels[0]["calls"], kernels[0]["time_ms"]) == (9, 0.00054)
    assert json.loads((out / "profile.json").read_text())["tables"]["dispatches"] == 10
    assert json.loads((out / "dag.json").read_text())["critical_path_ns"] == 860  # up to the last kernel
    assert json.loads((out / "roofline.json").read_text())["kernels"][0]["calls"] == 9
    assert main(["analyze", str(recording), "-o", str(out)]) == 2
    assert "--force" in capsys.readouterr().err
    assert main(["analyze", str(recording), "-o", str(out), "--force"]) == 0


def test_no_files_are_written_of_an_empty_recording(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = tmp_path / "1_kernel_trace.csv"
    empty.write_text(KERNELS)
    assert main(["analyze", str(empty), "-o", str(tmp_path / "out")]) == 5
    assert "The recording is empty" in capsys.readouterr().out
    assert not (tmp_path / "out").exists()


@pytest.mark.whole
def test_ten_paths_one_bad(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [kernel_trace(tmp_path, f"run{i}/{i}_kernel_trace.csv") for i in range(10)]
    paths[4].write_bytes(b"\x00\x01\x02 not a recording")
    assert main(["analyze", "--json", *map(str, paths)]) == 6
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    assert len(document["runs"]) == 9
    assert [error["path"] for error in document["errors"]] == [str(paths[4])]
    assert "4_kernel_trace.csv" in captured.err


def test_a_folder_with_two_runs_is_ambiguous(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kernel_trace(tmp_path, "host/1_kernel_trace.csv", start=1_000)
    kernel_trace(tmp_path, "host/2_kernel_trace.csv", start=900_000)
    assert main(["analyze", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert "holds 2 runs" in error
    assert "--each" in error
    assert main(["analyze", "--each", str(tmp_path)]) == 0
    assert capsys.readouterr().out.count("dispatches of 1 kernel") == 2


@pytest.mark.parametrize(
    ("content", "code", "message"),
    [
        (None, 6, "does not exist"),
        (b"", 5, "is empty"),
        (b"hello world\n", 6, "not a recording"),
        (b'{"a": 1}', 6, "JSON with the keys a"),
        (b"SQLite format 3\x00" + b"\x00" * 100, 6, "SQLite"),
        (KERNELS.encode(), 5, "nothing"),
        (
            KERNELS.encode() + b'"K","Agent 1",1,1,1,1,1,"k",1,1,2,0,0,0,0,0,1,1,1,1,1,1,99,99\n',
            6,
            "row 2 has 24 fields, but the header names 22",
        ),
    ],
)
def test_bad_input_is_one_clear_line(
    tmp_path: Path, content: bytes | None, code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "input"
    if content is not None:
        path.write_bytes(content)
    assert main(["analyze", str(path)]) == code
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.startswith("rocm-perf: ")
    assert len(captured.err.splitlines()) == 1
    assert ("The recording is empty" in captured.out) == (code == 5)  # that is an answer, too
    assert bool(captured.out) == (code == 5)


def test_query(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sql = "SELECT kernel, COUNT(*) AS n, SUM(end_ns - start_ns) AS t FROM dispatches GROUP BY kernel"
    assert main(["query", str(recording), sql, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "columns": ["kernel", "n", "t"],
        "rows": [["void scale<float, 4>(float*)", 10, 600]],
    }
    assert main(["query", str(recording), sql, "--csv"]) == 0
    assert capsys.readouterr().out == 'kernel,n,t\n"void scale<float, 4>(float*)",10,600\n'
    assert (
        main(
            [
                "query",
                str(recording),
                "SELECT dispatch_id FROM dispatches ORDER BY dispatch_id",
                "--limit",
                "3",
            ]
        )
        == 0
    )
    assert "7 more rows" in capsys.readouterr().out
    assert main(["query", str(recording), "SELECT * FROM copies"]) == 0


def test_a_query_that_fails_names_the_tables(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", str(recording), "SELECT nothing FROM nowhere"]) == 2
    assert "dispatches" in capsys.readouterr().err


def test_export_and_back(recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import polars as pl

    bundle, again = tmp_path / "bundle", tmp_path / "again"
    assert main(["export", str(recording), "-o", str(bundle)]) == 0
    assert main(["export", str(bundle), "-o", str(again)]) == 0
    for table in ("dispatches", "nodes"):
        assert pl.read_parquet(bundle / f"{table}.parquet").equals(
            pl.read_parquet(again / f"{table}.parquet")
        )
    capsys.readouterr()
    assert main(["analyze", "--json", str(recording)]) == 0
    direct = json.loads(capsys.readouterr().out)["runs"][0]
    assert main(["analyze", "--json", str(again)]) == 0
    indirect = json.loads(capsys.readouterr().out)["runs"][0]
    assert direct["hotspots"] == indirect["hotspots"]
    assert direct["devices"] == indirect["devices"]


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".json"])
def test_export_refuses_to_overwrite(
    recording: Path, tmp_path: Path, suffix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / f"out{suffix}"
    assert main(["export", str(recording), "-o", str(target)]) == 0
    before = target.read_bytes()
    assert main(["export", str(recording), "-o", str(target)]) == 2
    assert target.read_bytes() == before
    assert main(["export", str(recording), "-o", str(target), "--force"]) == 0
    assert not list(tmp_path.glob(".*partial"))


def test_export_of_a_table_that_is_not_there(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", str(recording), "-o", str(tmp_path / "x.csv"), "--table", "copies"]) == 2
    assert "--table: dispatches" in capsys.readouterr().err
    assert main(["export", str(recording), "-o", str(tmp_path / "x.pdf")]) == 2


def test_formats_lists_everything_that_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    from rocm_perf.ingest.sniff import adapters

    assert main(["formats", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == len(adapters())
    assert main(["formats", "--tables"]) == 0
    assert "start_ns" in capsys.readouterr().out


def test_an_internal_error_is_one_line(
    recording: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("boom")

    monkeypatch.setattr("rocm_perf.analysis.overview.examine", broken)
    assert main(["analyze", str(recording)]) == 70
    assert "internal error (ZeroDivisionError: boom)" in capsys.readouterr().err


def test_python_without_docstrings_runs_every_verb(recording: Path) -> None:
    script = (
        "import sys\nfrom rocm_perf.cli.main import build_parser, main\n"
        "build_parser()\nsys.exit(main(['analyze', sys.argv[1]]))"
    )
    command = [sys.executable, "-OO", "-c", script, str(recording)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "scale" in done.stdout


def test_a_low_limit_of_address_space_is_named(recording: Path) -> None:
    command = f"ulimit -v 600000; '{sys.executable}' -m rocm_perf.cli.main analyze '{recording}'"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == 4
    assert "`ulimit -v` leaves 614 MB of address space" in done.stderr
    assert "ulimit -v unlimited" in done.stderr
    assert "panicked" not in done.stderr


def test_memory_that_runs_out_is_no_internal_error(
    recording: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def exhausted(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("rocm_perf.analysis.overview.examine", exhausted)
    assert main(["analyze", str(recording)]) == 4
    assert "does not fit into memory" in capsys.readouterr().err


def test_version_imports_nothing_heavy() -> None:
    code = (
        "import sys, contextlib\n"
        "from rocm_perf.cli.main import main\n"
        "with contextlib.suppress(SystemExit): main(['--version'])\n"
        "heavy = {'polars', 'msgspec', 'rich', 'numpy', 'perfetto', 'google'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("rocm-perf ")


def test_a_reader_that_leaves_early_is_no_error(recording: Path) -> None:
    command = f"'{sys.executable}' -m rocm_perf.cli.main formats --tables | head -1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("analyse", "Did you mean analyze? `rocm-perf --help` lists all."),
        ("x", "`rocm-perf --help` lists all."),
    ],
)
def test_a_verb_that_does_not_exist_names_those_like_it(
    word: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([word]) == 2
    assert capsys.readouterr().err == f"rocm-perf: there is no verb {word!r}. {meant}\n"


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["analyze", "FILE", "--show", "gapz"], "there is no section 'gapz'. Did you mean gaps?"),
        (["FILE"], "is a file, not a verb. To read a recording: rocm-perf analyze FILE."),
        (["list-counters", "--arch", "mi300x"], "Did you mean gfx942 (AMD Instinct MI300X)?"),
        (
            ["list-counters", "--arch", "gfx943"],
            "no counters are known for 'gfx943': the nearest name is gfx9",
        ),
        (
            ["profile", "--device", "sim:MI300X", "--", "./app.sh"],
            "a simulated device takes one workload file (.toml), and runs no program: ./app.sh was given.",
        ),
        (
            ["compare", "FILE", "FILE", "--step-kind", "decode"],
            "BASE (FILE) and NEW (FILE): the recording holds no decode step",
        ),
    ],
)
def test_what_was_probably_meant_is_named(
    recording: Path, arguments: list[str], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([word.replace("FILE", str(recording)) for word in arguments]) == 2
    assert meant.replace("FILE", str(recording)) in capsys.readouterr().err


def test_a_mistyped_option_is_named(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["analyze", str(recording), "--shwo", "gaps"])
    assert ended.value.code == 2
    assert "unrecognized arguments: --shwo gaps (did you mean --show?)" in capsys.readouterr().err


def test_an_empty_file_or_folder_says_so_first(tmp_path: Path) -> None:
    (tmp_path / "empty.json").touch()
    (tmp_path / "folder").mkdir()
    for name in ("empty.json", "folder"):
        command = [sys.executable, "-m", "rocm_perf", "analyze", name]
        done = subprocess.run(
            command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
        assert done.returncode == 5
        assert done.stdout.startswith(f"rocm-perf: {name} is empty: the profiler ")


def test_a_document_is_a_line_in_a_prompt(recording: Path) -> None:
    import rocm_perf

    shown = repr(rocm_perf.analyze(recording))
    assert shown.startswith(f"<Document of {str(recording)!r}: rocprofv3, ")
    assert len(shown) < 400
    assert "\n" not in shown
