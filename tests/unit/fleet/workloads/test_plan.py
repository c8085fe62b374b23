"""The commands that record a workload, here and in a container, and those that build its image."""

from __future__ import annotations

from argparse import Namespace
from itertools import pairwise
from pathlib import Path

import pytest
from msgspec.structs import replace

from rocm_perf.cli.launch import LaunchCommand
from rocm_perf.cli.profile import ProfileCommand
from rocm_perf.collect.request.configuration import Configuration, ToolEntry
from rocm_perf.collect.request.launching import Distributed, Slurm
from rocm_perf.errors import InputError
from rocm_perf.fleet.job_request import job_of
from rocm_perf.fleet.slurm.launcher import SlurmLauncher
from rocm_perf.fleet.workloads.images import image_plan, stage
from rocm_perf.fleet.workloads.plan import Asked, combined, step_of
from rocm_perf.fleet.workloads.workload import Workload
from tests.unit.cli.parsing import parsed

HOSTILE = ("./app", "--", "a b", "$(reboot)", "'\"", "--json")
WORKLOAD = Workload(
    name="wl", command=HOSTILE, env_vars={"A": "1", "B": "x y"}, pass_env=("HF_TOKEN",), gpus=2, folder="/cat"
)
ASKED = Asked(working_folder=Path("/w"))
IN_IMAGE = replace(WORKLOAD, image="rocm/vllm:latest")


def test_the_command_is_one_that_profile_takes() -> None:
    tools = Configuration(tools=(ToolEntry("rocprofv3_lightweight"),), env_vars={"B": "2"})
    step = step_of(WORKLOAD, "", Path("out/TIME"), replace(ASKED, configuration=tools))
    args = parsed(ProfileCommand(), *step.argv[2:])
    assert args.app == ["--", *HOSTILE]
    assert args.output == Path("out/TIME/raw")
    assert args.env == [("A", "1"), ("HIP_VISIBLE_DEVICES", "0,1")]  # B is the configuration's
    assert '"rocprofv3_lightweight"' in args.additional_context
    assert not args.json


@pytest.mark.parametrize(
    ("configuration", "environment", "shown"),
    [
        (Configuration(docker_gpus="4,5"), {}, {"HIP_VISIBLE_DEVICES": "4,5"}),
        (Configuration(docker_gpus="all", gpu_vendor="NVIDIA"), {}, {"CUDA_VISIBLE_DEVICES": "0,1"}),
        (Configuration(), {"HIP_VISIBLE_DEVICES": "7"}, {}),
    ],
)
def test_it_sees_the_gpus_it_takes(
    configuration: Configuration, environment: dict[str, str], shown: dict[str, str]
) -> None:
    asked = replace(ASKED, configuration=configuration, environment=environment)
    args = parsed(ProfileCommand(), *step_of(WORKLOAD, "", Path("out"), asked).argv[2:])
    assert {name: value for name, value in args.env if name not in WORKLOAD.env_vars} == shown


def test_a_container_gets_gpus_rights_folders_and_no_secret() -> None:
    asked = replace(ASKED, has_docker=True, environment={"HF_TOKEN": "secret"})
    step = step_of(IN_IMAGE, "made:1", Path("out"), asked)
    ours = step.argv[: step.argv.index("made:1")]
    assert step.where == "container"
    assert {"--device=/dev/kfd", "--cap-add=SYS_ADMIN", "--security-opt=seccomp=unconfined"} <= set(ours)
    assert ("--mount", "type=bind,source=/w,target=/w") in pairwise(ours)
    assert ("--mount", "type=bind,source=/cat,target=/cat,readonly") in pairwise(ours)
    assert ("--env", "HF_TOKEN") in pairwise(ours)
    assert "secret" not in " ".join(step.argv)
    assert step.argv[-len(HOSTILE) :] == HOSTILE


def test_results_elsewhere_are_mounted_too() -> None:
    asked = replace(ASKED, has_docker=True)
    elsewhere = step_of(IN_IMAGE, "made:1", Path("/big/out/TIME"), asked).argv
    assert "type=bind,source=/big/out,target=/big/out" in elsewhere
    assert sum(word == "--mount" for word in step_of(IN_IMAGE, "made:1", Path("out/TIME"), asked).argv) == 2


def in_launch(*words: str) -> Namespace:
    """What `rocm-perf launch` makes of the arguments of a step."""
    return parsed(LaunchCommand(), *words)


def test_ranks_of_a_configuration_are_started_by_its_launcher() -> None:
    torchrun = Configuration(
        distributed=Distributed(launcher="torchrun", nproc_per_node=8), docker_gpus="4,5"
    )
    step = step_of(WORKLOAD, "", Path("out/TIME"), replace(ASKED, configuration=torchrun))
    assert step.argv[:3] == ("rocm-perf", "launch", "torchrun")
    args = in_launch(*step.argv[2:])
    assert (args.nodes, args.ranks_per_node, args.output, args.app) == (1, 8, Path("out/TIME/raw"), HOSTILE)
    assert args.profile == ("--env", "A=1", "--env", "B=x y", "--env", "HIP_VISIBLE_DEVICES=4,5")
    mpirun = Configuration(distributed=Distributed(launcher="mpirun", nproc_per_node=2))
    inside = replace(ASKED, configuration=mpirun, has_docker=True)
    words = step_of(IN_IMAGE, "made:1", Path("out"), inside).argv
    assert words[words.index("made:1") + 1 :][:2] == ("launch", "mpi")


