"""Fixtures of replay's tests."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from rocm_perf.replay.snapshot import Snapshot
from tests.unit.replay.toys import fake_runner, make_snapshot


@pytest.fixture
def runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The stand-in runner, found as a prebuilt one would be."""
    folder = fake_runner(tmp_path / "native")
    monkeypatch.setenv("ROCM_PERF_NATIVE_DIR", str(folder))
    monkeypatch.delenv("FAKE_RUNNER", raising=False)
    return folder / "replay_cuda"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    return make_snapshot(tmp_path_factory.mktemp("made"))


@pytest.fixture
def snap(made: Snapshot, tmp_path: Path) -> Path:
    """A copy to damage."""
    return Path(shutil.copytree(made.folder, tmp_path / "snap"))


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many bytes are asked for, each time that a file is read."""
    lengths: list[int] = []
    real = os.pread

    def watched(handle: int, length: int, offset: int) -> bytes:
        lengths.append(length)
        return real(handle, length, offset)

    monkeypatch.setattr(os, "pread", watched)
    return lengths
