"""The stated bound: reading a recording takes at most `TIMES` times its decompressed size on top of what the
interpreter and its libraries take; a file that is made to hurt, `HOSTILE_TIMES`. Each is read in a process of
its own, whose peak is what counts."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak is read from /proc")

TIMES = 20
HOSTILE_TIMES = 300
LIBRARIES_MB = 40  # what the first use of Polars takes, whatever the size
SIZE, HOSTILE_SIZE = 6 << 20, 2 << 20

_CHILD = """
import sys
from pathlib import Path
from rocm_perf.errors import RocmPerfError
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.sniff import sniff
def peak():
    return int(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
source, before = Source(Path(sys.argv[1])), peak()
try:
    print(sorted(sniff(source).read(source).tables))
except RocmPerfError as error:
    print(type(error).__name__)
print(peak() - before)
"""

_KINETO = b'{"schemaVersion": 1, "deviceProperties": [], "traceEvents": ['
_KERNEL = (
    b'{"ph":"X","cat":"kernel","name":"%b","ts":%d,"dur":1,"pid":0,"tid":7,"args":{"device":0,"stream":7}}'
)
_COLUMNS = (
    b"Kind,Agent_Id,Queue_Id,Kernel_Name,Start_Timestamp,End_Timestamp,Grid_Size_X,Grid_Size_Y,Grid_Size_Z,"
    b"Workgroup_Size_X,Workgroup_Size_Y,Workgroup_Size_Z"
)
_MORE = b"".join(b",c%d" % number for number in range(100))
_ROW = b"KERNEL_DISPATCH,Agent 1,1,%b,1,2,64,1,1,64,1,1"


def _events(event: Callable[[int], bytes], size: int = SIZE) -> bytes:
    return _KINETO + b",".join(event(number) for number in range(size // (1 + len(event(0))))) + b"]}"


def _rows(row: Callable[[int], bytes], size: int = SIZE) -> bytes:
    return _COLUMNS + b"\n" + b"\n".join(row(number) for number in range(size // (1 + len(row(0))))) + b"\n"


def _many_columns() -> bytes:
    names, cells = b"".join(b",c%d" % number for number in range(100_000)), b",1" * 100_000
    return _COLUMNS + names + b"\n" + (_ROW % b"k" + cells + b"\n") * (HOSTILE_SIZE // len(cells))


def _one_counter_a_column() -> bytes:
    names, cells = b"".join(b",c%d" % number for number in range(1_500)), b",1" * 1_500
    return (
        b"Index,KernelName,gpu-id,BeginNs,EndNs"
        + names
        + b"\n"
        + (b"0,k,0,1,2" + cells + b"\n") * (HOSTILE_SIZE // len(cells))
    )


RECORDINGS: dict[str, Callable[[], bytes]] = {
    "many kernels (JSON)": lambda: _events(lambda number: _KERNEL % (b"k", number)),
    "many long names (JSON)": lambda: _events(lambda number: _KERNEL % (b"k%0200d" % number, number)),
    "one huge name (JSON)": lambda: _KINETO + _KERNEL % (b"a" * SIZE, 1) + b"]}",
    "many kernels (CSV)": lambda: _rows(lambda _: _ROW % b"k"),
    "many long names (CSV)": lambda: _rows(lambda number: _ROW % (b"k%0200d" % number)),
    "one huge name (CSV)": lambda: _COLUMNS + b"\n" + _ROW % (b'"' + b"a," * (SIZE // 2) + b'"') + b"\n",
}
HOSTILE: dict[str, Callable[[], bytes]] = {
    "deeply nested": lambda: _KINETO + b"[" * HOSTILE_SIZE,
    "events that say nothing": lambda: _events(lambda _: b"{}", HOSTILE_SIZE),
    "rows that say nothing": lambda: _rows(lambda _: b"," * 11, HOSTILE_SIZE),
    "rows that are too short": lambda: _COLUMNS + _MORE + b"\nK" * (HOSTILE_SIZE // 2),
    "blank lines": lambda: _COLUMNS + _MORE + b"\n" * HOSTILE_SIZE,
    "a quote that never ends": lambda: _COLUMNS + b'\nK,"' + b"a\n" * (HOSTILE_SIZE // 2),
    "100,000 columns": _many_columns,
    "one digit a counter": _one_counter_a_column,
}


def _assert_bounded(file: Path, data: bytes, times: int) -> str:
    file.write_bytes(data)
    size_mb = len(data) / 2**20
    del data
    said = subprocess.run(
        [sys.executable, "-c", _CHILD, str(file)], check=True, capture_output=True, text=True, timeout=60
    ).stdout.splitlines()
    grown_mb = int(said[1]) / 1024
    assert grown_mb <= times * size_mb + LIBRARIES_MB
    return said[0]


@pytest.mark.parametrize("name", RECORDINGS)
@pytest.mark.whole
def test_a_recording_stays_within_the_bound(tmp_path: Path, name: str) -> None:
    outcome = _assert_bounded(tmp_path / "recording", RECORDINGS[name](), TIMES)
    assert "dispatches" in outcome


@pytest.mark.thorough
@pytest.mark.parametrize("name", HOSTILE)
def test_a_file_that_is_made_to_hurt_stays_within_its_bound(tmp_path: Path, name: str) -> None:
    _assert_bounded(tmp_path / "recording", HOSTILE[name](), HOSTILE_TIMES)
