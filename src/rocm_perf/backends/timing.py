"""No profiler at all: the program runs as it is, and its wall time is what is known. It always works."""

from __future__ import annotations

from pathlib import Path

from rocm_perf.backends.base import Command, Wish
from rocm_perf.backends.machine import Machine


class TimingProfiler:
    """The application alone."""

    name = "timing"

    def refusal(self, wish: Wish, machine: Machine) -> str:  # noqa: ARG002
        return ""

    def dropped(self, wish: Wish, machine: Machine) -> tuple[str, ...]:  # noqa: ARG002
        wanted = [f"{', '.join(wish.domains)} trace"] if wish.domains else []
        wanted += ["counters"] * bool(wish.counters)
        wanted += ["PC sampling"] * (wish.pc_sampling is not None)
        wanted += ["thread trace"] * wish.att
        return tuple(f"{each}: without a profiler only the wall time is known" for each in wanted)

    def command(
        self,
        wish: Wish,  # noqa: ARG002
        app: tuple[str, ...],
        folder: Path,  # noqa: ARG002
        machine: Machine,  # noqa: ARG002
    ) -> Command:
        return Command(argv=app)
