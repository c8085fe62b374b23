"""Jobs for the tests, without a folder on disk."""

from __future__ import annotations

from typing import Any

import msgspec

from rocm_perf.collect.request.configuration import Configuration
from rocm_perf.fleet.job import Job


def job(**settings: Any) -> Job:
    """A job of two nodes with two ranks each; `configuration` as a file has it."""
    configuration = msgspec.convert(settings.pop("configuration", {}), Configuration)
    usual: dict[str, Any] = {
        "app": ("./app", "a b"),
        "nodes": 2,
        "ranks_per_node": 2,
        "output": "/shared/runs",
        "run_id": "r1",
        "working_folder": "/home/me",
    }
    return Job(**{**usual, **settings}, configuration=configuration)
