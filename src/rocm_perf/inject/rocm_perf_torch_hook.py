"""Waits for the program to import torch, then records it."""

from __future__ import annotations

import ctypes
import functools
import os
import sys
import threading
from collections.abc import Callable, Mapping
from types import CodeType, FunctionType, ModuleType
from typing import Any

DEVICE_NODES = ("/dev/kfd", "/dev/nvidiactl", "/dev/dxg")


def install(shared: ModuleType) -> None:
    """Watch for torch, unless this process only launches others."""
    words = shared.own_words()
    if shared.started_program(words) in shared.LAUNCHERS:
        return
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # Kineto would write to the program's stderr
    begin = functools.partial(_begin, shared, "--multiprocessing-fork" in words)
    sys.meta_path.insert(0, shared.ImportFinder("torch", begin))


def _begin(shared: Any, is_child: bool) -> None:
    try:
        recorder = shared.load_neighbour("rocm_perf_torch_recorder")
        options = options_of(recorder, os.environ)
        window = shared.load_neighbour("rocm_perf_torch_window").window_of(os.environ)
    except (ImportError, OSError, LookupError, ValueError) as error:
        print(f"rocm-perf: torch.profiler cannot be set up ({error})", file=sys.stderr, flush=True)
    else:
        shared.Injection(Torch(recorder, options), window).begin(is_child)


def options_of(recorder: Any, environment: Mapping[str, str]) -> Any:
    """The options in ROCM_PERF_TORCH_*."""
    prefix = "ROCM_PERF_TORCH_"
    numbers = {
        name: int(environment.get(prefix + name.upper(), "0")) for name in ("wait", "warmup", "active")
    }
    flags = {name: environment.get(prefix + name.upper()) == "1" for name in ("shapes", "memory", "stacks")}
    repeat = int(environment.get(prefix + "REPEAT", "1"))
    step = environment.get(prefix + "STEP", "")
    return recorder.Options(environment[prefix + "OUTPUT"], repeat=repeat, step=step, **numbers, **flags)


class Torch:
    """torch and its profiler, as an Injection asks for them."""

    title = "torch.profiler"

    def __init__(self, module: Any, options: Any) -> None:
        self.recorder = module.Recorder(options)
        self.errors = module.TORCH_ERRORS
        self.say = module.say
        self._calls: FunctionCalls | None = None
        self._counter: StepCounter | None = None

    def attach(self, injection: Any, is_child: bool) -> None:
        """Be ready now, or when the device is first used: asking for it earlier would fix the program's choice of
        devices and spoil its forks. A multiprocessing child records only then, or if it was asked for."""
        import torch

        self._stand_aside_for_the_program(injection)
        options = self.recorder.options
        if options.active and options.step and not is_child:
            self._calls = FunctionCalls(options.step)
            if options.stacks and not hasattr(sys, "monitoring"):
                self.say("below Python 3.12, --step does not count while --torch-stacks records")
            self._calls.install()
        has_device = (torch.version.cuda or torch.version.hip) and any(map(os.path.exists, DEVICE_NODES))
        if has_device:
            torch.cuda._lazy_call(functools.partial(injection.ready, True))
        elif not is_child or os.environ.get("ROCM_PERF_TORCH_CHILDREN") == "1":
            injection.ready(False)

    def prepare(self, on_device: bool, opens_later: bool) -> None:
        """Where the window opens later, start once for nothing."""
        if opens_later:
            self.recorder.rehearse(on_device)

    def start(self, injection: Any, on_device: bool) -> None:
        """Record from now on, and count steps where a schedule asks for them."""
        self.recorder.start(on_device)
        if self.recorder.options.active:

            def stepped(counted_by: str) -> None:
                injection.guarded(functools.partial(self.recorder.step, counted_by))

            if self._calls is not None:
                self._calls.stepped = functools.partial(stepped, self.recorder.options.step)
            elif self._counter is None:
                self._counter = StepCounter(stepped)
                self._counter.install()

    def ended(self) -> None:
        """Leave word of the steps that were seen, if they were too few."""
        calls = self._calls
        about = {"function": calls.name, "calls": calls.calls} if calls is not None else {}
        main = vars(sys.modules.get("__main__", sys))
        own = [name for name, value in main.items() if _is_function_of_the_program(value)]
        self.recorder.leave_word({**about, "functions": own[:8]})

    def forked(self, was_recording: bool) -> None:
        """Leave nothing of the parent's profiler in a child."""
        try:
            if was_recording:
                _stop_observing_operators()
        finally:
            _skip_destructors()

    def _stand_aside_for_the_program(self, injection: Any) -> None:
        """torch has one profiler at a time: when the program starts its own, ours ends."""
        from torch.autograd.profiler import profile

        name = "_prepare_trace" if hasattr(profile, "_prepare_trace") else "__enter__"
        prepare = getattr(profile, name)

        @functools.wraps(prepare)
        def prepared(inner: Any, *args: Any, **kwargs: Any) -> Any:
            if not self.recorder.owns(inner) and not self.recorder.is_rehearsing:
                injection.step_back()
            return prepare(inner, *args, **kwargs)

        setattr(profile, name, prepared)


def _stop_observing_operators() -> None:
    import torch

    torch.autograd._enable_record_function(False)


