"""What every injected recorder shares: which program this is, the moment when it imports a framework, and the
recorder's life in a program that knows nothing of it. Whatever goes wrong here is one line on stderr: the program runs
on as if nothing were there."""

from __future__ import annotations

import atexit
import functools
import importlib.util
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import FrameType, ModuleType
from typing import Any

# These start the program's processes and do no work of their own.
LAUNCHERS = (
    "torchrun", "accelerate", "deepspeed", "torch.distributed.run", "torch.distributed.launch",
    "accelerate.commands.launch", "accelerate.commands.accelerate_cli", "deepspeed.launcher.launch",
)  # fmt: skip
_TAKES_VALUE = ("-W", "-X", "--check-hash-based-pycs")


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


class ImportFinder(MetaPathFinder):
    """Calls back once, when the import of a package is complete. The module and its loader stay as they are, and a
    program that only asks where the package is (as transformers does) changes nothing."""

    def __init__(self, package: str, imported: Callable[[], None]) -> None:
        self._package = package
        self._imported = imported

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self._package:
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


def load_neighbour(name: str) -> ModuleType:
    """Import a module from the folder of this file, which has been taken off the path."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name + ".py")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


class Injection:
    """The recorder's life. What differs between frameworks is asked of `framework`: its `recorder`, its `title`, the
    `errors` that it may raise, and what it does to `attach`, to `prepare`, to `start`, when it has `ended`, and in a
    `forked` child."""

    def __init__(self, framework: Any, window: Any) -> None:
        self._framework = framework
        self._recorder = framework.recorder
        self._window = window
        self._lock = threading.RLock()  # the window opens and closes on any thread
        self._is_ready = False  # the program works with the framework
        self._is_open = False  # what it does now is in the window
        self._on_device = False
        self.over = False

    def begin(self, is_child: bool) -> None:
        """Start when the framework says that the program works with it."""
        self._guarded(functools.partial(self._arrange, is_child))

    def _arrange(self, is_child: bool) -> None:
        os.register_at_fork(after_in_child=self._in_forked_child)
        self._window.watch(self._opened, self._closed)
        self._framework.attach(self, is_child)

    def ready(self, on_device: bool) -> None:
        """The program works with the framework from now on."""
        if not self.over:
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
        if self._window.closing and not self.over:
            self._framework.say(self._window.closing)

    def _settle(self) -> None:
        """Record if, and only if, the program works and the window is open."""
        with self._lock:
            wanted = self._is_ready and self._is_open and not self.over
            if wanted and not self._recorder.is_recording:
                self._guarded(functools.partial(self._framework.start, self, self._on_device))
            elif not self._is_open and self._recorder.is_recording:
                self._guarded(self._recorder.stop)

    def _prepare(self) -> None:
        self._framework.prepare(self._on_device, self._window.opens_later)
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
            if self.over:
                return
            self.over = True
            if self._recorder.is_recording:
                self._guarded(self._recorder.stop)
        self._guarded(self._framework.ended)
        if remark := self._window.ending():
            self._framework.say(remark)

    def step_back(self) -> None:
        """The program records by itself: ours ends, since there is one profiler at a time."""
        if not self.over:
            self._framework.say(
                f"the program uses {self._framework.title} itself; ours ends here and leaves it alone"
            )
            self.finish()

    def guarded(self, action: Callable[[], None]) -> None:
        """Do something of ours, unless all is over."""
        if not self.over:
            self._guarded(action)

    def _guarded(self, action: Callable[[], None]) -> None:
        try:
            action()
        except self._framework.errors as error:
            self.over = True
            title = self._framework.title
            self._framework.say(f"{title} could not record this process ({type(error).__name__}: {error})")

    def _in_forked_child(self) -> None:
        """The parent's profiler does not work here and would only cost time; a child of a process that does not work
        with the framework yet may record itself."""
        self._lock = threading.RLock()  # another thread of the parent may have held it
        self._window.forked()
        if not self._is_ready:
            return
        self.over = True
        was_recording = self._recorder.is_recording
        if was_recording:
            self._recorder.abandon()
        self._guarded(functools.partial(self._framework.forked, was_recording))
