"""What is printed, whoever recorded it and wherever it goes."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from rocm_perf.cli.console import result_console
from rocm_perf.cli.export import FORMATS
from rocm_perf.cli.main import main
from rocm_perf.cli.query import QueryCommand
from rocm_perf.text import ascii_json, clean, encode_json
from tests.mangled import BOMBS
from tests.unit.cli.test_repro import event, recording

HOSTILE = "k\x1b]0;title\x07\x1b[2J\u202eevil\u2066\x9b31m\r\u2028"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A torch trace whose operators, ranges and kernels have names that a terminal would obey."""
    folder = tmp_path_factory.mktemp("hostile")
    path = recording(folder, *(event("aten::mm", number, 100 * number, [[4], [4]]) for number in (3, 5)))
    document = json.loads(path.read_text())
    for place in document["traceEvents"]:
        if place["cat"] in ("kernel", "cuda_runtime"):
            place["name"] += HOSTILE
    document["traceEvents"].append(event(HOSTILE, 9, 900, [[4], [4]]))
    named = folder / f"{HOSTILE}.json"
    named.write_text(json.dumps(document))
    return named


def _obeyed(text: str) -> set[str]:
    return {each for each in text if not each.isprintable() and each != "\n"}


@pytest.mark.parametrize(
    "arguments",
    [
        ["analyze", "{}"],
        ["analyze", "{}", "--show", "all"],
        ["analyze", "{}", "--json"],
        ["analyze", "{}", "{}.missing"],
        ["analyze", "{}.missing"],
        ["report", "{}", "-o", "-"],
        ["report", "{}", "-o", "{}.html", "--json", "--force"],
        ["compare", "{}", "{}"],
        ["compare", "{}", "{}", "--json"],
        ["query", "{}", "SELECT * FROM dispatches"],
        ["query", "{}", "SELECT name FROM ops", "--json"],
        ["query", "{}", HOSTILE],
        ["whatif", "{}", "--faster", "k.*=2"],
        ["whatif", "{}", "--faster", f"{HOSTILE}=2"],
        ["repro", "{}"],
        ["repro", "{}", "--json"],
        ["repro", "{}", "--op", "3"],
        ["repro", "{}", "--op", "9"],
        ["repro", "{}", "--op", HOSTILE],
        ["repro", "{}", "--op", "3", "-o", "{}.py", "--force"],
        ["report", "{}", "-o", "{}.md", "--force"],
        ["export", "{}", "-o", "{}.csv", "--force"],
        ["export", "{}", "-o", "{}.csv", "--table", HOSTILE],
        ["kernels", "{}"],
        ["gpus", HOSTILE],
        ["list-counters", "--arch", HOSTILE],
        ["list-counters", "--arch", "gfx942", "--search", HOSTILE],
        ["profile", "--dry-run", "--", "true", HOSTILE],
        ["capture", "--dry-run", "--kernel", "k", "-o", "{}.snap", "--", "true", HOSTILE],
        ["replay", "info", "{}"],
    ],
    ids=lambda arguments: " ".join(arguments[:4]).replace(HOSTILE, "HOSTILE"),
)
@pytest.mark.whole
def test_a_terminal_is_told_nothing_by_a_recording(
    arguments: list[str], hostile: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main([word.replace("{}", str(hostile)) for word in arguments])
    printed = capsys.readouterr()
    assert code != 70, printed.err
    assert printed.out or printed.err
    assert not _obeyed(printed.out + printed.err)


@pytest.mark.whole
def test_kernels_whose_names_double_do_not_hold_up_an_analysis(tmp_path: Path) -> None:
    path = recording(tmp_path, *(event("aten::mm", 1 + n, 100 * n, [[4], [4]]) for n in range(len(BOMBS))))
    document = json.loads(path.read_text())
    kernels = [place for place in document["traceEvents"] if place["cat"] == "kernel"]
    for kernel, name in zip(kernels, BOMBS.values(), strict=True):
        kernel["name"] = name
    path.write_text(json.dumps(document))
    assert main(["analyze", str(path), "--show", "all"]) == 0
    assert main(["compare", str(path), str(path)]) == 0


@pytest.mark.parametrize("name", ["r.md", "r.html"])
def test_a_report_file_is_as_clean(name: str, hostile: Path, tmp_path: Path) -> None:
    assert main(["report", str(hostile), "-o", str(tmp_path / name)]) == 0
    assert not _obeyed((tmp_path / name).read_text())


def test_json_keeps_what_it_escapes() -> None:
    text = encode_json({"name": HOSTILE}).decode()
    assert not _obeyed(text)
    assert json.loads(text) == {"name": HOSTILE}
    wide = encode_json(["\U0001f600 é"]).decode()
    assert ascii_json(wide).isascii()
    assert json.loads(ascii_json(wide)) == ["\U0001f600 é"]


def test_bytes_that_are_no_text_are_shown() -> None:
    assert json.loads(encode_json({"\udcff": ("a\udcfe",)})) == {"\\xff": ["a\\xfe"]}
    assert clean("a\udcfe") == "a "


def _analyze(path: Path) -> list[str]:
    return ["analyze", str(path)]


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_a_full_device_is_an_output_error(
    hostile: Path, more: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert main([*_analyze(hostile), *more]) == 6
    assert "cannot write the output: No space left on device" in capsys.readouterr().err


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_a_stream_that_takes_ascii_alone_gets_ascii(
    hostile: Path, more: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(data, encoding="ascii", write_through=True))
    assert main([*_analyze(hostile), *more]) == 0
    assert data.getvalue().isascii()
    if more:
        assert json.loads(data.getvalue())["runs"]


@pytest.mark.parametrize("columns", ["0", "1", "12", "99999999999999999999"])
@pytest.mark.whole
def test_any_width_of_a_terminal(
    hostile: Path, columns: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with (
        monkeypatch.context() as changed
    ):  # pytest itself reports the test by COLUMNS, before fixtures are undone
        changed.setenv("COLUMNS", columns)
        assert 40 <= result_console().width <= 1000
        assert main([*_analyze(hostile), "--show", "all"]) == 0
        assert main(["query", str(hostile), "SELECT * FROM dispatches"]) == 0
    assert "aten" in capsys.readouterr().out


_COLOUR = re.compile(r"\x1b\[[0-9;]*3[0-7]m")


@pytest.mark.parametrize(("more", "coloured"), [([], True), (["--no-color"], False)])
def test_colours_are_left_out_where_they_are_not_wanted(
    hostile: Path,
    more: list[str],
    coloured: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "100")  # wide enough for the bar of the phases
    assert main([*_analyze(hostile), *more]) == 0
    assert bool(_COLOUR.search(capsys.readouterr().out)) == coloured


@pytest.mark.launches
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("more", ["", "--json", "-o {}/out --force"])
def test_closed_streams(closed: str, more: str, hostile: Path, tmp_path: Path) -> None:
    words = f'analyze "$1" {more.format(tmp_path)}'
    script = f'exec "{sys.executable}" -m rocm_perf.cli.main {words} {closed}'
    done = subprocess.run(["/bin/sh", "-c", script, "sh", str(hostile)], capture_output=True, check=False)
    assert done.returncode == 0
    assert not done.stderr


def _raising(error: BaseException) -> Callable[..., int]:
    def run(*_: object) -> int:
        raise error

    return run


def test_a_panic_of_polars_is_an_internal_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("ROCM_PERF_DEBUG", raising=False)
    monkeypatch.setattr(QueryCommand, "run", _raising(pl.exceptions.PanicException("index out of bounds")))
    assert main(["query", "x", "SELECT 1"]) == 70
    assert "index out of bounds" in capsys.readouterr().err


def test_a_deleted_working_directory_is_named(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    command = f'rmdir "{gone}"; exec "{sys.executable}" -m rocm_perf.cli.main profile -- true'
    done = subprocess.run(
        ["/bin/sh", "-c", command], cwd=gone, capture_output=True, text=True, check=False, env=os.environ
    )
    assert done.returncode == 6, done.stderr
    assert "the working directory no longer exists" in done.stderr


FOREIGN = os.fsdecode(b"a\xff")


@pytest.mark.parametrize("form", FORMATS)
def test_a_name_that_is_not_utf8(form: str, hostile: Path, tmp_path: Path) -> None:
    source = tmp_path / f"{FOREIGN}.json"
    source.write_bytes(hostile.read_bytes())
    target = tmp_path / FOREIGN
    assert main(["export", str(source), "-o", str(target), "--format", form]) == 0
    assert target.exists()


def test_the_label_of_a_name_that_is_not_utf8(
    hostile: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / f"{FOREIGN}.json"
    source.write_bytes(hostile.read_bytes())
    assert main(["analyze", str(source), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["runs"][0]["label"].endswith("a\\xff.json")


def test_a_query_that_is_not_utf8_is_refused(hostile: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", str(hostile), f"SELECT '{FOREIGN}'"]) == 2
    assert "not UTF-8" in capsys.readouterr().err


def test_an_argument_of_the_program_that_is_not_utf8(tmp_path: Path) -> None:
    assert main(["profile", "-d", str(tmp_path), "--", "true", FOREIGN]) in (0, 4)
    record = next(tmp_path.rglob("rocm-perf-run.json"))
    assert json.loads(record.read_bytes())["command"][-1] == "a\\xff"
