"""The fields around the event list of a torch trace: the machine, the ranks, the versions and who recorded it."""

from __future__ import annotations

from typing import Any

import msgspec

from rocm_perf.errors import InputError
from rocm_perf.ingest.io.json import mend
from rocm_perf.ingest.kineto.types import Int64


class Device(msgspec.Struct):
    """One entry of deviceProperties."""

    id: Int64 | None = None
    name: str | None = None
    memory: Int64 | None = msgspec.field(default=None, name="totalGlobalMem")
    major: Int64 | None = msgspec.field(default=None, name="computeMajor")
    minor: Int64 | None = msgspec.field(default=None, name="computeMinor")
    wave_size: Int64 | None = msgspec.field(default=None, name="warpSize")
    units: Int64 | None = msgspec.field(default=None, name="numSms")
    lds: Int64 | None = msgspec.field(default=None, name="maxSharedMemoryPerMultiProcessor")
    shared: Int64 | None = msgspec.field(default=None, name="sharedMemPerMultiprocessor")
    uuid: str | None = None
    clock_khz: Int64 | None = msgspec.field(default=None, name="clockRateKhz")


class Distributed(msgspec.Struct):
    """The distributedInfo of a trace: which rank it is of how many."""

    rank: Int64 | None = None
    world_size: Int64 | None = None


class Recorder(msgspec.Struct):
    """What rocm-perf's CUPTI tracer says about its process before the events."""

    recorder: str = ""
    host: str | None = None
    pid: Int64 | None = None
    rank: Int64 | None = None
    command: str | None = None
    domains: str = ""
    boot_time_ns: Int64 | None = None  # the moment of baseTimeNanoseconds, on the boot clock
    problems: list[str] = []


class RecorderEnd(msgspec.Struct):
    """What rocm-perf's CUPTI tracer says after the events, unless its process was killed."""

    dropped: int = msgspec.field(default=0, name="dropped_records")
    incomplete: int = msgspec.field(default=0, name="incomplete_records")
    unended_ranges: int = 0
    signal: int = 0


class Header(msgspec.Struct):
    """The fields around the event list."""

    devices: list[Device] = msgspec.field(default_factory=list, name="deviceProperties")
    distributed: Distributed | None = msgspec.field(default=None, name="distributedInfo")
    base_ns: Int64 | None = msgspec.field(default=None, name="baseTimeNanoseconds")
    roctracer: Any = msgspec.field(default=None, name="roctracer_version")
    rocprofiler_sdk: Any = msgspec.field(default=None, name="rocprofiler-sdk_version")
    cupti: Any = msgspec.field(default=None, name="cupti_version")
    hip_runtime: Any = msgspec.field(default=None, name="hip_runtime_version")
    cuda_runtime: Any = msgspec.field(default=None, name="cuda_runtime_version")
    schema_version: Any = msgspec.field(default=None, name="schemaVersion")
    recorder: Recorder | None = msgspec.field(default=None, name="rocm_perf")
    end: RecorderEnd | None = msgspec.field(default=None, name="rocm_perf_end")

    @property
    def software(self) -> tuple[str, ...]:
        """The runtime of the program and its version, where the trace says so."""
        runtimes = (("HIP runtime", self.hip_runtime), ("CUDA runtime", self.cuda_runtime))
        return tuple(f"{name} {version}" for name, version in runtimes if version is not None)

    @property
    def backend(self) -> str | None:
        """Which library recorded the GPU side, where the trace says so."""
        for name in ("rocprofiler_sdk", "roctracer", "cupti"):
            version = getattr(self, name)
            if version is not None:
                return f"{name.replace('_', '-')} {version}"
        return None


def around(prefix: bytes, suffix: bytes, name: str) -> Header:
    """The fields before and after the event list of the file of that name."""
    document = prefix + b"[]" + suffix
    for candidate in (document, mend(document)):
        try:
            return msgspec.json.decode(candidate, type=Header)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            continue
    try:
        fields = msgspec.json.decode(mend(document), type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{name} is not readable JSON", str(error)) from error
    versions = {
        key: value for key, value in fields.items() if key.endswith("_version") or key == "schemaVersion"
    }
    return msgspec.convert(versions, Header)
