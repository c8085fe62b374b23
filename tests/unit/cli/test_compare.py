"""`rocm-perf compare` as a user meets it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from importlib import resources
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import polars as pl
import pytest

from rocm_perf.cli import compare as compare_verb
from rocm_perf.cli.main import main
from rocm_perf.model import bundle
from rocm_perf.model.trace import Trace
from rocm_perf.render.formats import rocprofv3
from rocm_perf.sim.workload import read_workload
from tests.sim.recorded import recorded
from tests.unit.analysis.compare.programs import MM, Op, program

WORKLOADS = Path(__file__).parents[3] / "examples" / "workloads"
NAMES = ("sync_in_loop", "sync_hoisted")
RUNS = 3  # the fewest that have an interval
SCHEMAS = resources.files("rocm_perf.render.report") / "schemas"


@pytest.fixture(scope="module")
def populations(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """A folder of several runs for each side, which differ by their noise."""
    root = tmp_path_factory.mktemp("populations")
    for name in NAMES:
        workload = read_workload(WORKLOADS / f"{name}.toml")
        for seed in range(RUNS):
            bundle.write(recorded(replace(workload, seed=seed)), root / name / f"run{seed}")
    return str(root / NAMES[0]), str(root / NAMES[1])


@pytest.fixture
def pair(populations: tuple[str, str]) -> tuple[str, str]:
    """One run of each side."""
    return f"{populations[0]}/run0", f"{populations[1]}/run1"


def test_the_answer_comes_first(pair: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", *pair]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "run0 -> run1"
    assert "x faster; one run each: no interval" in lines[1]
    assert any(line.startswith("- gone: The host waits for the GPU") for line in lines)
    assert len(lines) <= 45


@pytest.mark.whole
def test_json_is_complete(populations: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "--json", *populations, "--fail-on", "wall>3%", "kernels>+10"]) == 0
    comparison = json.loads(capsys.readouterr().out)
    schema = json.loads((SCHEMAS / "comparison.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(comparison)
    wall = comparison["waterfall"]
    assert sum(part["difference_ns"] for part in wall["parts"]) == wall["difference_ns"]
    assert wall["new_ns"] == pytest.approx(comparison["wall"]["new"], abs=1)
    assert {finding["fate"] for finding in comparison["findings"]} >= {"went"}
    assert [len(comparison[side]["runs"]) for side in ("base", "new")] == [RUNS, RUNS]
    assert comparison["checks"][0]["outcome"] == "passed"


@pytest.fixture
def models(tmp_path: Path) -> tuple[str, str]:
    """A model, and what a compiler made of it."""
    fused = Op("triton_poi_fused_mul_silu_0", 25, kernel="triton_poi_fused_mul_silu_0")
    sides = {"eager": (MM, Op("aten::silu", 20), Op("aten::mul", 20)), "compiled": (MM, fused)}
    for name, calls in sides.items():
        bundle.write(program(*calls), tmp_path / name)
    return str(tmp_path / "eager"), str(tmp_path / "compiled")


def test_models_are_aligned_in_json_and_judged(
    models: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    limits = ["operator:aten::mm.calls>+0", "operator:aten::mm.total>5%", "module:*.total>5%"]
    assert main(["compare", "--json", *models, "--fail-on", *limits]) == 4
    comparison = json.loads(capsys.readouterr().out)
    schema = json.loads((SCHEMAS / "comparison.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(comparison)
    assert [row["fate"] for row in comparison["alignment"]["work"]] == ["fused", "same"]
    assert [check["outcome"] for check in comparison["checks"]] == ["passed", "undecided", "undecided"]


@pytest.mark.parametrize(("more", "styled"), [([], True), (["--no-color"], False)])
@pytest.mark.whole
def test_colours_are_left_out_where_they_are_not_wanted(
    models: tuple[str, str],
    more: list[str],
    styled: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    assert main(["compare", *models, "--fail-on", "wall>1s", *more]) == 4
    assert bool(re.search(r"\x1b\[[0-9;]*3[0-7]m", capsys.readouterr().out)) == styled


@pytest.mark.thorough
def test_folders_of_several_runs_are_populations(
    populations: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", *populations, "--window", "all"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "sync_in_loop (3 runs) -> sync_hoisted (3 runs)"
    assert "2.43x faster (2.42x to 2.43x at 95 %)" in lines[1]


@pytest.mark.parametrize("separator", ["--", "--against"])
@pytest.mark.whole
def test_runs_of_both_sides_named(
    populations: tuple[str, str], separator: str, capsys: pytest.CaptureFixture[str]
) -> None:
    base, new = ([f"{side}/run{number}" for number in range(RUNS)] for side in populations)
    assert main(["compare", *base, separator, *new[:1], "--json"]) == 0
    comparison = json.loads(capsys.readouterr().out)
    assert [run["label"] for run in comparison["base"]["runs"]] == base
    assert [run["label"] for run in comparison["new"]["runs"]] == new[:1]
    assert comparison["wall"]["interval"] is None
    assert comparison["wall"]["no_interval"] == "3 runs against 1: no interval; record 3 or more of each side"
    assert (comparison["base"]["label"], comparison["new"]["label"]) == NAMES


@pytest.mark.thorough
def test_as_one_says_what_it_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in NAMES:
        run = recorded(read_workload(WORKLOADS / f"{name}.toml"))
        for number in range(2):
            rocprofv3.write_csv(_later(run, number * 100_000_000), tmp_path / name / f"{number}", "out")
    sides = [str(tmp_path / name) for name in NAMES]
    assert main(["compare", *sides, "--window", "all", "--json"]) == 0
    repeats = json.loads(capsys.readouterr().out)
    assert 1 / repeats["wall"]["ratio"] == pytest.approx(2.42, abs=0.02)
    assert main(["compare", *sides, "--as-one", "--json", "--fail-on", "kernels>+0", "wall>3%"]) == 4
    joined = json.loads(capsys.readouterr().out)
    assert joined["notes"][0].startswith("--as-one made one run of the several in ")
    assert joined["checks"][1]["outcome"] == "undecided"


def _later(run: Trace, ns: int) -> Trace:
    times = ("start_ns", "end_ns", "time_ns")
    tables = {
        name: run.table(name).with_columns(
            pl.col(column) + ns for column in run.table(name).columns if column in times
        )
        for name in run
    }
    return Trace(tables, run.run)


def test_the_scorecard_alone(
    pair: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = {"schema_version": 1, "correct": True, "checked_calls": 7, "largest_absolute_error": 0.5}
    accuracy = tmp_path / "ab.json"
    accuracy.write_text(json.dumps({**said, "largest_relative_error": 1e-7, "cases": []}))
    assert main(["compare", *pair, "--show", "scorecard", "--accuracy", str(accuracy)]) == 0
    text = capsys.readouterr().out
    assert "1e-07" in text
    assert "15 to 20 % fewer" in text
    assert "Where the difference comes from" not in text
    assert "--show scorecard" not in text


@pytest.mark.parametrize("content", ["", "[]", '{"correct": 1}', "[" * 100_000])
def test_an_accuracy_that_ab_did_not_write(
    pair: tuple[str, str], content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    accuracy = tmp_path / "ab.json"
    accuracy.write_text(content)
    assert main(["compare", *pair, "--accuracy", str(accuracy)]) == 6
    assert "is not what `ab` says" in capsys.readouterr().err
    assert main(["compare", *pair, "--accuracy", str(tmp_path / "absent")]) == 6


def test_an_unknown_section_is_refused_with_those_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "absent", "absent too", "--show", "scorecards"]) == 2
    assert "There are scorecard, steps, waterfall" in capsys.readouterr().err


@pytest.mark.whole
def test_a_regression_exits_with_1(populations: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    limits = ["wall>3%", "kernel:gemm*.median>5%", "kernels>+10"]
    assert main(["compare", *reversed(populations), "--fail-on", *limits]) == 1
    captured = capsys.readouterr()
    assert "✗ failed: wall>3%" in captured.out
    assert captured.err == "rocm-perf: 1 of 3 limits exceeded: 'wall>3%'\n"


def test_limits_fail_closed(pair: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", *pair, "--fail-on", "kernel:absent*.total>5%", "wall>900%"]) == 4
    captured = capsys.readouterr()
    text = " ".join(captured.out.split())
    assert "no kernel matches 'absent*'" in text
    assert "cannot tell: one run each: no interval" in text
    assert captured.err.startswith(
        "rocm-perf: 2 of 2 limits undecided: 'kernel:absent*.total>5%', 'wall>900%' ("
    )


def test_an_improvement_never_fails(pair: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """One run a side shows no interval, so whether the wall kept its limit is undecided, which is not a failure."""
    assert main(["compare", *pair, "--fail-on", "wall>3%"]) == 4
    assert "1 of 1 limit undecided: 'wall>3%'" in capsys.readouterr().err
    assert main(["compare", *pair, "--fail-on", "wall>3%", "kernels>1"]) == 1
    err = capsys.readouterr().err
    assert "1 of 2 limits exceeded: 'kernels>1'; 1 of 2 limits undecided: 'wall>3%'" in err


@pytest.mark.parametrize("limit", ["wall", "walls>3%", "wall>3", "kernel:x>3%", "median>3%"])
def test_a_bad_limit_is_refused_before_anything_is_read(
    limit: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", "absent", "absent too", "--fail-on", limit]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert repr(limit) in line


def test_paths_taken_for_limits_are_explained(
    pair: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", pair[0], "--fail-on", "wall>3%", pair[1]]) == 2
    assert "behind the paths" in capsys.readouterr().err


@pytest.mark.thorough
def test_reports_for_ci(pair: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page, cases = tmp_path / "comment.md", tmp_path / "checks.xml"
    argv = ["compare", *pair, "--fail-on", "wall>3%", "kernels>+10", "-o", str(page), "--junit", str(cases)]
    assert main([*argv, "--markdown"]) == 4
    assert capsys.readouterr().out == page.read_text()
    suite = ElementTree.parse(cases).getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    assert main(argv) == 2
    assert "--force" in capsys.readouterr().err
    assert main([*argv, "--force"]) == 4


@pytest.mark.parametrize(
    ("options", "reason"),
    [(("--junit", "x.xml"), "--junit has nothing to report"), (("-o", "x.pdf"), "an .html or .md file")],
)
def test_reports_that_make_no_sense(
    pair: tuple[str, str], options: tuple[str, str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", *pair, *options]) == 2
    assert reason in capsys.readouterr().err


def test_the_same_name_twice_is_told_apart_by_its_folder(
    pair: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", "--json", pair[0], pair[0]]) == 0
    assert json.loads(capsys.readouterr().out)["base"]["label"] == pair[0]


def test_a_missing_recording_is_named(pair: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", pair[0], pair[1] + "x"]) == 6
    assert pair[1] + "x" in capsys.readouterr().err


def test_one_of_several_that_cannot_be_read(
    pair: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", pair[0], "--", pair[1], pair[1] + "x", "--json"]) == 6
    captured = capsys.readouterr()
    assert pair[1] + "x" in captured.err
    assert len(json.loads(captured.out)["new"]["runs"]) == 1


@pytest.mark.parametrize("paths", [("one",), ("one", "two", "three")])
def test_two_sides_are_needed(paths: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", *paths]) == 2
    assert "compare A1 A2 -- B1 B2" in capsys.readouterr().err


def test_an_empty_side_is_refused(pair: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["compare", pair[0], "--"])
    assert stop.value.code == 2
    assert "--against" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("base", "new", "labels"),
    [
        (["x/a.db"], ["y/b.db"], ("a.db", "b.db")),
        (["x/a.db"], ["y/a.db"], ("x/a.db", "y/a.db")),
        (["old-1.db", "old-2.db"], ["new-1.db"], ("old", "new-1.db")),
        (["old/1", "old/2"], ["new/1", "new/2"], ("old", "new")),
        (["a/1", "b/2"], ["c/1", "d/2"], ("before", "after")),
    ],
)
def test_what_the_sides_are_called(base: list[str], new: list[str], labels: tuple[str, str]) -> None:
    assert compare_verb.side_labels([*map(Path, base)], [*map(Path, new)]) == labels
