"""`rocm_perf.torch_profile`: torch.profiler around a part of the user's own code, with the recorder that
`rocm-perf profile --profiler torch` injects. Standard library and torch only."""

from __future__ import annotations

import os
from types import TracebackType

from rocm_perf.inject.rocm_perf_torch_recorder import Options, Recorder


class torch_profile:  # noqa: N801  (used like a function: `with torch_profile("traces") as recording:`)
    """Record what torch does in a `with` block, into files of OUTPUT that `rocm-perf analyze` reads.

    With `active`, only `active` steps out of every `wait + warmup + active` are recorded, `repeat` times (0: until the
    end); call `step()` after each. The files are named by rank and process, and no file is ever overwritten.
    """

    def __init__(  # noqa: PLR0913  (torch.profiler has this many)
        self,
        output: str | os.PathLike[str],
        *,
        wait: int = 0,
        warmup: int = 0,
        active: int = 0,
        repeat: int = 1,
        shapes: bool = True,
        memory: bool = False,
        stacks: bool = False,
    ) -> None:
        if min(wait, warmup, active, repeat) < 0:
            raise ValueError("wait, warmup, active and repeat count steps: none is negative")
        if (wait or warmup) and not active:
            raise ValueError("wait and warmup need active: how many steps to record after them")
        self._recorder = Recorder(
            Options(os.fspath(output), wait, warmup, active, repeat, shapes, memory, stacks)
        )

    @property
    def files(self) -> tuple[str, ...]:
        """The traces written so far; the last one comes when the block ends."""
        return tuple(self._recorder.files)

    def step(self) -> None:
        """One step of the schedule is over."""
        self._recorder.step("step()")

    def __enter__(self) -> torch_profile:
        import torch

        self._recorder.start(on_device=torch.cuda.is_available())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._recorder.stop()
