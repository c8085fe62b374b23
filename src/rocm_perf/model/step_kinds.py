"""The kinds of step of a program that serves a model."""

from __future__ import annotations

from typing import Literal

StepKind = Literal[
    "prefill",  # prompts are read; SGLang calls it extend
    "decode",  # one token is made for each request, or a few are verified
    "mixed",  # both at once: chunked prefill
    "draft",  # the small model of speculative decoding
    "other",  # an empty batch, or a mode that is none of these
]
STEP_KINDS: tuple[StepKind, ...] = ("prefill", "decode", "mixed", "draft", "other")


def step_of_kind(kind: StepKind) -> str:
    """How one such step is called after "a" or "no"."""
    return "step of another kind" if kind == "other" else f"{kind} step"
