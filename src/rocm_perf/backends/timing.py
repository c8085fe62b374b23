"""No profiler at all: the program runs as it is, and its wall time is what is known. It always works."""

from __future__ import annotations

from pathlib import Path

from rocm_perf.backends.base import Command, Wish
from rocm_perf.backends.machine import Machine

_WITHOUT_PROFILER = "without a profiler only the wall time is known"
_WITHOUT_GPU = (
    "no GPU was found (rocm-perf doctor says where it was looked for), so only the wall time is known"
)


class TimingProfiler:
    """The application alone."""

    name = "timing"

    def refusal(self, wish: Wish, machine: Machine) -> str:  # noqa: ARG002
        return ""

    def dropped(self, wish: Wish, machine: Machine) -> tuple[str, ...]:
        wanted = [f"{', '.join(wish.domains)} trace"] if wish.domains else []
        wanted += ["counters"] * bool(wish.counters)
        wanted += ["PC sampling"] * (wish.pc_sampling is not None)
        wanted += ["thread trace"] * wish.att
        reason = _WITHOUT_PROFILER if machine.gpus else _WITHOUT_GPU
        return tuple(f"{each}: {reason}" for each in wanted)

    def command(
        self,
        wish: Wish,  # noqa: ARG002
        app: tuple[str, ...],
        folder: Path,  # noqa: ARG002
        machine: Machine,  # noqa: ARG002
    ) -> Command:
        return Command(argv=app)
