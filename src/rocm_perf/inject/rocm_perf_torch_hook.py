"""Waits for the program to import torch, then records it. Whatever goes wrong here is one line on stderr: the program
runs on as if nothing were there."""

from __future__ import annotations

import atexit
import ctypes
import functools
import importlib.util
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import FrameType, ModuleType
from typing import Any

# These start the program's processes and do no work of their own.
LAUNCHERS = (
    "torchrun", "accelerate", "deepspeed", "torch.distributed.run", "torch.distributed.launch",
    "accelerate.commands.launch", "accelerate.commands.accelerate_cli", "deepspeed.launcher.launch",
)  # fmt: skip
DEVICE_NODES = ("/dev/kfd", "/dev/nvidiactl", "/dev/dxg")
_TAKES_VALUE = ("-W", "-X", "--check-hash-based-pycs")


def install() -> None:
    """Watch for torch, unless this process only launches others."""
    words = own_words()
    if started_program(words) in LAUNCHERS:
        return
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # Kineto would write to the program's stderr
    sys.meta_path.insert(0, TorchFinder(functools.partial(_begin, "--multiprocessing-fork" in words)))


def own_words() -> list[str]:
    """This process's command line, as the interpreter was given it."""
    try:
        with open("/proc/self/cmdline", "rb") as file:
            return [os.fsdecode(word) for word in file.read().split(b"\0")[:-1]]
    except OSError:
        return list(getattr(sys, "orig_argv", sys.argv))


def started_program(words: Sequence[str]) -> str:
    """The script's file name, or the module's name after -m."""
    rest = iter(words[1:])
    for word in rest:
        if word == "-m":
            return next(rest, "")
        if word in _TAKES_VALUE:
            next(rest, "")
        elif word == "-c" or not word.startswith("-"):
            return os.path.basename(word)
    return ""


class TorchFinder(MetaPathFinder):
    """Calls back once, when the import of torch is complete. The module and its loader stay as they are, and a program
    that only asks where torch is (as transformers does) changes nothing."""

    def __init__(self, imported: Callable[[], None]) -> None:
        self._imported = imported

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != "torch":
            return None
        others = (finder for finder in list(sys.meta_path) if finder is not self)
        specs = (finder.find_spec(fullname, path, target) for finder in others)
        spec = next((spec for spec in specs if spec is not None), None)
        if spec is not None and spec.loader is not None:
            self._call_after(spec.loader)
        return spec

    def _call_after(self, loader: Any) -> None:
        run = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            del loader.exec_module
            run(module)
            sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not self]
            self._imported()

        loader.exec_module = exec_module


def _begin(is_child: bool) -> None:
    try:
        recorder = _load_neighbour("rocm_perf_torch_recorder")
        options = options_of(recorder, os.environ)
        window = _load_neighbour("rocm_perf_torch_window").window_of(os.environ)
    except (ImportError, OSError, LookupError, ValueError) as error:
        print(f"rocm-perf: torch.profiler cannot be set up ({error})", file=sys.stderr, flush=True)
    else:
        Injection(recorder, options, window).begin(is_child)


