"""Fixtures of the tests on the software GPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.softgpu.counted import Shop
from tests.softgpu.machine import Bench, bench_of


@pytest.fixture(scope="session")
def bench(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """Programs and kernels for the software machine."""
    return bench_of(request.config, tmp_path_factory)


@pytest.fixture
def shop(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path) -> Shop:
    return Shop.of_this_run(tmp_path_factory, tmp_path)
