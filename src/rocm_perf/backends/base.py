"""What is asked of every profiler: whose GPUs it watches, what it records and needs, why it cannot, and its command.

Nobody else knows a profiler by its name: a new one is a module of its own and a line in profilers.py.
"""

# ruff: noqa: ARG002  # an answer that is right for most profilers need not look at everything it is given
from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec

from rocm_perf.backends.launch_cost import LaunchCost
from rocm_perf.backends.machine import Machine, Version
from rocm_perf.backends.tools import Program
from rocm_perf.model.vendor import Vendor
from rocm_perf.model.window import Window

# `hip` is the runtime's API (CUDA's on NVIDIA), `hsa` the layer below it (CUDA's driver API), `rccl` also NCCL.
Domain = Literal["kernel", "hip", "hsa", "copy", "allocation", "scratch", "marker", "rccl"]
DOMAINS: tuple[Domain, ...] = ("kernel", "hip", "hsa", "copy", "allocation", "scratch", "marker", "rccl")
Purpose = Literal[
    "trace", "counters", "pc sampling", "thread trace"
]  # what one run of the application is for


class PcSampling(msgspec.Struct, frozen=True):
    """How to sample program counters."""

    method: Literal["host_trap", "stochastic"]
    unit: Literal["time", "cycles", "instructions"]
    interval: int


class TorchOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What torch.profiler is to record, and when. Without steps it records from the import of torch to the end, without
    `active` from the end of the warm-up on."""

    step: str = (
        ""  # the function whose calls are the steps; empty: those of the optimizer or of the outermost module
    )
    wait: int = 0
    warmup: int = 0
    active: int = 0
    repeat: int = 1
    shapes: bool = True
    memory: bool = False
    stacks: bool = False


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """What one run of the application is to record."""

    domains: tuple[Domain, ...] = ()
    counters: tuple[str, ...] = ()  # one pass; they fit
    pc_sampling: PcSampling | None = None
    att: bool = False
    att_kernels: str = ""  # only these in the thread trace; empty: as in the other runs
    stats: bool = False
    summary: bool = False  # the tool's own, printed at the end
    formats: tuple[str, ...] = ()  # empty: what rocm-perf reads best
    kernel_include: str = ""
    kernel_exclude: str = ""
    iteration_range: tuple[str, ...] = ()
    kernel_launches: tuple[
        int, ...
    ] = ()  # of each kernel, from 1, where each of them costs replays; empty: all
    collection_period: tuple[str, ...] = ()  # delay:length:repeat
    collection_period_unit: str = ""
    selected_regions: bool = False
    output_name: str = ""  # the tool's -o, with its %keys%; empty: ours
    torch: TorchOptions = TorchOptions()
    window: Window = Window()  # the part of the run that is recorded
    tool_args: tuple[str, ...] = ()  # passed through as they are

    @property
    def purpose(self) -> Purpose:
        """What a run for this wish is for: whatever needs a run of its own, else the trace."""
        if self.pc_sampling is not None:
            return "pc sampling"
        return "thread trace" if self.att else "counters" if self.counters else "trace"


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """What to run. Nothing of it needs a shell."""

    argv: tuple[str, ...]
    environment: dict[str, str] = {}  # set on top of the user's own
    files: dict[str, str] = {}  # to write before it starts: path -> text
    expected: tuple[str, ...] = ()  # patterns of files that it leaves in the pass's folder
    notices: tuple[str, ...] = ()  # what was translated or dropped, in the user's words
    separates_exit_code: bool = True  # False: the tool does not pass the application's exit code on


class CounterPasses(msgspec.Struct, frozen=True, kw_only=True):
    """The counters of each run; where there is none, `refusal` says why."""

    passes: tuple[tuple[str, ...], ...] = ()
    notes: tuple[str, ...] = ()
    refusal: str = ""


class Profiler(ABC):
    """One profiler. What is said here holds for most; a profiler overrides what differs."""

    name: str
    why: str  # it is the one to use, as plans say it
    other_names: tuple[str, ...] = ()  # that it had, or that its programs have
    offers: str  # what a user still has with it where something else cannot be done
    vendor: Vendor | None = None  # whose GPUs it watches; None: any
    domains: tuple[Domain, ...] = ()  # what it can trace
    extras: tuple[Purpose, ...] = ()  # what it can record besides traces
    tool: str = ""  # the entry of Machine.tools without which it is not here
    programs: tuple[Program, ...] = ()  # what the probe looks for on its behalf
    preloads: tuple[str, ...] = ()  # parts of the names of its libraries, as LD_PRELOAD may hold them
    python_only: bool = False  # it records only Python programs
    only_asked: bool = False  # it is not chosen, but can be asked for
    own_method: str = ""  # a row of its own in the doctor's matrix
    condition: str = ""  # what the doctor adds to a method that works through it
    default_counters: tuple[str, ...] = ()  # where it is asked for counters and none are named
    probe_counter: str = ""  # a counter that every GPU of its vendor has

    @property
    def traces(self) -> bool:
        """Whether it records a timeline."""
        return bool(self.domains)

    @property
    def counts(self) -> bool:
        """Whether it reads counters."""
        return "counters" in self.extras

    @property
    def records(self) -> bool:
        """Whether it records anything besides the wall time."""
        return bool(self.domains or self.extras)

    @property
    def leads(self) -> bool:
        """Whether a plan can be built on it: on one that only reads counters, only if the user says so."""
        return self.traces or not self.records

    def serves(self, purpose: Purpose) -> bool:
        """Whether it is made for this kind of run, here or elsewhere."""
        return purpose in self.extras or (purpose == "trace" and self.traces)

    def watches(self, machine: Machine) -> bool:
        """Whether the machine has a GPU that it is made for."""
        return self.vendor is None or any(gpu.vendor == self.vendor for gpu in machine.gpus)

    def is_here(self, machine: Machine) -> bool:
        """Whether the machine has what it is made for and made of: the GPU and the tool."""
        return self.watches(machine) and (not self.tool or machine.tool(self.tool) is not None)

    def release(self, machine: Machine) -> Version:
        """The release of its vendor's software that it belongs to; () where that says nothing."""
        return ()

    def install(self, machine: Machine) -> str:
        """The command that brings it onto this machine; empty where it is here, or nobody knows one."""
        return ""

    def gpu_refusal(self, machine: Machine) -> str:
        """Why it would not see the GPUs of this machine, although it may record the rest of a program."""
        return ""

    def app_refusal(self, app: tuple[str, ...], folder: Path, *, is_python: bool) -> str:
        """Why it cannot record this application into this folder; empty if it can."""
        return "the application is not a Python program" if self.python_only and not is_python else ""

    @abstractmethod
    def refusal(self, wish: Wish, machine: Machine) -> str:
        """Why it cannot do this here; empty if it can."""

    def window_refusal(self, wish: Wish, machine: Machine) -> str:
        """Why it cannot keep to the window of the wish; empty if it can, or if the whole run is asked for."""
        return f"{self.name} records the whole run" if wish.window else ""

    def dropped(self, wish: Wish, machine: Machine) -> tuple[str, ...]:
        """The parts of the wish that it would leave out, each with the reason."""
        lost = (domain for domain in wish.domains if domain not in self.domains)
        return tuple(f"{domain} trace: {self.name} has none" for domain in lost)

    def doubt(self, wish: Wish, machine: Machine) -> str:
        """Why it may fall short, although it does not refuse; empty if nothing is known against it."""
        return ""

    def counter_passes(
        self, names: tuple[str, ...], groups: tuple[tuple[str, ...], ...], machine: Machine
    ) -> CounterPasses:
        """The runs that read these counters, and the groups of them that the user made: all at once, unless it says
        otherwise."""
        wanted = dict.fromkeys((*names, *(name for group in groups for name in group)))
        return CounterPasses(passes=(tuple(wanted),))

    def counting_ns(
        self, wish: Wish, alone_ns: int, kernels: Mapping[str, tuple[int, int]], machine: Machine
    ) -> int:
        """About how long a run that reads counters takes, where the program took `alone_ns` in a trace: as long as
        that, unless it says otherwise. `kernels`: the launches of each that are counted, and their time (ns)."""
        return alone_ns

    @abstractmethod
    def command(self, wish: Wish, app: tuple[str, ...], folder: Path, machine: Machine) -> Command:
        """The command that records the application into the folder."""

    def prepare(self, machine: Machine) -> None:  # noqa: B027  # most need nothing
        """Make what its first command needs, unless that was done. Called before a launch, never by plans; a
        RocmPerfError says why it cannot be made."""

    def launch_cost(self, machine: Machine) -> LaunchCost | None:
        """What it adds to each launch, as measured on this machine with small kernels; None where that is not known."""
        return None
