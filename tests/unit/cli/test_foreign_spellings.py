"""Spellings of other tools and of older guides: each works, or is answered by one line that says what to use."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from rocm_perf.cli.foreign_spellings import Spelling, spellings
from rocm_perf.cli.main import build_parser, main
from rocm_perf.cli.profile import ProfileCommand
from rocm_perf.cli.profile_request import request_of
from rocm_perf.sim.gpu import find_gpu
from tests.unit.cli.parsing import parsed

ROWS = spellings()


def typed(row: Spelling, verb: str) -> list[str]:
    match row.kind:
        case "verb":
            return [row.spelled, "--", "sh"]
        case "argument":
            return [verb, "kernel.hip", "./app 100"]
        case "option":
            return (
                [verb, row.spelled, "3", "--", "sh"]
                if verb != "optimize"
                else [verb, "k.hip", row.spelled, "3"]
            )


def name_of(case: Spelling | str) -> str:
    return case if isinstance(case, str) else case.spelled


@pytest.mark.parametrize(("row", "verb"), [(row, verb) for row in ROWS for verb in row.on], ids=name_of)
def test_each_row_is_one_line_that_names_what_to_use(
    row: Spelling, verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(typed(row, verb)) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    (line,) = printed.err.splitlines()
    assert f"here use {row.use}" in line
    assert line.startswith(f"rocm-perf: {row.spelled} comes from {row.of}")
    assert row.example in line


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.spelled)
def test_each_example_is_a_command_of_ours(row: Spelling) -> None:
    name, verb, *words = shlex.split(row.example)
    assert name == "rocm-perf"
    args = build_parser(verb).parse_args([verb, *words])
    assert args.verb == verb


def test_a_row_that_became_an_option_of_ours_has_to_go() -> None:
    for row in ROWS:
        for verb in row.on if row.kind == "option" else ():
            parser = build_parser(verb)
            assert row.spelled not in parser.format_help()
    assert len({(row.spelled, row.on) for row in ROWS}) == len(ROWS)


def test_several_at_once_are_all_answered(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", "--roofline", "--quiet", "--", "sh"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "--roofline comes from" in line
    assert "--quiet comes from" in line


def test_what_the_table_does_not_have_is_told_as_ever(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["profile", "--no-such-option", "--", "sh"])
    assert "unrecognized arguments: --no-such-option" in capsys.readouterr().err


# --- spellings that work ---


@pytest.mark.parametrize(
    "words",
    [
        ("--counter", "SQ_WAVES,SQ_INSTS_VALU", "sh", "x.sh"),
        ("--counter", "SQ_WAVES", "SQ_INSTS_VALU", "sh", "x.sh"),
        ("--counters", "SQ_WAVES,SQ_INSTS_VALU", "--", "sh", "x.sh"),
    ],
)
def test_counters_without_dashes_before_the_application(words: tuple[str, ...]) -> None:
    made, _ = request_of(parsed(ProfileCommand(), *words))
    assert (made.counters, made.command) == (("SQ_WAVES", "SQ_INSTS_VALU"), ("sh", "x.sh"))


def test_a_group_of_pmc_without_dashes() -> None:
    made, _ = request_of(parsed(ProfileCommand(), "--pmc", "SQ_WAVES", "--pmc", "GRBM_COUNT", "sh", "x.sh"))
    assert (made.counter_passes, made.command) == ((("SQ_WAVES",), ("GRBM_COUNT",)), ("sh", "x.sh"))


def test_roctx_trace_is_the_marker_trace() -> None:
    made, _ = request_of(parsed(ProfileCommand(), "--roctx-trace", "--", "sh"))
    assert made.wish.domains == ("marker",)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("omnitrace", "rocprof-sys"),
        ("omnitrace-run", "rocprof-sys"),
        ("omnitrace-python", "rocprof-sys-python"),
        ("rocprofv3", "rocprofv3"),
    ],
)
def test_profilers_go_by_their_older_names(name: str, meant: str) -> None:
    made, _ = request_of(parsed(ProfileCommand(), "--profiler", name, "--", "sh"))
    assert made.profiler == meant


@pytest.mark.parametrize(
    ("device", "name"),
    [("sim:gfx942", "MI300X"), ("sim:gfx1151", "8060S"), ("gfx90a", "MI250X"), ("sim:mi355x", "MI355X")],
)
def test_a_simulated_gpu_goes_by_its_chip(device: str, name: str) -> None:
    assert name in find_gpu(device).name


# --- a folder is not called output.csv ---


@pytest.mark.parametrize(
    "command",
    [
        ("profile", "-o", "output.csv", "--", "sh"),
        ("profile", "-d", "output.csv", "--", "sh"),
        ("counters", "-o", "output.csv", "--", "sh"),
        ("trace", "-o", "output.CSV", "--", "sh"),
        ("launch", "mpi", "-o", "output.csv", "--", "sh"),
        ("analyze", "run", "-o", "output.csv"),
        ("merge", "run", "-o", "output.csv"),
        ("capture", "-o", "output.csv", "--kernel", "k", "--", "sh"),
        ("suite", "wmma", "-o", "output.csv"),
        ("demo", "-o", "output.csv"),
        ("list-counters", "--arch", "gfx942", "--sets", "--write", "output.csv"),
    ],
)
def test_no_folder_is_named_like_a_file(
    command: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(list(command)) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "is the name of a file" in line
    assert "write output for a folder; rocm-perf export RECORDING -o F.csv writes a table" in line
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_here_may_have_any_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("old.csv").mkdir()
    args = parsed(ProfileCommand(), "-d", "old.csv", "--", "sh")
    assert args.output_directory == Path("old.csv")
