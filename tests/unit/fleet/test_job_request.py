"""The job that options and a configuration describe."""

from __future__ import annotations

import json
import re
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest

from rocm_perf.cli.launch import check_profile_options
from rocm_perf.errors import RocmPerfError, UsageError
from rocm_perf.fleet.job import CONFIGURATION_FILE, files_of, profile_command
from rocm_perf.fleet.job_request import job_of
from rocm_perf.fleet.mpi import MpiLauncher
from rocm_perf.fleet.slurm.launcher import SlurmLauncher
from rocm_perf.fleet.torchrun import TorchrunLauncher
from tests.unit.fleet.jobs import job

EXAMPLES = Path(__file__).parents[3] / "examples" / "profiling-configs"
SLURM = SlurmLauncher.obeys

SLURM_OPTIONS = Namespace(
    dry_run=True,
    sbatch_arg=[],
    exclusive=False,
    container_runtime=None,
    **dict.fromkeys(("partition", "time", "gpus_per_node", "account", "qos")),
)


def options(tmp_path: Path, configuration: object = None, **given: Any) -> Namespace:
    config = None
    if configuration is not None:
        config = tmp_path / "job.json"
        config.write_text(configuration if isinstance(configuration, str) else json.dumps(configuration))
    usual: dict[str, Any] = {
        "app": ("./app",),
        "profile": (),
        "config": config,
        "nodes": None,
        "ranks_per_node": None,
        "output_directory": tmp_path / "out",
        "output": None,
        "run_id": "",
    }
    return Namespace(**{**usual, **given})


@pytest.mark.parametrize("name", ["rocprofv3_multi_node.json", "rocprofv3_multinode.json"])
@pytest.mark.parametrize("there", ["rocprofv3_multi_node.json", "rocprofv3_multinode.json"])
def test_both_spellings_of_the_multi_node_example(tmp_path: Path, name: str, there: str) -> None:
    (tmp_path / there).write_text((EXAMPLES / "rocprofv3_multi_node.json").read_text())
    args = options(tmp_path, config=tmp_path / name, output_directory=None)
    made, notices = job_of(args, SLURM)
    assert (made.nodes, made.ranks_per_node, made.ranks) == (2, 4, 8)
    assert made.output.endswith("/slurm_results")
    assert notices == (f"{name}: not used here: guest_os",)
    part = json.loads(files_of(made)[CONFIGURATION_FILE])
    assert sorted(part) == ["env_vars", "tools"]
    assert part["tools"][0] == {"name": "rocprofv3_communication"}
    assert f"{made.folder}/launch/{CONFIGURATION_FILE}" in profile_command(made)


def test_options_come_before_the_file(tmp_path: Path) -> None:
    configuration = {"slurm": {"nodes": 2, "gpus_per_node": "mi300x:8"}}
    assert job_of(options(tmp_path, configuration), SLURM)[0].ranks == 16
    args = options(tmp_path, configuration, nodes=1, ranks_per_node=3)
    assert job_of(args, SLURM)[0].ranks == 3


def test_every_key_that_is_not_used_is_named(tmp_path: Path) -> None:
    configuration = {
        "_why": "a comment",
        "slurm": {"nodes": 1, "nic": "ib0"},
        "distributed": {"colour": 1},
        "debug": True,
    }
    assert job_of(options(tmp_path, configuration), SLURM)[1] == (
        "job.json: not used here: slurm.nic, distributed.colour, debug",
    )
    assert "slurm" in job_of(options(tmp_path, configuration), MpiLauncher.obeys)[1][0]


@pytest.mark.parametrize(
    ("configuration", "given", "words"),
    [
        ("{", {}, "not valid JSON"),
        ({"slurm": {"nodes": 2}, "distributed": {"nnodes": 3}}, {}, "two numbers of nodes"),
        ({"slurm": {"nodes": -1}}, {}, ">= 1"),
        (None, {"app": ()}, "Write it behind --"),
        (None, {"run_id": "a/b"}, "cannot name a run"),
        (None, {"output_directory": Path(__file__, "out")}, "cannot write"),
    ],
)
def test_what_is_wrong_is_one_line(tmp_path: Path, configuration: object, given: Any, words: str) -> None:
    with pytest.raises(RocmPerfError, match=words) as error:
        job_of(options(tmp_path, configuration, **given), SLURM)
    assert len(str(error.value).splitlines()) == 1


def test_a_run_is_never_mixed_with_another(tmp_path: Path) -> None:
    (tmp_path / "out" / "old").mkdir(parents=True)
    with pytest.raises(UsageError, match=r"the run old exists.*--run-id"):
        job_of(options(tmp_path, run_id="old"), SLURM)


def test_mpirun_on_one_machine_with_the_gpus_of_the_file() -> None:
    here = job(nodes=1, ranks_per_node=4, configuration={"docker_gpus": "0,2", "gpu_vendor": "AMD"})
    plan = MpiLauncher().plan(here, Namespace(mpi_arg=["--bind-to", "none"]))
    assert plan.argv[:5] == ("mpirun", "-n", "4", "--bind-to", "none")
    assert plan.environment["HIP_VISIBLE_DEVICES"] == "0,2"
    assert plan.environment["ROCM_PERF_RUN_ID"] == "r1"
    assert (
        plan.environment["OMPI_MCA_odls_base_sigkill_timeout"] == "30"
    )  # or one second is all that ranks get


