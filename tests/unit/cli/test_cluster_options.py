"""Options of `analyze --cluster` that do not go together."""

from __future__ import annotations

import argparse

import pytest

from rocm_perf.cli.analyze import AnalyzeCommand
from rocm_perf.cli.cluster_options import cluster_request
from rocm_perf.errors import UsageError


def _parsed(*options: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    AnalyzeCommand().prepare_parser(parser)
    return parser.parse_args(["job", *options])


def test_how_long_to_wait_for_a_job_is_asked_for_again() -> None:
    request = cluster_request(_parsed("--cluster", "slurm", "--wait", "90"))
    assert request.wait_s == 90
    assert request.options == "--cluster slurm --wait 90"


def test_how_long_to_wait_for_workers_of_a_scheduler_is_asked_for_again() -> None:
    request = cluster_request(_parsed("--cluster", "tcp://h:8786", "--wait", "5"))
    assert request.options == "--cluster tcp://h:8786 --wait 5"


def test_workers_that_are_started_here_are_not_waited_for() -> None:
    with pytest.raises(UsageError, match="--wait is for workers that others start"):
        cluster_request(_parsed("--cluster", "local", "--wait", "90"))
