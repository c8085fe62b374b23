"""Records with torch.profiler into files that nothing overwrites. Used inside the user's program, by injection or by
`rocm_perf.torch_profile`."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import warnings
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

SUFFIX = ".pt.trace.json"
NO_STEPS = ".steps.json"
RANKS = (  # as environment.py has them
    "RANK",
    "OMPI_COMM_WORLD_RANK",
    "PMIX_RANK",
    "PMI_RANK",
    "MV2_COMM_WORLD_RANK",
    "PALS_RANKID",
    "FLUX_TASK_RANK",
    "SLURM_PROCID",
)
# What torch's functions raise, over its releases.
TORCH_ERRORS = (
    AssertionError,
    AttributeError,
    ImportError,
    LookupError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
)
_SMALL_BYTES = 64 * 1024  # a trace without a single operator is smaller
_WORK = (b'"cat": "cpu_op"', b'"cat": "kernel"', b'"cat": "gpu_mem', b'"cat": "user_annotation"')


class Options(NamedTuple):
    """What to record, and when. Without `active`: everything from the start to the stop."""

    folder: str
    wait: int = 0
    warmup: int = 0
    active: int = 0
    repeat: int = 1
    shapes: bool = True
    memory: bool = False
    stacks: bool = False
    step: str = ""  # the function whose calls are the steps


def say(text: str) -> None:
    """One line to the user; the program's stdout stays its own."""
    print(f"rocm-perf: {text}", file=sys.stderr, flush=True)


def file_stem(environment: Mapping[str, str], pid: int) -> str:
    """`rank3-4711`, or `rank-4711` where no launcher gave a rank."""
    rank = next((environment[name] for name in RANKS if environment.get(name, "").isdigit()), "")
    return f"rank{rank}-{pid}"


def claim(folder: str, stem: str, suffix: str = SUFFIX) -> tuple[str, str]:
    """A name that no recording has, and the file to write first: one that is killed half way never has that name."""
    os.makedirs(folder, exist_ok=True)
    number = 1
    while True:
        path = os.path.join(folder, stem + ("" if number == 1 else f"-{number}") + suffix)
        part = path + ".part"
        try:
            if not os.path.exists(path):
                os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
                return path, part
        except FileExistsError:
            pass
        number += 1


def holds_work(path: str) -> bool:
    """Whether the trace has any operator, kernel, copy or range."""
    if os.path.getsize(path) > _SMALL_BYTES:
        return True
    with open(path, "rb") as file:
        text = file.read()
    return any(mark in text for mark in _WORK)


class Recorder:
    """One torch.profiler, from `start` to `stop`; each trace becomes a file."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.files: list[str] = []
        self.is_rehearsing = False
        self.steps = 0  # that are over
        self._profile: Any | None = None
        self._steps = ""

    @property
    def is_recording(self) -> bool:
        return self._profile is not None

    def rehearse(self, on_device: bool) -> None:
        """Start and stop once for nothing: the first start takes long, and Kineto wants it on the thread that works."""
        self.is_rehearsing = True
        try:
            with _quietly():
                profile = _profile(on_device)
                profile.start()
                profile.stop()
        finally:
            self.is_rehearsing = False

    def start(self, on_device: bool) -> None:
        """Begin. `on_device`: also what the GPU does."""
        options = self.options
        with _quietly():
            self._profile = _profile(
                on_device,
                schedule=_schedule(options),
                on_trace_ready=self._write,
                record_shapes=options.shapes,
                profile_memory=options.memory,
                with_stack=options.stacks,
            )
            self._profile.start()

    def step(self, counted_by: str) -> None:
        """One step of the schedule is over."""
        if self._profile is not None:
            self._steps = counted_by
            self.steps += 1
            self._note()
            with _quietly():
                self._profile.step()

    def stop(self) -> None:
        """End, and write what is left."""
        profile = self._profile
        if profile is not None:
            self._note()
            with _quietly():
                profile.stop()
            self._profile = None

    def leave_word(self, about: Mapping[str, object]) -> None:
        """Leave a hidden file that says how many steps there were, if they ended before any was recorded."""
        options = self.options
        if self.files or not options.active or self.steps > options.wait + options.warmup:
            return
        seen = {
            "steps": self.steps,
            "before": options.wait + options.warmup,
            "counted_by": self._steps,
            **about,
        }
        path = os.path.join(options.folder, f".{file_stem(os.environ, os.getpid())}{NO_STEPS}")
        with contextlib.suppress(OSError):
            os.makedirs(options.folder, exist_ok=True)
            with open(path, "w") as file:
                json.dump(seen, file)

    def abandon(self) -> None:
        """Forget it without a file, as a forked child must."""
        self._profile = None

    def owns(self, autograd_profile: object) -> bool:
        """Whether torch's inner profiler object is this one's."""
        return self._profile is not None and self._profile.profiler is autograd_profile

    def _note(self) -> None:
        """Into the trace: whose it is. Only a running profiler takes it."""
        profile = self._profile
        if profile is not None and profile.current_action.name.startswith("RECORD"):
            schedule = {name: getattr(self.options, name) for name in ("wait", "warmup", "active", "repeat")}
            about: dict[str, object] = {"pid": os.getpid(), "steps": self._steps, "schedule": schedule}
            profile.add_metadata_json("rocm_perf_torch", json.dumps(about))

    def _write(self, profile: Any) -> None:
        path, part = claim(self.options.folder, file_stem(os.environ, os.getpid()))
        try:
            profile.export_chrome_trace(part)
            if holds_work(part):
                os.replace(part, path)
                self.files.append(path)
        finally:
            if os.path.exists(part):
                os.remove(part)


def _profile(on_device: bool, **options: Any) -> Any:
    from torch import profiler

    activities = [profiler.ProfilerActivity.CPU]
    if on_device:
        activities.append(profiler.ProfilerActivity.CUDA)
    return profiler.profile(activities=activities, **options, **_every_thread())


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """torch warns of a missing warm-up, of cycles that begin anew, ...: nothing that the program did."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _schedule(options: Options) -> Any | None:
    if not options.active:
        return None
    from torch.profiler import schedule

    return schedule(wait=options.wait, warmup=options.warmup, active=options.active, repeat=options.repeat)


def _every_thread() -> dict[str, Any]:
    """Operators of threads that were not started by this one count too, where torch can record them (2.8 and newer)."""
    try:
        from torch._C._profiler import _ExperimentalConfig

        return {"experimental_config": _ExperimentalConfig(profile_all_threads=True)}
    except (ImportError, TypeError):
        return {}
