"""What the program was about when it allocated: making a model, running it forward or backward, updating it. Told from
the names of functions on a call stack, or of the operators around; what they do not tell stays unknown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

import polars as pl

Stage = Literal["model", "forward", "backward", "optimiser", "workspace", "kv cache", "communication"]

PYTHON_FRAME = r"\.py\(\d+\): "  # file.py(12): function

_TORCH = r"(?:^|/)torch/"
# The first that a frame fits, from the innermost frame outwards. Files are those of torch 1.13 to 2.13.
_FRAMES: tuple[tuple[Stage, str], ...] = (
    ("optimiser", r"(?:/optim/|optimi[sz]er)[^(]*\.py\(\d+\): step$"),
    ("kv cache", r"\): \w*kv_?cache\w*$"),
    (
        "communication",
        rf"{_TORCH}(?:nn/parallel/distributed|distributed/(?!optim)[\w/]+)\.py\(|c10d::|ProcessGroup",
    ),
    (
        "model",
        rf"{_TORCH}nn/(?:init\.py|modules/[\w/]+\.py\(\d+\): (?:__init__|reset_parameters|_apply|convert)$)",
    ),
    ("model", r"\): (?:load_state_dict|load_weights|create_weights|from_pretrained|_load_from_state_dict)$"),
    (
        "backward",
        rf"\): backward$|{_TORCH}autograd/graph\.py\(\d+\): _engine_run_backward$|torch::autograd::Engine|"
        r"torch::autograd::generated::\w+Backward",
    ),
    ("workspace", r"^(?!.*\.py\().*[Ww]orkspace"),
    (
        "forward",
        rf"\): forward$|{_TORCH}nn/functional\.py|{_TORCH}nn/modules/module\.py\(\d+\): _\w*call_impl$",
    ),
)
_PATTERNS = tuple((stage, re.compile(pattern)) for stage, pattern in _FRAMES)
# Of operators and ranges: names that torch gives them.
_SPANS: tuple[tuple[Stage, str], ...] = (
    ("optimiser", r"^Optimizer\.step#"),
    ("backward", r"^autograd::engine::evaluate_function|Backward\d*$"),
    ("communication", r"^(?:nccl:|c10d::|record_param_comms)"),
    ("forward", r"^nn\.Module: "),
)


def stage_of(lines: Sequence[str]) -> Stage | None:
    """The stage that the innermost telling frame of a stack belongs to; None where no frame tells."""
    return next(filter(None, map(_stage_of_frame, lines)), None)


@lru_cache(maxsize=1 << 12)  # stacks share most of their frames
def _stage_of_frame(line: str) -> Stage | None:
    return next((stage for stage, pattern in _PATTERNS if pattern.search(line)), None)


def stages_of_spans(names: pl.Series) -> pl.Series:
    """The stage of each operator, Python function and range; null for those that do not tell."""
    told = {name: _stage_of_span(name) for name in names.unique()}
    stages: pl.Series = names.replace_strict(told, return_dtype=pl.String)
    return stages


def _stage_of_span(name: str) -> Stage | None:
    named = next((stage for stage, pattern in _SPANS if re.search(pattern, name)), None)
    return named or stage_of([name])
