"""Every profiler by its name, in order of preference. The vendor decides which of them are candidates on a machine."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from rocm_perf.backends.amd.rocprof import RocprofProfiler
from rocm_perf.backends.amd.rocprof_sys import RocprofSysProfiler, RocprofSysPythonProfiler
from rocm_perf.backends.amd.rocprofv2 import Rocprofv2Profiler
from rocm_perf.backends.amd.rocprofv3 import Rocprofv3Profiler
from rocm_perf.backends.amd.rpd import RpdProfiler, TraceLiteProfiler
from rocm_perf.backends.base import Profiler
from rocm_perf.backends.jax import JaxProfiler
from rocm_perf.backends.nvidia.cupti import CuptiProfiler
from rocm_perf.backends.nvidia.ncu import NcuProfiler
from rocm_perf.backends.timing import TimingProfiler
from rocm_perf.backends.torch import TorchProfiler

NO_PROFILER = TimingProfiler()  # the application alone
_ALL: tuple[Profiler, ...] = (
    Rocprofv3Profiler(),
    Rocprofv2Profiler(),
    RocprofProfiler(),
    RocprofSysProfiler(),
    RocprofSysPythonProfiler(),
    RpdProfiler(),
    TraceLiteProfiler(),
    CuptiProfiler(),
    NcuProfiler(),
    TorchProfiler(),
    JaxProfiler(),
    NO_PROFILER,
)
PROFILERS: Mapping[str, Profiler] = MappingProxyType({profiler.name: profiler for profiler in _ALL})


def present_name(name: str) -> str:
    """Return the name of the profiler that goes, or went, by this name; what is none's comes back as it is."""
    return next((profiler.name for profiler in _ALL if name in profiler.other_names), name)