def test_torchrun_is_the_programs_own() -> None:
    here = job(
        nodes=1, app=("/opt/venv/bin/python3", "t.py"), configuration={"distributed": {"backend": "nccl"}}
    )
    plan = TorchrunLauncher().plan(here, Namespace(torchrun_arg=[]))
    assert plan.argv[:4] == ("/opt/venv/bin/python3", "-m", "torch.distributed.run", "--standalone")
    assert plan.notices == ("distributed.backend nccl is not used: the program chooses its backend",)
    with pytest.raises(UsageError, match="this machine alone"):
        TorchrunLauncher().plan(job(nodes=2), Namespace(torchrun_arg=[]))
    with pytest.raises(UsageError, match="started twice"):
        TorchrunLauncher().plan(job(nodes=1, app=("torchrun", "t.py")), Namespace(torchrun_arg=[]))


def test_what_profile_would_refuse_on_every_node_is_refused_here() -> None:
    check_profile_options(job(profile=("--ranks", "0,3", "--preset", "memory", "--counters", "A", "B")))
    with pytest.raises(UsageError, match="the 4 ranks of this job are 0 to 3"):
        check_profile_options(job(profile=("--ranks", "2-5")))
    with pytest.raises(UsageError, match="the preset that the report names"):
        check_profile_options(job(profile=("--deep",)))
    with pytest.raises(UsageError, match="launch starts the ranks once for each run"):
        check_profile_options(job(profile=("--pass", "2")))
    with pytest.raises(UsageError, match="preset"):
        check_profile_options(job(profile=("--preset", "memmory")))
    with pytest.raises(SystemExit):
        check_profile_options(job(profile=("--patition", "gpu")))


def manifest(folder: Path, **changes: Any) -> Path:
    """A manifest as `build` writes it, of one workload with an image."""
    image = {"docker_image": "reg.example/train:1", **changes}
    workload = {
        "name": "train",
        "command": ["python3", "t.py"],
        "env_vars": {"A": "1", "B": "2"},
        "pass_env": ["HF_TOKEN"],
        "gpus": 2,
        "image": "rocm/pytorch",
        "timeout_s": 60,
    }
    made = {
        "registry": "reg.example",
        "built_images": {"train": image},
        "built_models": {"train": workload, "other": {"name": "other", "command": ["x"]}},
        "context": {"env_vars": {"C": "3"}},
    }
    path = folder / "build_manifest.json"
    path.write_text(json.dumps(made))
    return path


def named(tmp_path: Path, configuration: object = None, **given: Any) -> Namespace:
    usual = {"app": (), "tags": ["train"], "manifest_file": None, "catalogue": None, "image": ""}
    return options(tmp_path, configuration, **{**usual, **given})


def test_a_built_workload_is_launched_in_its_image(tmp_path: Path) -> None:
    args = named(tmp_path, {"env_vars": {"B": "9"}}, manifest_file=manifest(tmp_path))
    made, notices = job_of(args, SLURM)
    assert (made.app, made.image, made.gpus) == (("python3", "t.py"), "reg.example/train:1", 2)
    assert (made.pass_env, made.profile) == (("HF_TOKEN",), ("--timeout", "60"))
    assert made.configuration.env_vars == {"A": "1", "B": "9"}
    assert notices == ()
    plan = SlurmLauncher().plan(made, SLURM_OPTIONS)
    script = plan.files["launch.sbatch"]
    assert "#SBATCH --gpus-per-node=2" in script
    assert "--network=host --ipc=host --entrypoint env reg.example/train:1 rocm-perf profile" in script
    assert {"--env SLURM_PROCID", "--env HF_TOKEN", "--env ROCM_PERF_RUN_ID"} <= set(
        re.findall(r"--env \w+", script)
    )
    apptainer = SlurmLauncher().plan(
        made, Namespace(**{**vars(SLURM_OPTIONS), "container_runtime": "apptainer"})
    )
    assert "docker://reg.example/train:1 rocm-perf profile" in apptainer.files["launch.sbatch"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"tags": []}, "launch starts one workload, not 2"),
        ({"app": ("./app",)}, "a workload says itself what runs"),
        ({"tags": ["trian"]}, "the nearest is train"),
    ],
)
def test_what_is_not_one_workload_is_refused(tmp_path: Path, given: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        job_of(named(tmp_path, manifest_file=manifest(tmp_path), **given), SLURM)


def test_a_workload_without_its_image_is_refused(tmp_path: Path) -> None:
    failed = manifest(tmp_path, built=False, reason="docker is not installed")
    with pytest.raises(UsageError, match=r"docker is not installed.*rocm-perf build --tags train"):
        job_of(named(tmp_path, manifest_file=failed), SLURM)
    made, _ = job_of(named(tmp_path, manifest_file=failed, image="mine:1"), SLURM)
    assert made.image == "mine:1"
    with pytest.raises(UsageError, match="runs on the simulator"):
        job_of(named(tmp_path, tags=["dummy_prof"]), SLURM)


def test_mpirun_does_not_start_ranks_in_an_image(tmp_path: Path) -> None:
    configuration = {"distributed": {"launcher": "mpirun"}}
    made, _ = job_of(named(tmp_path, configuration, manifest_file=manifest(tmp_path)), SLURM)
    with pytest.raises(UsageError, match="Choose srun or torchrun"):
        SlurmLauncher().plan(made, SLURM_OPTIONS)
