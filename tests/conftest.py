"""Fixtures that the whole suite shares."""

from __future__ import annotations

import gc
import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

SPECIMENS = Path(os.environ.get("ROCM_PERF_SPECIMENS", Path(__file__).parents[2] / "shared" / "data"))

# Few examples keep `make test` quick; `make test-properties` takes more, and ROCM_PERF_EXAMPLES=1000 looks harder.
settings.register_profile(
    "suite",
    deadline=None,
    max_examples=int(os.environ.get("ROCM_PERF_EXAMPLES", "6")),
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=True,
)
settings.load_profile("suite")

# What this machine's GPU was measured to reach is none of the tests' business, unless they say so.
os.environ["ROCM_PERF_CEILINGS"] = "none"

# nohup and a shell's & hand signals on as ignored, and so would every program that the tests start.
for _number, _usual in ((signal.SIGHUP, signal.SIG_DFL), (signal.SIGINT, signal.default_int_handler)):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _usual)


def pytest_collection_finish() -> None:
    """Keep the garbage collector from walking all modules and tests again and again: they stay to the end."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def specimens() -> Path:
    """The folder of recorded outputs of the real tools; they are never part of this repository."""
    if not SPECIMENS.is_dir():
        pytest.skip(
            "the recorded specimens are not on this machine (set ROCM_PERF_SPECIMENS to their folder)"
        )
    return SPECIMENS
