"""rocprof-sys (omnitrace before ROCm 6.3): a timeline of the whole process for Perfetto. Only where the user asks for
it: of the GPU, rocprofv3 records the same."""

from __future__ import annotations

from pathlib import Path

from rocm_perf.backends.amd.profiler import AmdTracer
from rocm_perf.backends.base import Command, Domain, Wish
from rocm_perf.backends.machine import Machine
from rocm_perf.backends.tools import Program

# What each domain is called in ROCPROFSYS_ROCM_DOMAINS (rocprof-sys documentation, runtime options).
_DOMAINS: dict[Domain, str] = {
    "kernel": "kernel_dispatch",
    "hip": "hip_runtime_api",
    "hsa": "hsa_api",
    "copy": "memory_copy",
    "allocation": "memory_allocation",
    "scratch": "scratch_memory",
    "marker": "marker_api",
    "rccl": "rccl_api",
}


class RocprofSysProfiler(AmdTracer):
    """The tracer that starts the program."""

    name = tool = "rocprof-sys"
    other_names: tuple[str, ...] = ("omnitrace", "omnitrace-run", "rocprof-sys-run")
    programs = (Program("rocprof-sys", files=("rocprof-sys-run", "omnitrace-run", "omnitrace")),)
    why = "you asked for it"
    offers = "timeline for Perfetto"
    domains = tuple(_DOMAINS)

    def command(self, wish: Wish, app: tuple[str, ...], folder: Path, machine: Machine) -> Command:
        """Everything is said by variables: their names have outlived those of the options."""
        program = machine.tools[self.tool].path
        prefix = "OMNITRACE" if "omnitrace" in Path(program).name else "ROCPROFSYS"
        wanted = ",".join(name for domain, name in _DOMAINS.items() if domain in wish.domains)
        settings = {
            "TRACE": "true",
            "PROFILE": "false",
            "USE_SAMPLING": "false",
            "TIME_OUTPUT": "false",
            "USE_PID": "true",
            "OUTPUT_PATH": str(folder),
            "ROCM_DOMAINS": wanted,
        }
        return Command(
            argv=(program, *wish.tool_args, "--", *app),
            environment={f"{prefix}_{name}": value for name, value in settings.items()},
            expected=("**/*.proto",),
        )


class RocprofSysPythonProfiler(RocprofSysProfiler):
    """The tracer for Python programs, which also names their functions."""

    name = tool = "rocprof-sys-python"
    other_names = ("omnitrace-python",)
    programs = (Program("rocprof-sys-python", files=("rocprof-sys-python", "omnitrace-python"), asked=()),)
    python_only = True
