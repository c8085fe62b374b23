"""Jobs that the tests of Kubernetes launch, and their plans."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import yaml
from msgspec.structs import replace

from rocm_perf.cli.launch import LaunchCommand
from rocm_perf.collect.request.configuration import Configuration
from rocm_perf.fleet.job import Job
from rocm_perf.fleet.kubernetes.launcher import KubernetesLauncher
from rocm_perf.fleet.launcher import LaunchPlan
from tests.unit.cli.parsing import parsed


def job(folder: Path, *app: str, configuration: dict[str, Any] | None = None, **settings: Any) -> Job:
    return Job(
        app=app or ("python", "train.py"),
        output=str(folder / "runs"),
        working_folder=str(folder),
        configuration=msgspec.convert(configuration or {}, Configuration),
        **{"run_id": "try-1", **settings},
    )


def planned(launched: Job, *options: str) -> LaunchPlan:
    args = parsed(LaunchCommand(), "kubernetes", "--image", "reg.example/x:1", *options, "--", *launched.app)
    return KubernetesLauncher().plan(replace(launched, image=args.image), args)


def objects(plan: LaunchPlan) -> dict[str, dict[str, Any]]:
    """The objects of a plan by kind, read as any YAML reader does."""
    texts = plan.files.values()
    return {each["kind"]: each for text in texts for each in yaml.safe_load_all(text)}
