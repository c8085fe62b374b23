"""What the name of a range says of a step of a serving program: its kind, its batch and its tokens.

The spellings are those that the frameworks write themselves: vLLM (v1/worker/gpu_worker.py), SGLang
(srt/utils/profile_utils.py), ATOM (model_runner.py), TensorRT-LLM (pyexecutor/py_executor.py, executeStep in C++). Any
other program names its ranges as it likes: prefill and decode are understood, with what they say in brackets.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import NamedTuple

from rocm_perf.model.step_kinds import StepKind

# Who tells a step.
_VLLM, _SGLANG, _ATOM, _TENSORRT_LLM = (
    f"annotations as {framework} writes them" for framework in ("vLLM", "SGLang", "ATOM", "TensorRT-LLM")
)
GENERIC = "ranges named prefill and decode"
_LONGEST = 500  # characters of a name that are read
_MOST_DIGITS = 12  # of a number: beyond that nobody counted requests or tokens
_FIELD = re.compile(r"(\w+)\s*=\s*(\d+)")


class StepLabel(NamedTuple):
    """What a name says; None is what it does not say."""

    kind: StepKind
    told_by: str
    requests: int | None = None
    tokens: int | None = None


Reading = Callable[[re.Match[str]], StepLabel | None]

_SGLANG_KINDS: Mapping[str, StepKind] = {
    "EXTEND": "prefill",
    "SPLIT_PREFILL": "prefill",
    "DECODE": "decode",
    "TARGET_VERIFY": "decode",  # of several tokens for each request
    "MIXED": "mixed",
    "DRAFT_EXTEND": "draft",
    "DRAFT_EXTEND_V2": "draft",
    "DRAFT_LOOP": "draft",
}


def _vllm(match: re.Match[str]) -> StepLabel:
    """execute_context_2(14721)_generation_3(3); with details execute_14724_context_2(sq14721sk...)_generation_..."""
    context, prompt, generation, made = (_count(match[name]) for name in ("c", "ct", "g", "gt"))
    return StepLabel(_kind(match["c"], match["g"]), _VLLM, _sum(context, generation), _sum(prompt, made))


def _vllm_2025(match: re.Match[str]) -> StepLabel:
    """execute_new_2_cached_32 of vLLM 0.11 to 0.13: a prompt that is read in several chunks counts as cached."""
    new, cached = _count(match["new"]), _count(match["cached"])
    return StepLabel(_kind(match["new"], match["cached"]), _VLLM, _sum(new, cached), None)


def _sglang(match: re.Match[str]) -> StepLabel:
    """step[EXTEND bs=2 toks=14721]; with details step[DECODE bs=64 g_sq=64 ...], step[MIXED bs=5 c_sq=64 g_sq=3 ...]"""
    mode, fields = match["mode"].upper(), _fields(match["rest"])
    kind = _SGLANG_KINDS.get(mode, "other")
    queries = [fields[name] for name in ("c_sq", "g_sq") if name in fields]
    tokens = fields.get("toks", sum(queries) if queries else None)
    requests = fields.get("raw_bs", fields.get("bs"))
    return StepLabel(kind, _SGLANG, requests, requests if tokens is None and mode == "DECODE" else tokens)


def _atom(match: re.Match[str]) -> StepLabel:
    """prefill[bs=2 tok=14721 ctx=[7803, 6918]], decode[bs=117/128 tok=117 p=2 d=115]: p requests read their prompt."""
    fields = _fields(match["rest"])
    kind: StepKind = "prefill" if match["kind"] == "prefill" else "mixed" if fields.get("p") else "decode"
    return StepLabel(kind, _ATOM, fields.get("bs"), fields.get("tok"))


def _atom_draft(match: re.Match[str]) -> StepLabel:
    """draft[1/3 bs=64]"""
    return StepLabel("draft", _ATOM, _fields(match["rest"]).get("bs"))


def _tensorrt(match: re.Match[str]) -> StepLabel:
    """[Executor] _forward_step 17: 2 ctx reqs, 14721 ctx tokens, 3 gen reqs; older ones lack the tokens."""
    context, prompt, generation = (_count(match[name]) for name in ("c", "ct", "g"))
    tokens = generation if context == 0 else _sum(prompt, generation)
    return StepLabel(_kind(match["c"], match["g"]), _TENSORRT_LLM, _sum(context, generation), tokens)


# Words that may stand beside prefill or decode in the name of a step: decode_step, LLM_PREFILL, BatchDecode.
_BESIDE = {
    *("step", "steps", "forward", "phase", "stage", "pass", "iteration", "iter", "batch", "loop", "token"),
    *("llm", "model", "one", "run", "eager", "graph", "chunk", "chunked"),
}
_REST = re.compile(r"(?=[\[(:#\d])|(?=\b\w+\s*=)")  # where a name ends, and what it says besides begins
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_REQUESTS = ("bs", "batch", "batch_size", "b", "num_seqs", "num_reqs", "requests", "reqs", "seqs")
_TOKENS = ("tokens", "toks", "tok", "num_tokens", "n_tokens", "computed")


def _generic(match: re.Match[str]) -> StepLabel | None:
    """decode, prefill_step, decode[bs=32 tokens=32], LLM_PREFILL[BS=4,Reused=0,Computed=512], BatchDecode num_seqs=8"""
    base = _REST.split(match[0], maxsplit=1)[0]
    words = {word.lower() for word in _WORD.findall(base)}
    kinds = words & {"prefill", "decode"}
    if not kinds or words - kinds - _BESIDE:
        return None
    kind: StepKind = "mixed" if len(kinds) == 2 else "prefill" if "prefill" in kinds else "decode"
    fields = _fields(match[0][len(base) :])
    requests = next((fields[name] for name in _REQUESTS if name in fields), None)
    tokens = next((fields[name] for name in _TOKENS if name in fields), None)
    return StepLabel(kind, GENERIC, requests, requests if tokens is None and kind == "decode" else tokens)


# The first that matches reads the name.
_DIALECTS: tuple[tuple[re.Pattern[str], Reading], ...] = (
    (
        re.compile(
            r"execute_(?:\d+_)?context_(?P<c>\d+)\((?:sq)?(?P<ct>\d+)[^)]*\)_generation_(?P<g>\d+)\((?:sq)?(?P<gt>\d+)"
        ),
        _vllm,
    ),
    (re.compile(r"execute_new_(?P<new>\d+)_cached_(?P<cached>\d+)"), _vllm_2025),
    (re.compile(r"step\[(?P<mode>[A-Za-z]\w*)(?P<rest>[^\]]*)\]"), _sglang),
    (re.compile(r"(?:eager_)?(?P<kind>prefill|decode)\[(?P<rest>.*\btok=.*)"), _atom),
    (re.compile(r"draft\[\d+/\d+(?P<rest>.*)"), _atom_draft),
    (
        re.compile(
            r".*(?:_forward_step|executeStep)\b[^:]*: (?P<c>\d+) ctx reqs, (?:(?P<ct>\d+) ctx tokens, )?"
            r"(?P<g>\d+) gen reqs"
        ),
        _tensorrt,
    ),
    (re.compile(r".*(?i:prefill|decode).*"), _generic),
)


# What every name that says something of a step holds: most recordings have many other names.
MARKS = r"(?i:prefill|decode)|^\s*(?:execute_|step\[|draft\[)|_forward_step|executeStep"


@lru_cache(maxsize=1 << 14)
def step_label(name: str) -> StepLabel | None:
    """What the name of a range says of a step; None if it is not that of a step."""
    text = name[:_LONGEST].strip()
    for pattern, read in _DIALECTS:
        if match := pattern.match(text):
            return read(match)
    return None


def _kind(prompts: str, continued: str) -> StepKind:
    """The kind of a step with so many requests that read their prompt, and so many that go on, both as digits."""
    reads, goes_on = bool(prompts.strip("0")), bool(continued.strip("0"))
    if reads and goes_on:
        return "mixed"
    return "prefill" if reads else "decode" if goes_on else "other"


def _count(digits: str | None) -> int | None:
    return int(digits) if digits and len(digits) <= _MOST_DIGITS else None


def _sum(*counts: int | None) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def _fields(text: str) -> dict[str, int]:
    """The numbers that are given as name=number, of a number such as 117/128 the first."""
    counts = ((name.lower(), _count(digits)) for name, digits in _FIELD.findall(text))
    return {name: count for name, count in counts if count is not None}
