"""What the user asks `optimize` for."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from rocm_perf.replay.tolerance import Tolerance


@dataclass(frozen=True)
class Checked:
    """What a candidate's results are held against, beyond the captured memory."""

    tolerances: tuple[Tolerance, ...] = ()  # none: bit for bit, where the original is deterministic
    files: tuple[Path, ...] = ()  # that the program writes
    flops: float = 0.0  # that any right kernel needs for the largest captured launch; 0: nobody said


@dataclass(frozen=True)
class Request:
    """One kernel to be made faster."""

    target: Path  # a source file, or a program whose source and build command can be found
    source: Path | None = None
    build: str | None = None
    run: tuple[str, ...] = ()  # none: the program itself, without arguments
    kernel: str | None = None  # none: the one with the most to gain
    arch: str | None = None
    profile: Path | None = None  # none: one is made now
    checked: Checked = field(default_factory=Checked)
    seconds: float = 600.0
    attempts: int = 60
    least_gain: float = 0.01
    allow_fast_math: bool = False
    proposer: str | None = None
    patches: tuple[Path, ...] = ()
    only_proposed: bool = False  # no transforms of ours
    static: bool = False
    snapshots: tuple[Path, ...] = ()  # on which candidates are verified by emulation, with `static`
    folder: Path | None = None  # of the ledger
    fresh: bool = False
    timeout_s: float = 120.0  # of a run of the program, of a build, and of a replay

    def kept_in(self, source: Path, kernel: str) -> Path:
        """Where the ledger and the original are kept."""
        if self.folder is not None:
            return self.folder
        return Path(".rocm-perf", "optimize", f"{source.stem}-{kernel}")
