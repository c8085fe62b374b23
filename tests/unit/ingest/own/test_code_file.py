"""rocm-perf-code.json: what is read of it, and what is refused."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from rocm_perf.errors import EmptyCaptureError, InputError
from rocm_perf.ingest.load import load
from rocm_perf.model.device_code import FILE_NAME, VERSION, DeviceCode, InstructionCount, KernelCode
from rocm_perf.model.trace import Trace

CODE = DeviceCode(
    kernels=(
        KernelCode(
            symbol="_Z1kPf",
            name="k(float*)",
            arch="gfx942",
            file="/home/u/app",
            vgprs=32,
            vgpr_spills=4,
            mix=(InstructionCount(work="load", width_bytes=4, loop=1, depth=1, count=3, source="k.hip:7"),),
        ),
        KernelCode(symbol="other", name="other", arch="gfx942", file="/home/u/app", unread="no disassembler"),
    ),
    notices=("1 file left out",),
)


def written(folder: Path, text: bytes) -> Path:
    path = folder / FILE_NAME
    path.write_bytes(text)
    return path


def read(folder: Path, code: DeviceCode = CODE) -> Trace:
    return load(written(folder, msgspec.json.encode(code)))


def test_both_tables(tmp_path: Path) -> None:
    trace = read(tmp_path)
    kernels = (
        trace.table("code").select("symbol", "name", "vgprs", "vgpr_spills", "variants", "unread").rows()
    )
    assert kernels == [
        ("_Z1kPf", "k(float*)", 32, 4, 1, None),
        ("other", "other", None, None, 1, "no disassembler"),
    ]
    assert trace.table("code_mix").rows() == [("_Z1kPf", "gfx942", "load", None, 4, 1, 1, 3, "k.hip:7")]
    assert "1 file left out" in trace.run.notices


@pytest.mark.parametrize(
    ("text", "error", "why"),
    [
        (b'{"kind": "rocm-perf code", "version": 1, "kernels": [', InputError, "not a complete account"),
        (b'{"kind": "rocm-perf code", "kernels": [{"symbol": "k"}]}', InputError, "missing required field"),
        (msgspec.json.encode(DeviceCode(version=VERSION + 1)), InputError, "Update rocm-perf"),
        (msgspec.json.encode(DeviceCode()), EmptyCaptureError, "no kernel"),
    ],
)
def test_what_is_refused(text: bytes, error: type[Exception], why: str, tmp_path: Path) -> None:
    with pytest.raises(error, match=why):
        load(written(tmp_path, text))


@pytest.mark.parametrize("field", ["vgprs", "code_bytes", "variants"])
@pytest.mark.parametrize("value", [-1, 1 << 60])
def test_numbers_that_nothing_has_are_refused(field: str, value: int, tmp_path: Path) -> None:
    code = msgspec.to_builtins(CODE)
    code["kernels"][0][field] = value
    with pytest.raises(InputError, match=field):
        load(written(tmp_path, msgspec.json.encode(code)))
