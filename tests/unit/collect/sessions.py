"""Sessions against the fake tools, in this process."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from rocm_perf.backends.base import Domain, Wish
from rocm_perf.backends.machine import FoundGpu, Machine, Tool
from rocm_perf.collect.request.request import Request
from rocm_perf.collect.run.session import Planner, Recorded, record
from tests.fake_tools import fake_path

V3, V2, V1 = "rocprofv3", "rocprofv2", "rocprof"
TRACE: tuple[Domain, ...] = ("kernel", "hip", "copy")


def machine(
    folder: Path, tools: tuple[str, ...] = (V3, V2, V1), rocm: str = "7.2", gfx: str = "gfx942"
) -> Machine:
    """An AMD machine whose tools are the fake ones in a folder."""
    found = {name: Tool(name=name, path=str(folder / name), rocm=rocm) for name in tools}
    gpu = FoundGpu(index=0, vendor="AMD", gfx=gfx, name="a GPU", node=2)
    return Machine(host="test-host", gpus=(gpu,), tools=found, rocm=rocm)


@dataclass
class Sessions:
    """Starts sessions with the fake tools on PATH, and keeps what they said."""

    tmp_path: Path
    monkeypatch: pytest.MonkeyPatch
    said: list[str] = field(default_factory=list)

    def __call__(
        self,
        *command: str,
        tools: tuple[str, ...] = (V3, V2, V1),
        rocm: str = "7.2",
        gfx: str = "gfx942",
        fault: str = "",
        domains: tuple[Domain, ...] = TRACE,
        plans: Planner | None = None,
        wish: Wish | None = None,
        **asked: object,
    ) -> Recorded:
        variables = {"FAKE_ROCM": rocm, "FAKE_GPU": gfx, "FAKE_FAULT": fault}
        for name, value in fake_path(self.tmp_path, tools, **variables).items():
            self.monkeypatch.setenv(name, value)
        request = Request(
            command=command,
            output=str(self.tmp_path / "runs"),
            wish=wish or Wish(domains=domains),
            **asked,  # type: ignore[arg-type]
        )
        self.said.clear()
        here = machine(self.tmp_path / "fake-rocm" / "bin", tools, rocm, gfx)
        return record(request, here, self.said.append, **({"plans": plans} if plans else {}))


@pytest.fixture
def sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sessions:
    for name in [name for name in os.environ if name.endswith("RANK") or name.startswith("SLURM_")]:
        monkeypatch.delenv(name)
    return Sessions(tmp_path, monkeypatch)
