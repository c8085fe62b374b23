"""Servers and recordings for tests, and how to ask them."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

from rocm_perf.model import bundle
from rocm_perf.render.formats import rocprofv3
from rocm_perf.sim.workload import read_workload
from tests.sim.recorded import recorded

WORKLOADS = Path(__file__).parents[3] / "examples" / "workloads"
PATIENCE_S = 300.0  # with a busy machine


@dataclass(frozen=True)
class Got:
    """An answer as it came over the wire."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()


def write_bundle(folder: Path, workload: str = "sync_in_loop") -> Path:
    """A simulated recording as a bundle."""
    bundle.write(recorded(read_workload(WORKLOADS / f"{workload}.toml")), folder)
    return folder


def write_csv(folder: Path, prefix: str, workload: str = "sync_in_loop") -> None:
    """A simulated recording as the files of rocprofv3."""
    rocprofv3.write_csv(recorded(read_workload(WORKLOADS / f"{workload}.toml")), folder, prefix)


def write_thread_trace(folder: Path) -> Path:
    """A decoded thread trace with the readings of a counter; returns the file beside them that names it."""
    top = folder / "ui_output_agent_1_dispatch_3"
    top.mkdir(parents=True)
    readings = {"data": [[100, 1, 2, 3, 4, 6, 0], [200, 10, 20, 30, 40, 6, 0]]}
    names = {
        "counter_names": ["SECRET_COUNTER"],
        "gfxip": 9,
        "gfxv": "vega",
        "global_begin_time": 0,
        "version": "3.0.0",
        "wave_filenames": {},
    }
    (top / "se4_perfcounter.json").write_text(json.dumps(readings))
    (top / "filenames.json").write_text(json.dumps(names))
    for file in top.iterdir():
        os.utime(file, (1_700_000_000, 1_700_000_000))
    return top / "filenames.json"


def ask(url: str, place: str = "", method: str = "GET", body: bytes | None = None, **headers: str) -> Got:
    """What the server answers; header names are written with _ for -."""
    parts = urlsplit(url)
    connection = HTTPConnection(parts.hostname or "", parts.port, timeout=PATIENCE_S)
    try:
        connection.putrequest(
            method, parts.path + place, skip_host="Host" in headers, skip_accept_encoding=True
        )
        for name, value in headers.items():
            connection.putheader(name.replace("_", "-"), value)
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        answer = connection.getresponse()
        return Got(answer.status, dict(answer.headers), answer.read())
    finally:
        connection.close()


def ask_until_made(url: str, place: str) -> Got:
    """What the server answers once the analysis is over."""
    ends = time.monotonic() + PATIENCE_S
    while (got := ask(url, place)).status == 202:
        assert time.monotonic() < ends, got.text
        time.sleep(0.05)
    return got


def wait_for(happened: Callable[[], bool]) -> None:
    """Wait until something has happened."""
    ends = time.monotonic() + PATIENCE_S
    while not happened():
        assert time.monotonic() < ends
        time.sleep(0.02)
