"""Fixtures of replay's tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.replay.toys import fake_runner


@pytest.fixture
def runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The stand-in runner, found as a prebuilt one would be."""
    folder = fake_runner(tmp_path / "native")
    monkeypatch.setenv("ROCM_PERF_NATIVE_DIR", str(folder))
    monkeypatch.delenv("FAKE_RUNNER", raising=False)
    return folder / "replay_cuda"
