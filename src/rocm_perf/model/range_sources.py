"""Who sets ranges, where that matters: those of a runtime name its own functions, not parts of the program."""

from __future__ import annotations

JAX = "jax"  # TraceAnnotation of a program
JAX_STEP = "jax.step"  # StepTraceAnnotation: one step, with its number
JITTED = "jax.jit"  # calls of its jitted functions: they return before the GPU has done the work
RUNTIME = "xla"  # XLA's own functions
ACCELERATOR = "accelerator"  # events of a device that is neither a GPU of AMD nor of NVIDIA
NOT_THE_PROGRAM = (
    "profiler",
    "chrome",
    RUNTIME,
    ACCELERATOR,
)  # the profiler's own overhead, and other tools' slices
NOT_STEPS = (JITTED, RUNTIME, ACCELERATOR)