@pytest.mark.parametrize(
    ("command", "distributed"),
    [
        (("torchrun", "--nproc_per_node=8", "t.py"), Distributed(launcher="torchrun", nproc_per_node=8)),
        (("vllm", "serve", "m"), Distributed(launcher="vllm", nproc_per_node=8)),
        (("./app",), Distributed(launcher="torchrun", nproc_per_node=1)),
    ],
)
def test_what_is_one_process_stays_one(command: tuple[str, ...], distributed: Distributed) -> None:
    asked = replace(ASKED, configuration=Configuration(distributed=distributed))
    assert step_of(replace(WORKLOAD, command=command), "", Path("out"), asked).argv[1] == "profile"


def test_slurm_of_a_configuration_makes_it_a_job() -> None:
    given = Configuration(
        slurm=Slurm(nodes=2, partition="gpu", output_dir="/shared"),
        distributed=Distributed(launcher="torchrun", nnodes=2, nproc_per_node=4),
        tools=(ToolEntry("rocprofv3_lightweight"),),
    )
    asked = replace(ASKED, configuration=given)
    step = step_of(IN_IMAGE, "reg.example/made:1", Path("/shared/TIME"), asked)
    assert (step.where, step.image) == ("slurm", "reg.example/made:1")
    args = in_launch(*step.argv[2:])
    made, notices = job_of(args, SlurmLauncher.obeys)
    assert (made.nodes, made.ranks_per_node, made.image, made.app) == (2, 4, "reg.example/made:1", HOSTILE)
    assert made.configuration.env_vars == WORKLOAD.env_vars
    assert made.configuration.slurm == Slurm(nodes=2, partition="gpu", gpus_per_node=2)
    assert [tool.name for tool in made.configuration.tools] == ["rocprofv3_lightweight"]
    assert notices == ()
    here = step_of(IN_IMAGE, "", Path("out"), replace(asked, in_container=False))
    assert (here.where, here.argv[1]) == ("here", "launch")
    assert "slurm of the configuration: not used, because of --here" in here.notices


def test_a_folder_with_a_comma_is_one_field_of_a_mount() -> None:
    asked = replace(ASKED, has_docker=True, working_folder=Path('/a,"b'))
    mount = step_of(IN_IMAGE, "made:1", Path("out"), asked).argv
    assert 'type=bind,"source=/a,""b","target=/a,""b"' in mount


def test_without_docker_an_image_is_not_needed_but_mentioned() -> None:
    step = step_of(IN_IMAGE, "", Path("out"), ASKED)
    assert (step.where, step.argv[0]) == ("here", "rocm-perf")
    assert any("docker is not installed" in notice for notice in step.notices)
    chosen = step_of(IN_IMAGE, "", Path("out"), replace(ASKED, has_docker=True, in_container=False))
    assert (chosen.where, chosen.notices) == (
        "here",
        ("it may need HF_TOKEN, which this shell does not set",),
    )


def test_an_image_is_a_layer_on_the_workloads_own() -> None:
    plan = image_plan(IN_IMAGE, Configuration(), "reg.example/team/", context="/ctx")
    build, push = plan.commands
    assert build[-1] == "/ctx"
    assert "ROCM_IMAGE=rocm/vllm:latest" in build
    assert push == ("docker", "push", plan.image)
    assert plan.image.startswith("reg.example/team/rocm-perf-wl:")


def test_a_dockerfile_is_found_as_models_json_names_it(tmp_path: Path) -> None:
    workload = Workload(name="bert", command=("x",), dockerfile="bert", folder=str(tmp_path))
    with pytest.raises(InputError, match=r"bert\.centos\.nvidia\.Dockerfile"):
        image_plan(workload, Configuration(guest_os="CENTOS", gpu_vendor="NVIDIA"))
    (tmp_path / "bert.ubuntu.amd.Dockerfile").touch()
    first, second = image_plan(workload, Configuration()).commands
    assert first[first.index("--file") + 1] == str(tmp_path / "bert.ubuntu.amd.Dockerfile")
    assert f"ROCM_IMAGE={first[first.index('--tag') + 1]}" in second


def test_the_staged_folder_holds_this_rocm_perf_and_what_it_needs(tmp_path: Path) -> None:
    stage(tmp_path)
    assert (tmp_path / "rocm_perf" / "fleet" / "workloads" / "shipped" / "catalogue.toml").is_file()
    needed = (tmp_path / "requirements.txt").read_text()
    assert "polars" in needed
    assert "pytest" not in needed
    copied = {word for line in (tmp_path / "Dockerfile").read_text().splitlines() for word in line.split()}
    assert {"requirements.txt", "rocm_perf"} <= copied


def test_what_is_given_for_the_run_replaces_what_the_build_had() -> None:
    stored = Configuration(gpu_vendor="AMD", env_vars={"A": "1"})
    both = combined(stored, Configuration(env_vars={"A": "2"}))
    assert (both.gpu_vendor, both.env_vars) == ("AMD", {"A": "2"})
