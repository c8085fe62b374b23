"""`run` and `build`, whole: dummy_prof on the simulated GPU, failures among successes, manifests, a fake docker."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from rocm_perf.cli.main import main
from rocm_perf.ingest.load import load
from tests.fake_tools import fake_path

FILES = {
    "dummy_prof_results.db",
    "kernel_trace.csv",
    "hip_api_trace.csv",
    "memory_copy_trace.csv",
    "model_trace.pftrace",
    "trace.json",
    "gpu_info_power_profiler_output.csv",
    "gpu_info_vram_profiler_output.csv",
}

# Builds nothing, and runs what a container would run, in this very environment.
FAKE_DOCKER = f"""#!{sys.executable}
import os, subprocess, sys
with open(os.environ["DOCKER_LOG"], "a") as log:
    log.write("\\x1f".join(sys.argv[1:]) + "\\n")
if sys.argv[1] == "build":
    print("step 1/1")
    sys.exit(int(os.environ.get("DOCKER_BUILD", "0")))
if sys.argv[1] == "run":
    words = sys.argv[sys.argv.index("--entrypoint") + 3:]
    sys.exit(subprocess.call([{sys.executable!r}, "-m", "rocm_perf", *words]))
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder on a machine without docker."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{Path(sys.executable).parent}")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def with_docker(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    docker, log = here / "bin" / "docker", here / "docker.log"
    docker.write_text(FAKE_DOCKER)
    docker.chmod(0o755)
    monkeypatch.setenv("DOCKER_LOG", str(log))
    return log


def catalogue(here: Path, *entries: str) -> None:
    (here / "workloads.toml").write_text("".join(f"[[workload]]\n{entry}\n" for entry in entries))


def only_run(here: Path) -> Path:
    (folder,) = (here / "rocprof_output").iterdir()
    return folder


@pytest.mark.whole
def test_dummy_prof_gives_a_verdict_and_the_files_that_scripts_read(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "--tags", "dummy_prof"]) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert "Data crosses between host and GPU in every step" in said
    folder = only_run(here)
    assert {file.name for file in folder.iterdir()} >= FILES
    whole = load(folder)
    assert whole.rows("dispatches") == 160
    for name in ("kernel_trace.csv", "dummy_prof_results.db", "trace.json"):
        assert load(folder / name).rows("dispatches") == 160, name
    assert load(folder.parent).rows("dispatches") == 160  # one run, not one for each of its files