def _skip_destructors() -> None:
    """Kineto's destructor would wait for a thread that only the parent has: a forked child that ends by exit() hung.
    C's handlers run last come, first served: write out C's buffers, then leave with the same status."""
    libc = ctypes.CDLL(None)
    libc.on_exit(libc._exit, None)
    libc.__cxa_atexit(libc.fflush, None, None)


def _is_function_of_the_program(value: object) -> bool:
    return isinstance(value, FunctionType) and value.__module__ == "__main__"


class FunctionCalls:
    """Counts the calls of one function of the program, in the thread that makes the first: a step begins with each.

    NAME and CLASS.NAME are of the program's own files, not of installed packages; MODULE:NAME is of that module.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.calls = 0
        self.stepped: Callable[[], None] | None = None  # from when on there is a schedule
        self._module, _, self._function = name.rpartition(":")
        self._thread: int | None = None
        self._known: dict[CodeType, bool] = {}

    def install(self) -> None:
        """Watch. Before Python 3.12 that slows every call down; since then the first call of each function alone."""
        monitoring: Any = getattr(sys, "monitoring", None)
        number = _free_number(monitoring) if monitoring is not None else None
        if number is None:
            threading.setprofile(self._profiled)
            sys.setprofile(self._profiled)
            return
        monitoring.use_tool_id(number, "rocm-perf steps")
        monitoring.register_callback(
            number,
            monitoring.events.PY_START,
            lambda code, _offset: self._called() if self._is_step(code) else monitoring.DISABLE,
        )
        monitoring.set_events(number, monitoring.events.PY_START)

    def _profiled(self, frame: Any, event: str, _argument: object) -> None:
        if event == "call" and self._is_step(frame.f_code):
            self._called()

    def _is_step(self, code: CodeType) -> bool:
        known = self._known.get(code)
        if known is None:
            known = self._known[code] = self._matches(code)
        return known

    def _matches(self, code: CodeType) -> bool:
        last = self._function.rpartition(".")[2]
        if code.co_name != last:
            return False
        name = getattr(code, "co_qualname", self._function).rpartition("<locals>.")[2]
        if name != self._function:
            return False
        if self._module:
            module = sys.modules.get(self._module)
            file = getattr(module, "__file__", None) or ""
            return os.path.abspath(file) == os.path.abspath(code.co_filename)
        return not _is_installed(code.co_filename)

    def _called(self) -> None:
        if self._thread is None:
            self._thread = threading.get_ident()
        if self._thread == threading.get_ident():
            self.calls += 1
            if self.calls > 1 and self.stepped is not None:
                self.stepped()


def _free_number(monitoring: Any) -> int | None:
    return next((number for number in (4, 3) if monitoring.get_tool(number) is None), None)


def _is_installed(file: str) -> bool:
    parts = file.replace("\\", "/").split("/")
    return (
        file.startswith("<")
        or any(part in ("site-packages", "dist-packages") for part in parts)
        or (os.path.dirname(file).startswith(os.path.dirname(os.__file__)))
    )


class StepCounter:
    """Counts the program's steps: those of the first optimizer that makes one; until then, calls of outermost modules.

    A step ends when the next outermost module is called: inside `optimizer.step`, torch's own range of it is open.
    """

    def __init__(self, stepped: Callable[[str], None]) -> None:
        self._stepped = stepped
        self._optimizer: int | None = None
        self._is_due = False
        self._thread: int | None = None
        self._depth = 0
        self._calls = 0

    def install(self) -> None:
        import torch
        from torch.nn.modules import module
        from torch.optim import optimizer

        register = getattr(optimizer, "register_optimizer_step_post_hook", None)
        if register is not None:  # torch 2.1 and newer
            register(self._optimizer_stepped)
        is_compiling = getattr(getattr(torch, "compiler", None), "is_compiling", None) or (lambda: False)

        # torch.compile traces these two; the first line keeps everything else out of its graph.
        def entered(_module: Any, _inputs: Any) -> None:
            if not is_compiling():
                self._entered()

        def left(_module: Any, _inputs: Any, _output: Any) -> None:
            if not is_compiling():
                self._left()

        module.register_module_forward_pre_hook(entered)
        try:
            module.register_module_forward_hook(left, always_call=True)
        except TypeError:  # torch 1.x
            module.register_module_forward_hook(left)

    def _optimizer_stepped(self, optimizer: Any, _args: Any, _kwargs: Any) -> None:
        if self._optimizer is None:
            self._optimizer = id(optimizer)
        if self._optimizer == id(optimizer):
            if self._is_due:  # a program that calls no module
                self._stepped("optimizer.step")
            self._is_due = True

    def _entered(self) -> None:
        """Replicas of the model in other threads belong to the same call."""
        if self._thread is None:
            self._thread = threading.get_ident()
        if self._thread != threading.get_ident():
            return
        self._depth += 1
        if self._depth == 1:
            self._outermost()

    def _outermost(self) -> None:
        self._calls += 1
        if self._is_due:
            self._is_due = False
            self._stepped("optimizer.step")
        elif self._optimizer is None and self._calls > 1:
            self._stepped("module.forward")

    def _left(self) -> None:
        if self._thread == threading.get_ident():
            self._depth -= 1
