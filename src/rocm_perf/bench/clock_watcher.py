"""The process that locks the GPUs' clocks, and unlocks them when the pipe on its stdin ends: that happens however the
process that measures ends, also by kill -9. Started as a module; standard library alone."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE)
_TOOL_S = 60.0
_ATTEMPTS = 3


def main(argv: Sequence[str]) -> int:
    """Lock, say so, wait for the end of stdin, unlock; 0 if the clocks are unlocked at the end."""
    lock, unlock = json.loads(argv[1]), json.loads(argv[2])
    for number in _ENDING:  # what ends the measurement must not end its guard
        signal.signal(number, signal.SIG_IGN)
    refusal = run_tool(lock)
    _answer(refusal)
    if not refusal:
        sys.stdin.buffer.read()
    attempts = (
        run_tool(unlock) for _ in range(_ATTEMPTS)
    )  # a refused lock may have reached some of the GPUs
    is_unlocked = any(not failure for failure in attempts)
    return 0 if is_unlocked or refusal else 1


def run_tool(argv: Sequence[str]) -> str:
    """Run the vendor's tool; why it failed, or an empty text."""
    try:
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_TOOL_S, check=False
        )
    except (OSError, subprocess.SubprocessError) as error:
        return str(error)
    if done.returncode == 0:
        return ""
    lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
    return lines[-1] if lines else f"it ended with {done.returncode}"


def _answer(refusal: str) -> None:
    with suppress(OSError):  # the process that measures may be gone
        sys.stdout.write(json.dumps(refusal) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv))
