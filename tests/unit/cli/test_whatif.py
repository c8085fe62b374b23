"""`rocm-perf whatif` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rocm_perf import api
from rocm_perf.cli.main import main
from rocm_perf.model import bundle
from rocm_perf.sim.engine import simulate
from rocm_perf.sim.record import record
from rocm_perf.sim.workload import parse_workload
from tests.unit.analysis.serving.loops import MS, Planted, in_time
from tests.unit.sim.runs import KERNELS, STEADY, thread

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "workloads"


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("whatif") / "sync_in_loop"
    bundle.write(api.simulate(EXAMPLES / "sync_in_loop.toml"), folder)
    return str(folder)


def test_the_answer_with_its_assumptions(recording: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["whatif", recording, "--hoist-syncs", "--window", "all"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "synchronisations hoisted: 7.03 ms -> 2.89 ms, 2.43x"
    assert any("synchronising calls vanish" in line for line in out)
    assert not any("This covers" in line for line in out)


def test_the_steady_state_is_what_is_asked_about(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    loop = '{repeat = 40, steps = [{launch = "big"}, {sync = "stream"}]}'
    text = KERNELS + thread('{launch = "small"}, {cpu = "load", us = 9000}, ' + loop)
    bundle.write(record(simulate(parse_workload(text), STEADY)), tmp_path / "run")
    assert main(["whatif", str(tmp_path / "run"), "--faster", "big=2"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith("kernels big 2 times faster: 1.29 ms -> ")
    assert out[1].startswith("This covers the steady state (")


def test_the_steps_of_a_kind_are_named_as_such(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    steps = [Planted("prefill 512", 4 * MS), *(Planted(f"decode {n}", MS) for n in range(5))]
    bundle.write(in_time(steps), tmp_path / "run")
    assert main(["whatif", str(tmp_path / "run"), "--faster", "gemm=2", "--step-kind", "decode"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[1].startswith("This covers the decode steps (")
    assert out[1].endswith(" of 11.4 ms); --window all without --step-kind for the whole recording.")


def test_several_changes_and_json(recording: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["whatif", recording, "--faster", "paged=2", "--graphs", "--json"]) == 0
    projection = json.loads(capsys.readouterr().out)["projection"]
    assert projection["change"] == "kernels paged 2 times faster, repeated launches captured into graphs"
    assert projection["saved_ns"] == projection["recorded_wall_ns"] - projection["wall_ns"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "no change was given"),
        (["--faster", "paged"], "--faster 'paged' is not understood"),
        (["--faster", "paged=0"], "--faster 'paged=0' is not understood"),
        (["--faster", "nothing_like_it=2"], "no kernel 'nothing_like_it'"),
        (["--at-roof", "nothing_like_it"], "no kernel 'nothing_like_it' has a known roof"),
        (["--at-roof", "("], "'(' is not a regular expression"),
        (["--faster", "paged=1e-320"], "more than can be timed"),
        (["--faster", "paged=1e-14"], "more than can be timed"),
        (["--host", "0=1e300"], "more than can be timed"),
        (["--host", "first=2"], "'first' is not a rank"),
        (["--host", "99999999999999999999=2"], "is not a rank"),
        (["--host", "7=2"], "no host calls of rank 7 are recorded"),
    ],
)
@pytest.mark.whole
def test_a_request_without_sense_is_one_line(
    recording: str, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(["whatif", recording, *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_a_pattern_that_is_no_regex(recording: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["whatif", recording, "--faster", "([=2"]) == 2
    assert "([" in capsys.readouterr().err


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("whatif") / "straggler"
    bundle.write(api.simulate(EXAMPLES / "straggler.toml"), folder)
    return str(folder)


@pytest.mark.parametrize(
    ("options", "title"),
    [
        (["--host", "2=0.29"], "host time of rank 2 times 0.29: 32.0 ms -> 20.6 ms"),
        (["--compute", "2=0.5"], "kernels of rank 2 times 0.5: 32.0 ms -> "),
        (["--link", "2"], "links 2 times faster: 32.0 ms -> 28.6 ms"),
    ],
)
def test_changes_to_one_rank_and_to_links(
    job: str, options: list[str], title: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["whatif", job, *options]) == 0
    assert capsys.readouterr().out.startswith(title)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--link", "0"], "--link '0' is not understood"),
        (["--link", "fast"], "--link 'fast' is not understood"),
        (["--compute", "two=0.5"], "'two' is not a rank"),
        (["--compute", "9=0.5"], "no kernels of rank 9 are recorded"),
        (["--host", "2"], "--host '2' is not understood"),
    ],
)
def test_a_change_that_is_not_understood(
    job: str, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["whatif", job, *options]) == 2
    assert message in capsys.readouterr().err
