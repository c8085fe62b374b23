"""How a verb reads recordings: with progress on stderr, with the other cores of the machine, and so that a signal ends
it whatever a file does to its reader."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from rocm_perf.cli.progress import reading_progress

# Python hears of a signal only between two of its instructions, and a reader may be inside a library for ever. What
# Python does at once, even then, is to write the signal's number into a pipe. This script waits for that; a process
# that has not closed the pipe a few seconds later is killed.
_WATCHER = """
command -v timeout >/dev/null || exit
trap '' INT TERM HUP
head -c 1 >/dev/null
timeout "$2" cat >/dev/null && exit
echo "rocm-perf: killed, because it did not end within $2 s of a signal" >&2
kill -KILL "$1"
"""
_GRACE_S = 5  # for removing temporary files
_watched = threading.Lock()


@contextmanager
def reading() -> Iterator[None]:
    """Read inside of this."""
    from rocm_perf.ingest.helpers import reading_helpers

    with ends_on_signals(), reading_progress(), reading_helpers():
        yield


@contextmanager
def ends_on_signals() -> Iterator[None]:
    """Have this process killed if it has not left the context a few seconds after SIGINT, SIGTERM or SIGHUP; one that
    is ignored, as by nohup, stays ignored."""
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or not _watched.acquire(blocking=False):
        yield
        return
    try:
        with _watcher():
            yield
    finally:
        _watched.release()


@contextmanager
def _watcher() -> Iterator[None]:
    import subprocess  # it takes a while

    heard, said = os.pipe()
    os.set_blocking(said, False)
    command = ["sh", "-c", _WATCHER, "sh", str(os.getpid()), str(_GRACE_S)]
    watcher = None
    with suppress(OSError):  # an image may have no shell
        watcher = subprocess.Popen(command, stdin=heard, stdout=subprocess.DEVNULL)
    os.close(heard)
    before = signal.set_wakeup_fd(said, warn_on_full_buffer=False)
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        if watcher is not None:
            watcher.kill()
            watcher.wait()
        os.close(said)
