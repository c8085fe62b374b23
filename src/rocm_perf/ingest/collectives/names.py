"""One name for each collective, however the recorder spells it, and what the name of a kernel says of it."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

import polars as pl

from rocm_perf.model.rank_tables import UNKNOWN_COLLECTIVE

# By the letters of the spelling alone: torch, NCCL, XLA and their variants that differ in how buffers are laid out.
_SPELLINGS = {
    "all_reduce": ("allreduce", "allreducecoalesced", "allreducesparse"),
    "all_gather": (
        *("allgather", "allgatherv", "allgatherbase", "allgathercoalesced"),
        *("allgatherintotensor", "allgatherintotensorcoalesced"),
    ),
    "reduce_scatter": (
        *("reducescatter", "reducescatterbase", "reducescattercoalesced"),
        *("reducescattertensor", "reducescattertensorcoalesced"),
    ),
    "all_to_all": ("alltoall", "alltoallv", "alltoallbase", "alltoallsingle", "raggedalltoall"),
    "broadcast": ("broadcast", "bcast", "broadcastoop", "collectivebroadcast"),
    "reduce": ("reduce", "reduceoop"),
    "gather": ("gather",),
    "scatter": ("scatter",),
    "send": ("send",),
    "recv": ("recv", "receive"),
    "send_recv": ("sendrecv",),
    "permute": ("collectivepermute",),
    "barrier": ("barrier", "allreducebarrier"),
}
_NAMES = {letters: name for name, spellings in _SPELLINGS.items() for letters in spellings}
_PREFIX = re.compile(r"^(nccl:|c10d::|nccl(?=[A-Z]))")
_NOT_LETTERS = re.compile(r"[^a-z]")

# ncclDevKernel_AllReduce_Sum_f32_RING_LL, ncclDevKernel_Generic_1; ncclKernel_AllReduce_RING_LL_Sum_float until 2.18.
_KERNEL = re.compile(r"nccl(?:Sym)?(?:Dev)?Kernel(?:Debug)?_(?P<parts>\w+)")
# ncclAllReduceRingLLKernel_sum_f32: until NCCL 2.7.
_KERNEL_2_7 = re.compile(
    r"nccl(?P<op>\w+?)(?P<algorithm>Ring|Tree|CollNet)(?P<protocol>LL128|LL|)Kernel_(?P<parts>\w+)"
)
# cross_device_reduce_2stage: the all-reduce of vLLM and SGLang.
_STAGES = re.compile(r"cross_device_reduce_(?P<algorithm>[12]stage)")
# Kernels and operators of other libraries say what they do in the name itself, before any template argument:
# multimem_all_reduce_kernel of torch's symmetric memory, allreduce_fusion_kernel of TensorRT-LLM.
_WORDS = re.compile(
    r"[^<]*?(?:(?P<algorithm>multimem|one_?shot|two_?shot)\w*?)?"
    r"(?P<name>all_?reduce|all_?gather|reduce_?scatter|all_?to_?all)",
    re.IGNORECASE,
)
_OTHER = re.compile(r"\b(?:nccl|rccl|msccl)\w*Kernel", re.IGNORECASE)
_ALGORITHMS = frozenset(
    ("TREE", "RING", "COLLNET", "DIRECT", "CHAIN", "NVLS", "PAT", "LL", "LL128", "SIMPLE")
)
_DTYPES = {
    "float": "f32", "double": "f64", "half": "f16", "bfloat16": "bf16", "int8": "i8", "uint8": "u8", "int32": "i32",
    "uint32": "u32", "int64": "i64", "uint64": "u64",
}  # fmt: skip
_SHORT_DTYPE = re.compile(r"b?[fiu]\d+(e\dm\d)?")
_REDUCING = ("all_reduce", "reduce_scatter", "reduce")  # others move bytes, whatever type the kernel names
_ENDLESS = 4096  # characters: names of kernels are not longer


class KernelName(NamedTuple):
    """What the name of a kernel that communicates says. NCCL runs every protocol in the kernel that it names LL, and
    all algorithms but trees in the one that it names RING (its src/device/generate.py)."""

    name: str
    dtype: str | None = None
    algorithm: str | None = None


@lru_cache(maxsize=1 << 16)
def collective_name(spelling: str) -> str:
    """The one name of a collective, `all_reduce` for `nccl:all_reduce`, `_allreduce_base` or `ncclAllReduce`; the
    spelling itself where it is not known."""
    plain = _PREFIX.sub("", spelling.strip())
    known = _NAMES.get(_letters(plain.split(" ")[0]))
    return known or (_of_operator(spelling) if "::" in spelling else spelling)


def _letters(text: str) -> str:
    return _NOT_LETTERS.sub("", text.lower())


def _of_operator(operator: str) -> str:
    """`symm_mem::multimem_all_reduce_` -> all_reduce."""
    match = _WORDS.match(operator)
    return _NAMES[_letters(match["name"])] if match else operator


def collective_names(spellings: pl.Series) -> pl.Series:
    """The one name of each."""
    names = {spelling: collective_name(spelling) for spelling in spellings.unique() if spelling is not None}
    renamed: pl.Series = spellings.replace(names)
    return renamed


@lru_cache(maxsize=1 << 16)
def kernel_name(kernel: str) -> KernelName | None:
    """What a kernel communicates; None if it does not."""
    name = kernel[:_ENDLESS]
    if match := _KERNEL.search(name):
        return _by_parts(match["parts"].split("_"))
    if match := _KERNEL_2_7.search(name):
        algorithm = [match["algorithm"].upper(), match["protocol"]]
        return _by_parts([match["op"], *filter(None, algorithm), *match["parts"].split("_")])
    if match := _STAGES.search(name):
        return KernelName("all_reduce", None, match["algorithm"])
    if _OTHER.search(name):
        return KernelName(UNKNOWN_COLLECTIVE)
    match = _WORDS.match(name)
    return KernelName(_NAMES[_letters(match["name"])], None, match["algorithm"]) if match else None


def _by_parts(parts: list[str]) -> KernelName:
    name = _NAMES.get(parts[0].lower(), UNKNOWN_COLLECTIVE)
    types = [_DTYPES.get(part, part) for part in parts if part in _DTYPES or _SHORT_DTYPE.fullmatch(part)]
    return KernelName(
        name=name,
        dtype=types[0] if types and name in _REDUCING else None,
        algorithm="_".join(part for part in parts if part in _ALGORITHMS) or None,
    )
