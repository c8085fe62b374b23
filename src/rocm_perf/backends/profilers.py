"""Every profiler by its name, in order of preference."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from rocm_perf.backends.amd.rocprof import RocprofProfiler
from rocm_perf.backends.amd.rocprofv2 import Rocprofv2Profiler
from rocm_perf.backends.amd.rocprofv3 import Rocprofv3Profiler
from rocm_perf.backends.base import Profiler
from rocm_perf.backends.nvidia.cupti import CuptiProfiler
from rocm_perf.backends.nvidia.ncu import NcuProfiler
from rocm_perf.backends.timing import TimingProfiler
from rocm_perf.backends.torch import TorchProfiler

_ALL: tuple[Profiler, ...] = (
    Rocprofv3Profiler(),
    Rocprofv2Profiler(),
    RocprofProfiler(),
    CuptiProfiler(),
    NcuProfiler(),
    TorchProfiler(),
    TimingProfiler(),
)
PROFILERS: Mapping[str, Profiler] = MappingProxyType({profiler.name: profiler for profiler in _ALL})
