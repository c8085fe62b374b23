"""What has to be there before candidates can be judged: the original, built; dispatches of its kernel, captured, on
which it was proven to give its own result."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rocm_perf.errors import UsageError
from rocm_perf.optimize.builds.compilers import vendor_of
from rocm_perf.optimize.builds.gates import rebuilt
from rocm_perf.optimize.builds.workshop import Build, Workshop
from rocm_perf.optimize.laboratory import GpuLaboratory
from rocm_perf.optimize.proof.captured import judging_states
from rocm_perf.optimize.proof.capturing import StatesRequest, capture_states, exactly
from rocm_perf.optimize.proof.private_folder import private_copy
from rocm_perf.optimize.proof.program import Program
from rocm_perf.optimize.proof.states import opened_states
from rocm_perf.optimize.request import Request
from rocm_perf.optimize.source.model import Kernel
from rocm_perf.optimize.subject import Subject
from rocm_perf.units import format_count

Say = Callable[[str], None]


@dataclass(frozen=True)
class Bench:
    """The original, built, and where candidates are built beside it."""

    request: Request
    subject: Subject
    workshop: Workshop
    original: Build
    folder: Path | None = None  # where programs run: a copy of ours; None: ours, which is too large

    @property
    def program(self) -> Program:
        """The original as users run it."""
        argv = self.subject.command_of(self.original.product)
        return Program(argv, folder=self.folder, timeout_s=self.request.timeout_s)


@contextmanager
def opened_bench(request: Request, subject: Subject, say: Say) -> Iterator[Bench]:
    """The bench; everything that is built on it goes at the end."""
    with Workshop(subject.recipe, limit_s=request.timeout_s, jobs=os.cpu_count() or 1) as workshop:
        say(f"building {subject.path.name} as it is, by {subject.recipe.origin}")
        original = workshop.build_original()
        passage = rebuilt(workshop, original)
        if not passage.passed:
            raise UsageError(
                f"{subject.path.name} does not build to the same code each time",
                passage.words,
                "Without that nothing can be said of a change: take times and random names out of the build.",
            )
        with private_copy(Path.cwd()) as folder:  # what a candidate's program writes is not the user's
            yield Bench(request, subject, workshop, original, folder)


@contextmanager
def opened_laboratory(bench: Bench, kernel: Kernel, symbol: str, say: Say) -> Iterator[GpuLaboratory]:
    """The laboratory for one kernel; what was captured for it goes at the end."""
    request, subject = bench.request, bench.subject
    with tempfile.TemporaryDirectory(prefix="rocm-perf-optimize-") as folder:
        wanted = StatesRequest(
            program=bench.program,
            kernel=exactly(symbol),
            vendor=vendor_of(subject.arch),
            folder=Path(folder),
        )
        captured = capture_states(wanted, say)
        tolerances = request.checked.tolerances
        with opened_states(captured.snapshots, tolerances, timeout_s=request.timeout_s) as opened:
            say(f"replaying {format_count(len(opened), 'dispatch', 'dispatches')} as captured")
            states = judging_states(opened)
            yield GpuLaboratory(
                subject=subject,
                kernel=kernel,
                workshop=bench.workshop,
                original=bench.original,
                states=states,
                program=bench.program,
                checked=request.checked,
                least_gain=request.least_gain,
                allow_fast_math=request.allow_fast_math,
                notes=(*captured.notes, *states.notes),
            )
