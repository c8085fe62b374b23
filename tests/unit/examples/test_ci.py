"""The workflow for GitHub Actions: its commands are ones that rocm-perf takes."""

from __future__ import annotations

import shlex
from pathlib import Path

import yaml

from rocm_perf.cli.main import build_parser

WORKFLOW = Path(__file__).parents[3] / "examples" / "ci" / "performance.yml"


def commands() -> list[list[str]]:
    steps = yaml.safe_load(WORKFLOW.read_text())["jobs"]["gate"]["steps"]
    lines = [line for step in steps for line in step.get("run", "").splitlines()]
    return [shlex.split(line)[1:] for line in lines if line.startswith("rocm-perf ")]


def test_every_command_is_understood() -> None:
    verbs = [build_parser().parse_args(words).verb for words in commands()]
    assert verbs == ["bench", "bench", "gate", "history"]
