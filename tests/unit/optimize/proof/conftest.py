"""States of a toy kernel: 64 work-items add 1 to 64 values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import pytest

from rocm_perf.optimize.proof.states import States, Variant, opened_states
from rocm_perf.replay.plan import GRANULES
from rocm_perf.replay.snapshot import Snapshot
from tests.unit.replay.conftest import made
from tests.unit.replay.toys import code_text, fake_runner

__all__ = ["made"]  # a fixture

Build = Callable[..., Variant]


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of the stand-in runner, which is found there."""
    folder = fake_runner(tmp_path_factory.mktemp("native"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROCM_PERF_NATIVE_DIR", str(folder))
        patch.delenv("FAKE_RUNNER", raising=False)
        patch.setitem(
            cast(dict[str, int], GRANULES), "NVIDIA", GRANULES["AMD"]
        )  # all of it is compared: less is quicker
        yield folder


@pytest.fixture(scope="module")
def states(made: Snapshot, native: Path) -> Iterator[States]:
    """Opened once: what the original's replays show is the same for all candidates."""
    with opened_states([made], timeout_s=10) as opened:
        yield opened


@pytest.fixture
def build(tmp_path: Path) -> Build:
    """A candidate in the toy language; the runner takes it for PTX."""

    def built(*program: str) -> Variant:
        path = tmp_path / "candidate.ptx"
        path.write_text(code_text(*program))
        return Variant(path)

    return built
