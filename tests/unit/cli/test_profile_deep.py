"""`profile --deep`: what is recorded after the verdict on the first recording."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rocm_perf.api import analyze, simulate
from rocm_perf.backends.base import Wish
from rocm_perf.cli.demo import workload_file
from rocm_perf.cli.main import main
from rocm_perf.cli.profile_deep import deeper
from rocm_perf.collect.plan.plan import plans
from rocm_perf.collect.request.request import Request
from rocm_perf.ingest.load import load
from tests.fake_tools import fake_path
from tests.unit.backends.machines import amd

FIRST = Request(command=("./app",), preset="auto", wish=Wish(domains=("kernel", "hip")))


def test_counters_and_a_thread_trace_of_the_top_kernel_where_it_works() -> None:
    softmax = analyze(simulate(workload_file("softmax")))
    machine = amd(tools=("rocprofv3", "att-decoder"))
    more = deeper(FIRST, softmax, machine, "run")
    assert more is not None
    request, said = more
    assert (request.preset, request.run_id) == ("memory", "run-deep")
    assert said[0].startswith("once more, with the preset memory: ")
    (traced,) = [
        run for run in plans(request, machine, Path("/out"))[0].runs if run.purpose == "thread trace"
    ]
    assert any("softMaxForward" in word for word in traced.command.argv)
    counted = [run for run in plans(request, machine, Path("/out"))[0].runs if run.counters]
    assert len(counted) == 5
    assert not any("softMaxForward" in word for run in counted for word in run.command.argv)


def test_without_a_decoder_there_is_no_thread_trace_and_a_word_why() -> None:
    softmax = analyze(simulate(workload_file("softmax")))
    more = deeper(FIRST, softmax, amd(), "run")
    assert more is not None
    request, said = more
    assert not request.wish.att
    assert request.counters == ("memory_bound",)
    assert said[1].startswith("no thread trace: ")


@pytest.mark.launches
def test_both_recordings_are_kept_with_their_analyses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for name, value in fake_path(tmp_path).items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    assert main(["profile", "-o", "mine", "--deep", "--json", "--", "true"]) == 0
    (document,) = json.loads(capfd.readouterr().out)["runs"]
    assert document["label"] == str(tmp_path / "mine-deep")
    for run in ("mine", "mine-deep"):
        written = {path.name for path in Path(run).glob("*.json")}
        assert written == {"profile.json", "roofline.json", "dag.json", "analysis.json"}
        assert not any("not read" in notice for notice in load(Path(run)).run.notices)


def test_a_simulated_gpu_obeys_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    softmax = str(workload_file("softmax"))
    assert (
        main(["profile", "--device", "sim:MI300X", "-d", "runs", "--deep", "--no-analyze", "--", softmax])
        == 0
    )
    deep = load(Path("runs/softmax-1"))
    assert deep.rows("counters") > 0
    light = ["--preset", "lightweight", "-o", "light", "--no-analyze"]
    copying = str(workload_file("copy_in_loop"))
    assert main(["profile", "--device", "sim:MI300X", *light, "--", copying]) == 0
    trace = load(Path("light"))
    assert (trace.has("dispatches"), trace.has("api_calls")) == (True, True)
    assert not trace.has("copies")
    assert main(["profile", "--device", "sim:MI300X", "--preset", "att", "--", copying]) == 2
