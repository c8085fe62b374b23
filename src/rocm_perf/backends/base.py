"""What every profiler offers: whether it can do what is wished here, and the exact command that does it. Pure."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

import msgspec

from rocm_perf.backends.machine import Machine

# `hip` is the runtime's API (CUDA's on NVIDIA), `hsa` the layer below it (CUDA's driver API), `rccl` also NCCL.
Domain = Literal["kernel", "hip", "hsa", "copy", "allocation", "scratch", "marker", "rccl"]
DOMAINS: tuple[Domain, ...] = ("kernel", "hip", "hsa", "copy", "allocation", "scratch", "marker", "rccl")


class PcSampling(msgspec.Struct, frozen=True):
    """How to sample program counters."""

    method: Literal["host_trap", "stochastic"]
    unit: Literal["time", "cycles", "instructions"]
    interval: int


class TorchOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What torch.profiler is to record, and when. Without `active` it records from the import of torch to the end."""

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
    stats: bool = False
    summary: bool = False  # the tool's own, printed at the end
    formats: tuple[str, ...] = ()  # empty: what rocm-perf reads best
    kernel_include: str = ""
    kernel_exclude: str = ""
    iteration_range: tuple[str, ...] = ()
    collection_period: tuple[str, ...] = ()  # delay:length:repeat
    collection_period_unit: str = ""
    selected_regions: bool = False
    output_name: str = ""  # the tool's -o, with its %keys%; empty: ours
    torch: TorchOptions = TorchOptions()
    tool_args: tuple[str, ...] = ()  # passed through as they are


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """What to run. Nothing of it needs a shell."""

    argv: tuple[str, ...]
    environment: dict[str, str] = {}  # set on top of the user's own
    files: dict[str, str] = {}  # to write before it starts: path -> text
    expected: tuple[str, ...] = ()  # patterns of files that it leaves in the pass's folder
    notices: tuple[str, ...] = ()  # what was translated or dropped, in the user's words
    separates_exit_code: bool = True  # False: the tool does not pass the application's exit code on


class Profiler(Protocol):
    """One profiler."""

    name: str

    def refusal(self, wish: Wish, machine: Machine) -> str:
        """Why it cannot do this here; empty if it can."""

    def dropped(self, wish: Wish, machine: Machine) -> tuple[str, ...]:
        """The parts of the wish that it would leave out, each with the reason."""

    def command(self, wish: Wish, app: tuple[str, ...], folder: Path, machine: Machine) -> Command:
        """The command that records the application into the folder."""


@runtime_checkable
class Preparing(Protocol):
    """A profiler that must make something before its first command can run: called before a launch, not by plans."""

    def prepare(self, machine: Machine) -> None:
        """Make it, unless that was done; a RocmPerfError says why it cannot be."""
