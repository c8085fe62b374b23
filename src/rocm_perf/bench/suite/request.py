"""What a suite is asked to measure, and where its variants are."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rocm_perf.bench.suite.correctness import Shape
from rocm_perf.errors import InputError, UsageError

DTYPES = ("f16", "bf16", "f8", "i8", "xf32", "f32", "f64")
SHAPES = "1024,4096,8192,32x8192x8192"
_VARIANTS = Path(__file__).with_name("variants")
_MOST = 1 << 17  # a side of more does not fit any GPU


@dataclass(frozen=True, kw_only=True)
class SuiteRequest:
    """Which variants, types and shapes, and on which GPU."""

    files: tuple[Path, ...]
    shapes: tuple[Shape, ...]
    dtypes: tuple[str, ...] = DTYPES
    device: int = 0


def parse_shapes(text: str) -> tuple[Shape, ...]:
    """The shapes of `4096,32x8192x8192`: one number for square matrices, or m, n and k."""
    return tuple(dict.fromkeys(_shape(part) for part in text.split(",")))


def parse_dtypes(text: str) -> tuple[str, ...]:
    """The types of `f16,bf16`."""
    names = tuple(dict.fromkeys(part.strip() for part in text.split(",")))
    unknown = [name for name in names if name not in DTYPES]
    if unknown:
        raise UsageError(f"unknown type {unknown[0]!r}", next_step=f"Choose from {', '.join(DTYPES)}.")
    return names


def variant_files(
    folders: Sequence[Path] = (), environment: Mapping[str, str] | None = None
) -> tuple[Path, ...]:
    """The packaged variants, those in the user's own folder, and those in the folders that are named."""
    own = _user_folder(os.environ if environment is None else environment)
    for folder in folders:
        if not folder.is_dir():
            raise InputError(f"there is no folder {folder}", next_step="Name a folder with Python files.")
    places = (_VARIANTS, *([own] if own.is_dir() else []), *folders)
    files = (file for folder in places for file in sorted(folder.glob("*.py")))
    return tuple(file for file in files if not file.name.startswith("_"))


def _user_folder(environment: Mapping[str, str]) -> Path:
    config = environment.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(config) / "rocm-perf" / "suite" / "wmma"


def _shape(text: str) -> Shape:
    sides = text.strip().lower().split("x")
    numbers = [int(side) for side in sides if side.isascii() and side.isdigit() and 0 < int(side) <= _MOST]
    if len(numbers) != len(sides) or len(numbers) not in (1, 3):
        raise UsageError(f"{text!r} is not a shape", next_step="Write 4096, or MxNxK as in 32x8192x8192.")
    m, n, k = numbers * 3 if len(numbers) == 1 else numbers
    return m, n, k
