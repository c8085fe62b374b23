"""No profiler at all: the program runs as it is, and its wall time is what is known. It always works."""

from __future__ import annotations

from pathlib import Path

from rocm_perf.backends.base import Command, Profiler, Wish
from rocm_perf.backends.machine import Machine

_WITHOUT_PROFILER = "without a profiler only the wall time is known"
_WITHOUT_GPU = (
    "no GPU was found (rocm-perf doctor says where it was looked for), so only the wall time is known"
)


class TimingProfiler(Profiler):
    """The application alone."""

    name = "timing"
    why = "nothing else works here"
    offers = "timing"
    own_method = "timing"
    condition = "wall time of the whole program"

    def refusal(self, wish: Wish, machine: Machine) -> str:
        """It stands in for any trace, and `dropped` says what is lost; what needs a run of its own it cannot do."""
        return "" if wish.purpose == "trace" else _reason(machine)

    def window_refusal(self, wish: Wish, machine: Machine) -> str:  # noqa: ARG002
        """Whatever the window, it records nothing: the plan says why no profiler does."""
        return ""

    def dropped(self, wish: Wish, machine: Machine) -> tuple[str, ...]:
        return (f"{', '.join(wish.domains)} trace: {_reason(machine)}",) if wish.domains else ()

    def command(
        self,
        wish: Wish,  # noqa: ARG002
        app: tuple[str, ...],
        folder: Path,  # noqa: ARG002
        machine: Machine,  # noqa: ARG002
    ) -> Command:
        return Command(argv=app)


def _reason(machine: Machine) -> str:
    return _WITHOUT_PROFILER if machine.gpus else _WITHOUT_GPU
