"""The recordings that tests of the cluster share."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.make_ranks import write_job

from tests.unit.fleet.cluster.small_job import RANKS


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A job of few ranks."""
    folder = tmp_path_factory.mktemp("job")
    write_job(folder, RANKS, steps=1, pairs=1)
    return folder
