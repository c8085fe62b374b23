"""Waits for the program to import jax, then records it with jax.profiler."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any


def install(shared: ModuleType) -> None:
    """Watch for jax."""
    sys.meta_path.insert(0, shared.ImportFinder("jax", functools.partial(_begin, shared)))


def _begin(shared: Any) -> None:
    try:
        files = shared.load_neighbour("rocm_perf_torch_recorder")
        recorder = shared.load_neighbour("rocm_perf_jax_recorder")
        windows = shared.load_neighbour("rocm_perf_torch_window")
        window = windows.window_of(os.environ, functools.partial(_watch_annotations, windows))
        folder = os.environ["ROCM_PERF_JAX_OUTPUT"]
    except (ImportError, OSError, LookupError, ValueError) as error:
        print(f"rocm-perf: jax.profiler cannot be set up ({error})", file=sys.stderr, flush=True)
    else:
        shared.Injection(Jax(recorder.Recorder(folder, files), recorder.JAX_ERRORS, files.say), window).begin(
            False
        )


class Jax:
    """JAX and its profiler, as an Injection asks for them."""

    title = "jax.profiler"

    def __init__(
        self, recorder: Any, errors: tuple[type[Exception], ...], say: Callable[[str], None]
    ) -> None:
        self.recorder = recorder
        self.errors = errors
        self.say = say

    def attach(self, injection: Any, is_child: bool) -> None:  # noqa: ARG002
        """Be ready when JAX first looks for its devices: asking for them earlier would fix the program's choice, and
        spoil jax.distributed.initialize()."""
        from jax._src import xla_bridge

        self._stand_aside_for_the_program(injection)
        find = xla_bridge.backends

        @functools.wraps(find)
        def backends() -> Any:
            found = find()
            if xla_bridge.backends is backends:
                xla_bridge.backends = find
                injection.ready(True)
            return found

        xla_bridge.backends = backends

    def prepare(self, on_device: bool, opens_later: bool) -> None:
        """Nothing: a profile starts at once."""

    def start(self, injection: Any, on_device: bool) -> None:  # noqa: ARG002
        """Record from now on."""
        self.recorder.start()

    def ended(self) -> None:
        """Nothing: there is no schedule."""

    def forked(self, was_recording: bool) -> None:
        """Nothing: JAX itself does not work in a forked child."""

    def _stand_aside_for_the_program(self, injection: Any) -> None:
        """JAX has one profiler at a time: when the program starts its own, ours ends."""
        import jax.profiler
        from jax._src import profiler

        start = profiler.start_trace

        @functools.wraps(start)
        def started(*args: Any, **kwargs: Any) -> Any:
            if not self.recorder.is_starting:
                injection.step_back()
            return start(*args, **kwargs)

        profiler.start_trace = jax.profiler.start_trace = started


def _watch_annotations(windows: Any, window: Any) -> None:
    """Watch TraceAnnotation and StepTraceAnnotation. They keep their name to themselves, and are recorded only if a
    profile runs when they are made: one that opens the window has a twin, which is made inside it."""
    from jax._src import profiler

    annotation, step = profiler.TraceAnnotation, profiler.StepTraceAnnotation
    make, leave = annotation.__init__, annotation.__exit__

    def made(range_: Any, name: str, **notes: Any) -> None:
        make(range_, name, **notes)
        is_step = window.name == windows.STEPS and isinstance(range_, step)
        range_._rocm_perf_name = windows.STEPS if is_step else name
        range_._rocm_perf_twin = functools.partial(annotation.__base__, name, **notes)

    def opened(range_: Any) -> None:
        range_._rocm_perf_open = range_._rocm_perf_twin()
        range_._rocm_perf_open.__enter__()

    @functools.wraps(leave)
    def left(range_: Any, *error: Any) -> Any:
        twin = range_.__dict__.pop("_rocm_perf_open", None)
        if twin is not None:
            twin.__exit__(*error)
        return leave(range_, *error)

    annotation.__init__, annotation.__exit__ = made, left
    windows.watch_context(window, annotation, lambda range_: str(range_._rocm_perf_name), opened)
