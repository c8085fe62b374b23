"""Records with jax.profiler into XPlane files that nothing overwrites. Used inside the user's program, by injection."""

from __future__ import annotations

import glob
import os
import shutil
import tempfile
from typing import Any

SUFFIX = ".xplane.pb"
# What JAX's functions raise, over its releases; XlaRuntimeError is a RuntimeError.
JAX_ERRORS = (AttributeError, ImportError, LookupError, OSError, RuntimeError, TypeError, ValueError)


class Recorder:
    """One jax.profiler at a time, from `start` to `stop`; each becomes a file. `files` names them as torch's are."""

    def __init__(self, folder: str, files: Any) -> None:
        self.is_starting = False
        self._folder = folder
        self._files = files
        self._scratch = ""

    @property
    def is_recording(self) -> bool:
        return bool(self._scratch)

    def start(self) -> None:
        """Begin. Processes of one host would overwrite one another's files, so each has a folder of its own."""
        from jax import profiler

        os.makedirs(self._folder, exist_ok=True)
        scratch = tempfile.mkdtemp(prefix=".jax-", dir=self._folder)
        self.is_starting = True
        try:
            profiler.start_trace(scratch, **_without_python_frames())
        except BaseException:
            shutil.rmtree(scratch, ignore_errors=True)
            raise
        finally:
            self.is_starting = False
        self._scratch = scratch

    def stop(self) -> None:
        """End, and keep what was recorded."""
        from jax import profiler

        scratch, self._scratch = self._scratch, ""
        try:
            profiler.stop_trace()
            for recorded in sorted(glob.glob(os.path.join(scratch, "plugins", "profile", "*", "*" + SUFFIX))):
                path, part = self._files.claim(
                    self._folder, self._files.file_stem(os.environ, os.getpid()), SUFFIX
                )
                os.replace(recorded, part)
                os.replace(part, path)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    def abandon(self) -> None:
        """Forget it without a file, as a forked child must."""
        self._scratch = ""


def _without_python_frames() -> dict[str, Any]:
    """Every Python call would cost the program time, and the compiled programs name the lines that they come from."""
    from jax import profiler

    options = getattr(profiler, "ProfileOptions", None)
    if options is None:  # before JAX 0.5
        return {}
    chosen = options()
    chosen.python_tracer_level = 0
    return {"profiler_options": chosen}
