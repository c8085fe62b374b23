"""Every way to cheat that has been published, planted in a program of the testbed, and the gate that must stop it.

Most were found in Python harnesses, where the judged code shares an interpreter with its judge. Here no host code of a
candidate runs in replay: a cheat is in the kernel itself, or in host code, which the first gate refuses. `here` says
what it became.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rocm_perf.optimize.candidate import Candidate
from rocm_perf.optimize.gates import Gate
from rocm_perf.optimize.proposers.unified import diff_edits

FOLDER = Path(__file__).parent
TESTBED = FOLDER.parents[3] / "testbed"


@dataclass(frozen=True)
class Cheat:
    """A patch that must not get through."""

    name: str  # of its file, NAME.patch
    program: str  # the source that it changes
    kernel: str
    gate: Gate  # the first that stops it
    trick: str  # as it was published
    here: str  # what it is in a HIP or CUDA program

    @property
    def source(self) -> bytes:
        """The program as it is without the cheat."""
        return (TESTBED / self.program).read_bytes()

    @property
    def candidate(self) -> Candidate:
        """The cheat as a proposer would hand it in."""
        diff = (FOLDER / f"{self.name}.patch").read_text()
        return Candidate(name=self.name, by="cheat", edits=diff_edits(diff, self.source), is_foreign=True)


_SOFTMAX = ("softmax_testbed.cpp", "scaled_softmax")
_MATMUL = ("matmul.hip", "matmul")
_HISTOGRAM = ("histogram_atomic.hip", "histogram")
_REDUCTION = ("reduction_barrier.cu", "block_sums")
_GATHER = ("gather_latency.cu", "gather")
_STENCIL = ("stencil.hip", "heat_step")
_LAYER_NORM = ("layernorm_dynamic.cpp", "layer_norm")

PUBLISHED = (
    Cheat(
        "skips_the_work", *_SOFTMAX, gate="captured",
        trick="computes a part, and hopes that nobody looks at the rest",
        here="seven of eight blocks return at once; the output still holds what an earlier launch wrote",
    ),
    Cheat(
        "stale_results", *_SOFTMAX, gate="fresh",
        trick="hands out the result of an earlier call",
        here="returns where the output is not empty: the buffer holds what an earlier launch wrote",
    ),
    Cheat(
        "answers_by_address", *_MATMUL, gate="text",
        trick="answers cached by the address of the buffer (tensara#238)",
        here="a variable of the kernel keeps the pointer of the last launch; the same pointer means nothing to do",
    ),
    Cheat(
        "answers_in_the_code", *_HISTOGRAM, gate="fresh",
        trick="copied answers: the expected output is a constant of the submission",
        here="the counts of the program's own input, which is the same in every run, stand in the kernel",
    ),
    Cheat(
        "answers_for_known_inputs", *_HISTOGRAM, gate="gain",
        trick="copied answers, and honest work wherever the input is not the known one",
        here="the same counts, where the first values are those of the program; right on other inputs, too",
    ),
    Cheat(
        "truncated_to_bfloat16", *_MATMUL, gate="captured",
        trick="lowered precision",
        here="the lower half of each operand is masked away, with no narrower type in sight",
    ),
    Cheat(
        "approximate_exponential", *_SOFTMAX, gate="precision",
        trick="lowered precision",
        here="an intrinsic of few bits instead of expf",
    ),
    Cheat(
        "edited_timer", *_SOFTMAX, gate="text",
        trick="edited timer",
        here="the time that the program prints is divided by a hundred",
    ),
    Cheat(
        "patched_events", *_SOFTMAX, gate="text",
        trick="patched Event.elapsed_time",
        here="a macro takes the place of hipEventElapsedTime",
    ),
    Cheat(
        "fewer_blocks", *_SOFTMAX, gate="text",
        trick="fewer blocks are launched",
        here="the timed launches have half the blocks; the first one has written the other rows",
    ),
    Cheat(
        "nan_as_wildcard", *_SOFTMAX, gate="captured",
        trick="NaN everywhere: a comparison with it is neither above nor below the tolerance",
        here="the same, from the kernel",
    ),
    Cheat(
        "warmup_detection", *_MATMUL, gate="text",
        trick="right for the first calls, which are checked, and idle in those that are timed (pygpubench#7)",
        here="a variable of the kernel counts its launches; from the fourth on nothing is done",
    ),
    Cheat(
        "lazy_outputs", *_HISTOGRAM, gate="text",
        trick="an object that computes when it is looked at, after the clock has stopped",
        here="the kernel is empty; the host counts when the result is printed",
    ),
    Cheat(
        "mutated_inputs", *_GATHER, gate="captured",
        trick="the inputs are changed, so that what follows is cheap (KernelBench#82)",
        here="every index is overwritten once it was used; later launches read their neighbours",
    ),
    Cheat(
        "recycled_memory", *_REDUCTION, gate="captured",
        trick="the reference's result is found in memory that was freed and given out again (KernelBench#82)",
        here="shared memory is not cleared between launches: the kernel reads the sum that the last one left there",
    ),
    Cheat(
        "work_on_another_stream", *_SOFTMAX, gate="text",
        trick="the work is left on a stream that the timer does not wait for",
        here="the timed launches go to a non-blocking stream, the events to the default one",
    ),
    Cheat(
        "result_among_live_objects", *_MATMUL, gate="text",
        trick="the reference's result is found through the garbage collector and copied",
        here="the first launch keeps its result in a variable of the kernel; later ones copy it",
    ),
    Cheat(
        "underflowing_score", *_LAYER_NORM, gate="captured",
        trick="a time of nothing for one shape spoils the mean of all scores (reference-kernels#162)",
        here="the large shape returns at once; the small one is right",
    ),
    Cheat(
        "written_for_one_shape", *_SOFTMAX, gate="fresh",
        trick="right for the shapes of the benchmark, and for no others",
        here="the width of the program's rows is a constant of the loops",
    ),
)  # fmt: skip

# What the gates are for that no published trick came to.
OTHERS = (
    Cheat(
        "drops_a_barrier", *_REDUCTION, gate="safety",
        trick="a barrier less", here="right whenever the waves of a block happen to keep in step",
    ),
    Cheat(
        "does_not_compile", *_STENCIL, gate="build",
        trick="not a program", here="a type that does not exist",
    ),
    Cheat(
        "time_of_the_build", *_STENCIL, gate="rebuild",
        trick="another program each time it is built", here="__TIME__ in the kernel",
    ),
    Cheat(
        "another_parameter", *_GATHER, gate="text",
        trick="another signature", here="a parameter of another size",
    ),
    Cheat(
        "spills", *_MATMUL, gate="resources",
        trick="registers kept in memory", here="launch bounds that leave too few of them",
    ),
    Cheat(
        "slower", *_SOFTMAX, gate="gain",
        trick="right, and slower", here="every value is read again and again",
    ),
)  # fmt: skip

CHEATS = (*PUBLISHED, *OTHERS)