def _load_neighbour(name: str) -> ModuleType:
    """The module in the file beside this one, whose folder is no longer on the path."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name + ".py")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def options_of(recorder: Any, environment: Mapping[str, str]) -> Any:
    """The options in ROCM_PERF_TORCH_*."""
    prefix = "ROCM_PERF_TORCH_"
    numbers = {
        name: int(environment.get(prefix + name.upper(), "0")) for name in ("wait", "warmup", "active")
    }
    flags = {name: environment.get(prefix + name.upper()) == "1" for name in ("shapes", "memory", "stacks")}
    repeat = int(environment.get(prefix + "REPEAT", "1"))
    return recorder.Options(environment[prefix + "OUTPUT"], repeat=repeat, **numbers, **flags)


class Injection:
    """The recorder's life in a program that knows nothing of it."""

    def __init__(self, module: Any, options: Any, window: Any) -> None:
        self._module = module
        self._recorder = module.Recorder(options)
        self._window = window
        self._lock = threading.RLock()  # the window opens and closes on any thread
        self._is_ready = False  # the program works with torch
        self._is_open = False  # what it does now is in the window
        self._on_device = False
        self._over = False

    def begin(self, is_child: bool) -> None:
        """Start now, or when the device is first used: asking for it earlier would fix the program's choice of
        devices and spoil its forks. A multiprocessing child records only then, or if it was asked for."""
        self._guarded(functools.partial(self._arrange, is_child))

    def _arrange(self, is_child: bool) -> None:
        import torch

        self._stand_aside_for_the_program()
        has_device = (torch.version.cuda or torch.version.hip) and any(map(os.path.exists, DEVICE_NODES))
        os.register_at_fork(after_in_child=self._in_forked_child)
        self._window.watch(self._opened, self._closed)
        if has_device:
            torch.cuda._lazy_call(functools.partial(self._ready, True))
        elif not is_child or os.environ.get("ROCM_PERF_TORCH_CHILDREN") == "1":
            self._ready(False)

    def _ready(self, on_device: bool) -> None:
        if not self._over:
            self._is_ready, self._on_device = True, on_device
            self._guarded(self._prepare)
            self._settle()
            self._window.working()

    def _opened(self) -> None:
        self._is_open = True
        self._settle()

    def _closed(self) -> None:
        self._is_open = False
        self._settle()
        if self._window.closing and not self._over:
            self._module.say(self._window.closing)

    def _settle(self) -> None:
        """Record if, and only if, the program works and the window is open."""
        with self._lock:
            wanted = self._is_ready and self._is_open and not self._over
            if wanted and not self._recorder.is_recording:
                self._guarded(self._start_recording)
            elif not self._is_open and self._recorder.is_recording:
                self._guarded(self._recorder.stop)

    def _start_recording(self) -> None:
        self._recorder.start(self._on_device)
        if self._recorder.options.active:
            StepCounter(self._guarded_step).install()

    def _prepare(self) -> None:
        if self._window.opens_later:
            self._recorder.rehearse(self._on_device)
        atexit.register(self.finish)
        multiprocessing_util = sys.modules.get("multiprocessing.util")
        if multiprocessing_util is not None:  # a forked child of multiprocessing ends without atexit
            multiprocessing_util.Finalize(None, self.finish, exitpriority=100)
        self._flush_on_sigterm()

    def _flush_on_sigterm(self) -> None:
        in_main = threading.current_thread() is threading.main_thread()
        if in_main and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, self._terminated)

    def _terminated(self, number: int, _frame: FrameType | None) -> None:
        self.finish()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    def finish(self) -> None:
        """Write what was recorded; only the first call does anything."""
        with self._lock:
            if self._over:
                return
            self._over = True
            if self._recorder.is_recording:
                self._guarded(self._recorder.stop)
        if remark := self._window.ending():
            self._module.say(remark)

    def _guarded_step(self, counted_by: str) -> None:
        if not self._over:
            self._guarded(functools.partial(self._recorder.step, counted_by))

    def _guarded(self, action: Callable[[], None]) -> None:
        try:
            action()
        except self._module.TORCH_ERRORS as error:
            self._over = True
            self._module.say(
                f"torch.profiler could not record this process ({type(error).__name__}: {error})"
            )

    def _in_forked_child(self) -> None:
        """The parent's profiler does not work here and would only cost time; a child of a process that does not
        work with torch yet may record itself."""
        self._lock = threading.RLock()  # another thread of the parent may have held it
        self._window.forked()
        if not self._is_ready:
            return
        self._over = True
        if self._recorder.is_recording:
            self._recorder.abandon()
            self._guarded(_stop_observing_operators)
        self._guarded(_skip_destructors)

    def _stand_aside_for_the_program(self) -> None:
        """torch has one profiler at a time: when the program starts its own, ours ends."""
        from torch.autograd.profiler import profile

        name = "_prepare_trace" if hasattr(profile, "_prepare_trace") else "__enter__"
        prepare = getattr(profile, name)

        @functools.wraps(prepare)
        def prepared(inner: Any, *args: Any, **kwargs: Any) -> Any:
            if not self._over and not self._recorder.owns(inner) and not self._recorder.is_rehearsing:
                self._step_back()
            return prepare(inner, *args, **kwargs)

        setattr(profile, name, prepared)

    def _step_back(self) -> None:
        self._module.say("the program uses torch.profiler itself; ours ends here and leaves it alone")
        self.finish()
        self._over = True


def _stop_observing_operators() -> None:
    import torch

    torch.autograd._enable_record_function(False)


def _skip_destructors() -> None:
    """Kineto's destructor would wait for a thread that only the parent has: a forked child that ends by exit() hung.
    C's handlers run last come, first served: write out C's buffers, then leave with the same status."""
    libc = ctypes.CDLL(None)
    libc.on_exit(libc._exit, None)
    libc.__cxa_atexit(libc.fflush, None, None)


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
