from __future__ import annotations

import os

import pytest

from rocm_perf.cli.lean import without_blas_threads


@pytest.mark.parametrize("given", [None, "8"])
def test_started_programs_see_the_environment_as_it_was(
    given: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    if given is not None:
        monkeypatch.setenv("OPENBLAS_NUM_THREADS", given)
    without_blas_threads()
    assert os.environ.get("OPENBLAS_NUM_THREADS") == given