@pytest.mark.whole
def test_presets_of_a_configuration_reach_the_simulated_gpu(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    context = '{"gpu_vendor": "AMD", "tools": [{"name": "rocprofv3_memory"}]}'
    assert main(["run", "--tags", "dummy_prof", "--additional-context", context, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    (outcome,) = document["workloads"]
    assert (outcome["status"], document["exit_code"]) == ("recorded", 0)
    assert FILES - {"trace.json"} <= {Path(file).name for file in outcome["files"]}
    assert load(only_run(here)).rows("counters") > 0


def test_one_failure_does_not_keep_the_others_back(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    catalogue(
        here,
        f'name = "fails"\ntags = ["mine"]\ncommand = [{sys.executable!r}, "-c", "raise SystemExit(3)"]',
        'name = "absent"\ntags = ["mine"]\ncommand = ["no-such-program"]',
        f'name = "works"\ntags = ["mine"]\ncommand = [{sys.executable!r}, "-c", "print(6 * 7)"]',
    )
    code = main(["run", "--tags", "mine", "--json"])
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    statuses = {each["name"]: (each["status"], each["exit_code"]) for each in document["workloads"]}
    assert statuses["fails"] == ("failed", 3)
    assert statuses["absent"] == ("failed", 2)
    assert statuses["works"][0] in ("recorded", "partly recorded")  # by the profilers of this machine
    assert code == document["exit_code"] == 3
    assert "there is no application no-such-program" in document["workloads"][1]["reason"]
    assert len(list((here / "rocprof_output").iterdir())) == 2  # nothing is left of what did not start


def test_a_timeout_ends_one_workload_and_an_interrupt_all(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nap = "import time; time.sleep(60)"
    stop = "import os, signal; os.kill(os.getppid(), signal.SIGINT); import time; time.sleep(60)"
    catalogue(
        here,
        f'name = "slow"\ntags = ["mine"]\ntimeout_s = 0.3\ncommand = [{sys.executable!r}, "-c", "{nap}"]',
        f'name = "stopped"\ntags = ["mine"]\ncommand = [{sys.executable!r}, "-c", "{stop}"]',
        f'name = "later"\ntags = ["mine"]\ncommand = [{sys.executable!r}, "-c", "pass"]',
    )
    assert main(["run", "--tags", "mine", "--json"]) == 130
    document = json.loads(capsys.readouterr().out)
    slow, stopped = document["workloads"]
    assert (slow["interrupted"], slow["reason"].split(";")[0]) == (False, "its timeout stopped it")
    assert (stopped["interrupted"], stopped["exit_code"]) == (True, 130)
    assert document["not_started"] == ["later"]


# Starts ranks as mpirun does, as far as their variables tell.
FAKE_MPIRUN = """#!/bin/sh
ranks=$2; shift 2
for rank in $(seq 0 $((ranks - 1))); do OMPI_COMM_WORLD_RANK=$rank OMPI_COMM_WORLD_SIZE=$ranks "$@" & done
wait
"""


@pytest.mark.launches
def test_the_ranks_of_a_configuration_are_recorded_as_one_run(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in fake_path(here).items():
        monkeypatch.setenv(name, value)
    program = "#!/bin/sh\necho $OMPI_COMM_WORLD_RANK $SEEN > seen$OMPI_COMM_WORLD_RANK\n"
    for name, text in {"bin/mpirun": FAKE_MPIRUN, "ranks": program}.items():
        (here / name).write_text(text)
        (here / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{here / 'bin'}:{os.environ['PATH']}:/usr/bin:/bin")
    catalogue(here, 'name = "ranks"\ncommand = ["./ranks"]')
    given = {
        "distributed": {"launcher": "mpirun", "nproc_per_node": 2},
        "env_vars": {"SEEN": "it"},
        "tools": [{"name": "rocprofv3_lightweight"}],
    }
    assert main(["run", "--tags", "ranks", "-c", json.dumps(given), "--json"]) == 0
    assert [(here / f"seen{rank}").read_text() for rank in (0, 1)] == ["0 it\n", "1 it\n"]
    (outcome,) = json.loads(capsys.readouterr().out)["workloads"]
    assert outcome["status"] == "recorded"
    run = load(here / outcome["folder"] / "raw", as_one=True)
    assert run.table("dispatches")["rank"].unique().sort().to_list() == [0, 1]


def test_a_job_of_slurm_needs_slurm(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    catalogue(here, 'name = "job"\ncommand = ["./app"]', 'name = "boxed"\ncommand = ["x"]\nimage = "i"')
    context = '{"slurm": {"nodes": 2, "output_dir": "shared"}}'
    assert main(["run", "--tags", "job,boxed", "-c", context, "--json"]) == 3
    job, boxed = json.loads(capsys.readouterr().out)["workloads"]
    assert (job["status"], job["exit_code"]) == ("failed", 3)
    assert (boxed["status"], boxed["exit_code"]) == ("not started", 4)
    assert "rocm-perf build --registry R" in boxed["reason"]


def test_a_dry_run_starts_and_writes_nothing(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--tags", "pyt", "dummy_prof", "--dry-run"]) == 0
    shown = capsys.readouterr().out
    for words in ("vllm bench latency", "torchtitan.train", "--model resnet50", "--device sim:MI300X"):
        assert words in shown
    assert sorted(path.name for path in here.iterdir()) == ["bin"]
    context = '{"docker_gpus": "all", "slurm": {"nodes": 2}}'
    assert main(["run", "--tags", "dummy_prof", "--dry-run", "-c", context]) == 0
    assert "slurm of the configuration: not used, it runs on the simulator" in capsys.readouterr().out
    assert main(["run", "--tags", "pyt", "--dry-run", "--json"]) == 0
    assert [step["where"] for step in json.loads(capsys.readouterr().out)["steps"]] == ["here"] * 3


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--tags", "dummy_prf"], 2, "the nearest are dummy_prof"),
        ([], 2, "run --list"),
        (["--manifest-file", "none.json"], 6, "rocm-perf build"),
        (["--tags", "dummy_prof", "-c", "{no"], 2, "not valid JSON"),
        (["--tags", "pyt", "-c", '{"tools": [{"name": "rocprofv3_compte"}]}'], 2, "rocprofv3_compute"),
        (["--tags", "dummy_prof", "-c", "{}", "-f", "x.json"], 2, "cannot be combined"),
        (["--tags", "dummy_prof", "--catalogue", "none.toml"], 6, "cannot read none.toml"),
    ],
)
def test_bad_requests_are_explained(
    here: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, words: str
) -> None:
    assert main(["run", *arguments]) == code
    assert words in capsys.readouterr().err
    assert not (here / "rocprof_output").exists()


def test_a_build_without_docker_says_so_and_its_manifest_still_runs(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["build", "--tags", "dummy_prof", "pyt_vllm_llama2_7b", "--registry", "reg.example"]) == 4
    assert "docker is not installed" in capsys.readouterr().err
    manifest = json.loads((here / "build_manifest.json").read_text())
    image = manifest["built_images"]["pyt_vllm_llama2_7b"]
    assert (image["built"], image["reason"]) == (False, "docker is not installed")
    assert set(manifest["built_models"]) == {"dummy_prof", "pyt_vllm_llama2_7b"}
    assert main(["run", "--manifest-file", "build_manifest.json", "--tags", "dummy_prof"]) == 0
    assert {file.name for file in only_run(here).iterdir()} >= FILES


def test_with_docker_images_are_built_and_pushed_and_run(
    here: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    log = with_docker(here, monkeypatch)
    catalogue(here, f'name = "own"\nimage = "base:1"\ncommand = [{sys.executable!r}, "-c", "print(6 * 7)"]')
    assert main(["build", "--tags", "own", "--registry", "reg.example/team"]) == 0
    capfd.readouterr()
    assert main(["run", "--manifest-file", "build_manifest.json", "--json"]) in (0, 4)
    (outcome,) = json.loads(capfd.readouterr().out)["workloads"]
    assert outcome["status"] in ("recorded", "partly recorded")
    build, push, run = (line.split("\x1f") for line in log.read_text().splitlines())
    image = build[build.index("--tag") + 1]
    assert "ROCM_IMAGE=base:1" in build
    assert push == ["push", image]
    assert image in run


def test_a_workload_whose_image_cannot_be_built_is_not_run_elsewhere(
    here: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with_docker(here, monkeypatch)
    monkeypatch.setenv("DOCKER_BUILD", "1")
    plain = f'name = "plain"\ncommand = [{sys.executable!r}, "-c", "pass"]'
    catalogue(here, 'name = "own"\nimage = "base:1"\ncommand = ["true"]', plain)
    assert main(["run", "--tags", "own", "plain"]) == 4
    said = capfd.readouterr().err
    assert "own: not started: it has no image: docker build ended with 1" in said
    assert f"recorded in rocprof_output/{only_run(here).name}" in said  # plain


def test_a_file_that_is_not_a_manifest_is_refused(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for text, words in (("[]", "not a build manifest"), ("{}", "no built_models"), ("{", "not a build")):
        (here / "m.json").write_text(text)
        assert main(["run", "--manifest-file", "m.json"]) == 6
        assert words in capsys.readouterr().err
