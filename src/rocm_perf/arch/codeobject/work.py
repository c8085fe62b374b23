"""What each instruction of a kernel works on, by loop: for AMD by LLVM's mnemonics, for NVIDIA by those of nvdisasm
(CUDA binary utilities, instruction set reference: sm_70 to sm_120)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from rocm_perf.arch.codeobject.disassembly import Instruction
from rocm_perf.arch.codeobject.instructions import meaning
from rocm_perf.arch.codeobject.mix import is_of_stack
from rocm_perf.model.device_code import HIGH, INDEXED, LDS, InstructionCount, Work

_NEVER = 1 << 64
_MOST_LOOPS = 256  # of a kernel that are told apart; further ones count as the part of the code around them


class Kind(NamedTuple):
    """What an instruction does, with which type, and how many bytes each lane moves."""

    work: Work
    dtype: str = ""
    width_bytes: int | None = None


class Loops:
    """The loops of a kernel: from the target of a backward branch to the branch."""

    def __init__(self, instructions: Sequence[Instruction]) -> None:
        ends: dict[int, int] = {}
        for entry in instructions:
            if entry.target is not None and entry.target < entry.address and _is_branch(entry.mnemonic):
                ends[entry.target] = max(entry.address, ends.get(entry.target, 0))
        stretches = sorted(ends.items(), key=lambda pair: (pair[0], -pair[1]))
        self._stretches = stretches[:_MOST_LOOPS]

    def places(self, instructions: Sequence[Instruction]) -> Iterator[tuple[int, int]]:
        """The number of the innermost loop around each instruction and how many are, in the order of addresses."""
        waiting = list(enumerate(self._stretches, 1))[::-1]
        around: list[tuple[int, int]] = []  # numbers and ends
        soonest = _NEVER
        for entry in instructions:
            if entry.address > soonest:
                around = [loop for loop in around if loop[1] >= entry.address]
                soonest = min((end for _, end in around), default=_NEVER)
            while waiting and waiting[-1][1][0] <= entry.address:
                number, (_, end) = waiting.pop()
                around.append((number, end))
                soonest = min(soonest, end)
            yield (around[-1][0], len(around)) if around else (0, 0)

    @property
    def largest_bytes(self) -> int:
        """The machine code between the ends of the largest one."""
        return max((end - start for start, end in self._stretches), default=0)


def counted(
    instructions: Sequence[Instruction], *, is_amd: bool, scratch_bytes: int
) -> tuple[tuple[InstructionCount, ...], int]:
    """Count the instructions of a kernel by what they do and by loop; and return the bytes of its largest loop."""
    ordered = _without_padding(instructions, is_amd=is_amd)
    loops = Loops(ordered)
    counts: Counter[tuple[Kind, int, int]] = Counter()
    lines: dict[tuple[Kind, int, int], Counter[str]] = {}
    for entry, (loop, depth) in zip(ordered, loops.places(ordered), strict=True):
        kind = amd_kind(entry.text, scratch_bytes) if is_amd else nvidia_kind(entry.text)
        key = (kind, loop, depth)
        counts[key] += 1
        if entry.file and entry.line:
            lines.setdefault(key, Counter())[f"{entry.file}:{entry.line}"] += 1
    rows = tuple(
        InstructionCount(
            work=kind.work,
            dtype=kind.dtype,
            width_bytes=kind.width_bytes,
            loop=loop,
            depth=depth,
            count=count,
            source=lines[key].most_common(1)[0][0] if (key := (kind, loop, depth)) in lines else "",
        )
        for (kind, loop, depth), count in counts.items()
    )
    return rows, loops.largest_bytes


def _is_branch(mnemonic: str) -> bool:
    return "branch" in mnemonic or mnemonic.partition(".")[0] in ("BRA", "BRX", "JMP")


def _without_padding(instructions: Sequence[Instruction], *, is_amd: bool) -> Sequence[Instruction]:
    """The instructions up to the endless branch and the NOPs that end every NVIDIA kernel."""
    end = len(instructions)
    while not is_amd and end:
        last = instructions[end - 1]
        if last.mnemonic != "NOP" and not (last.mnemonic == "BRA" and last.target == last.address):
            break
        end -= 1
    return instructions[:end]


# AMD -----------------------------------------------------------------------------------------------------------------

_ENCODING = re.compile(r"_(e32|e64|dpp8?|sdwa|e64_dpp8?)$")
_TYPE = re.compile(r"_(f64|f32|f16|bf16|i8|iu8|u8|i4|iu4)(?:_|$)")
_MOVES = re.compile(
    r"v_(dual_)?(mov|movrel|cndmask|swap|accvgpr|accvgpr_read|accvgpr_write|readlane|writelane|readfirstlane|nop|perm"
    r"|permlane\w*|mov_fed|pk_mov)(_|$)"
)
_AMD_CONVERSION = re.compile(r"v_(pk_)?cvt_(pk_|scale\w*_)?")
_LONG_DIVISION = (
    "0x5f7ffffc"  # 2^64, less a little: with it LLVM scales the reciprocal of a divisor of 64 bits
)
_SHUFFLES = re.compile(r"ds_(bpermute|permute|swizzle)")
_SWAPS = re.compile(r"_(cmpswap|cmpst|cmpstore)")
_LDS_LOAD, _LDS_STORE = re.compile(r"ds_(read|load)"), re.compile(r"ds_(write|store)")
_AMD_DOT = re.compile(r"v_dot\d")


def amd_kind(text: str, scratch_bytes: int = 0) -> Kind:
    """What an AMD instruction does: `v_cvt_f64_f32_e32 v[2:3], v0` -> conversion, f64."""
    mnemonic, _, operands = text.partition(" ")
    if _LONG_DIVISION in text:
        return Kind("integer division")
    if scratch_bytes and is_of_stack(text):
        return _scratch(mnemonic, "offen" in operands.split())
    if mnemonic.startswith("scratch_"):
        return _scratch(mnemonic, _is_addressed_by_vector(mnemonic, operands))
    return _amd_kind(_ENCODING.sub("", mnemonic))


def _is_addressed_by_vector(mnemonic: str, operands: str) -> bool:
    """Whether scratch is addressed by a vector register: `scratch_load_dword DATA, ADDRESS, BASE`, stores the address
    first."""
    parts = [part.strip() for part in operands.split(",")]
    place = 0 if "_store" in mnemonic else 1
    return len(parts) > place and parts[place].startswith("v")


def _scratch(mnemonic: str, is_indexed: bool) -> Kind:
    work: Work = "scratch store" if "_store" in mnemonic else "scratch load"
    return Kind(work, INDEXED if is_indexed else "", meaning(mnemonic).bytes_per_lane)


@lru_cache(maxsize=8192)
def _amd_kind(name: str) -> Kind:
    what = meaning(name)
    width = what.bytes_per_lane
    if what.kind == "matrix":
        return Kind("matrix", what.matrix_type or "")
    if what.kind == "VALU":
        return _vector(name, what.fma_type, transcendental=what.transcendental)
    if what.kind == "LDS":
        if _SHUFFLES.match(name):
            return Kind("lane exchange")
        load_or_store = _LDS_LOAD.match(name) or _LDS_STORE.match(name)
        work: Work = (
            "LDS atomic" if not load_or_store else "LDS load" if _LDS_LOAD.match(name) else "LDS store"
        )
        return Kind("compare-and-swap", LDS, width) if _SWAPS.search(name) else Kind(work, "", width)
    if what.kind == "VMEM atomic":
        return Kind("compare-and-swap" if _SWAPS.search(name) else "atomic", "", width)
    works: dict[str, Work] = {
        "VMEM load": "load", "VMEM store": "store", "SMEM": "scalar load", "SALU": "scalar", "barrier": "barrier",
        "wait": "wait", "branch": "branch",
    }  # fmt: skip
    work = works.get(what.kind, "other")
    if work == "branch" and re.match(r"s_(swappc|call)", name):
        work = "call"
    return Kind(work, "", width if work in ("load", "store") else None)


def _vector(name: str, fma: str | None, *, transcendental: bool) -> Kind:
    dtype = match.group(1) if (match := _TYPE.search(name)) else ""
    if name.startswith("v_rcp_iflag"):  # only divisions of integers use it
        return Kind("integer division")
    if name.startswith("v_div_fixup"):  # ends each exact division
        return Kind("division", dtype)
    if _AMD_CONVERSION.match(name):
        return Kind("conversion", "f64" if "_f64" in name else dtype)
    if transcendental:
        return Kind("special", dtype)
    if fma or _AMD_DOT.match(name):
        return Kind("multiply-add", fma or dtype)
    if _MOVES.match(name):
        return Kind("move")
    if dtype in ("f64", "f32", "f16", "bf16"):
        return Kind("arithmetic", dtype)
    return Kind("integer", HIGH if name.startswith(("v_mul_hi", "v_mad_u64_u32")) else "")


# NVIDIA --------------------------------------------------------------------------------------------------------------

_PREDICATE = re.compile(r"^@!?U?P[T\d]\s+")
_BITS = re.compile(r"\.(?:U|S)?(8|16|64|128|256)(?:\.|$)")
_NV_CONVERSION = re.compile(r"(F2F|F2I|I2F|F2FP|I2I|I2IP|FRND|F2IP|I2FP)(\.|$)")
_FIXED_STACK = re.compile(r"\[U?R1(\+|-|\])")
_MATRIX = re.compile(
    r"(HMMA|IMMA|DMMA|BMMA|QMMA|OMMA|HGMMA|IGMMA|QGMMA|BGMMA|UTCHMMA|UTCIMMA|UTCQMMA|UTCOMMA|\w*GMMA|UTC\w*MMA)$"
)
_CONSTANT_MOVE = re.compile(r"(HFMA2|IMAD|FFMA)\S* \w+, -?RZ, -?RZ,")
_FROM_HALF = re.compile(r"HADD2\.F32 \w+, -RZ,")
_NV_BY_STEM: dict[str, Kind] = {
    **dict.fromkeys(("DFMA",), Kind("multiply-add", "f64")),
    **dict.fromkeys(("DADD", "DMUL", "DSETP", "DMNMX"), Kind("arithmetic", "f64")),
    **dict.fromkeys(("FFMA", "FFMA2", "FFMA32I"), Kind("multiply-add", "f32")),
    **dict.fromkeys(
        ("FADD", "FMUL", "FMNMX", "FMNMX3", "FSETP", "FSET", "FCHK", "FADD2", "FMUL2", "FSWZADD", "FADD32I", "FMUL32I"),
        Kind("arithmetic", "f32"),
    ),
    **dict.fromkeys(("HFMA2", "HFMA2_32I"), Kind("multiply-add", "f16")),
    **dict.fromkeys(
        ("HADD2", "HMUL2", "HMNMX2", "HSETP2", "HSET2", "HADD2_32I", "HMUL2_32I"), Kind("arithmetic", "f16")
    ),
    **dict.fromkeys(("IDP", "IDP4A"), Kind("multiply-add", "i8")),
    **dict.fromkeys(
        ("MOV", "MOV32I", "UMOV", "SEL", "FSEL", "USEL", "PRMT", "UPRMT", "S2R", "S2UR", "CS2R", "R2UR", "P2R", "R2P",
         "MOVM", "R2B", "B2R", "PLOP3", "UPLOP3", "UP2UR", "UR2UP", "VOTE", "VOTEU"),
        Kind("move"),
    ),
    **dict.fromkeys(("SHFL", "REDUX", "CREDUX", "MATCH", "WARPSYNC", "ELECT"), Kind("lane exchange")),
    **dict.fromkeys(("BAR", "UCGABAR_ARV", "UCGABAR_WAIT"), Kind("barrier")),
    **dict.fromkeys(
        ("DEPBAR", "LDGDEPBAR", "SYNCS", "WARPGROUP", "NANOSLEEP", "CCTL", "MEMBAR", "ERRBAR", "FENCE"), Kind("wait")
    ),
    **dict.fromkeys(
        ("BRA", "BRX", "JMP", "JMX", "BSSY", "BSYNC", "BREAK", "EXIT", "RET", "YIELD", "BMOV"), Kind("branch")
    ),
    **dict.fromkeys(("CALL",), Kind("call")),
    **dict.fromkeys(("LDC", "ULDC", "LDCU"), Kind("scalar load")),
    **dict.fromkeys(("NOP", "KILL", "BPT", "ACQBULK", "PREEXIT"), Kind("other")),
}  # fmt: skip
_NV_MEMORY: dict[str, Work] = {
    "LDG": "load", "LD": "load", "LDGSTS": "load", "UBLKCP": "load", "UTMALDG": "load", "TEX": "load", "TLD": "load",
    "TLD4": "load", "SULD": "load", "UTMASTG": "store", "STG": "store", "ST": "store", "SUST": "store",
    "LDL": "scratch load", "STL": "scratch store", "LDS": "LDS load", "LDSM": "LDS load", "LDTM": "LDS load",
    "STS": "LDS store", "STSM": "LDS store", "STTM": "LDS store", "ATOM": "atomic", "ATOMG": "atomic", "RED": "atomic",
    "REDG": "atomic", "SUATOM": "atomic", "SURED": "atomic", "ATOMS": "LDS atomic", "REDAS": "LDS atomic",
    "UTMAREDG": "atomic", "UBLKRED": "atomic",
}  # fmt: skip
_BULK = (
    "UBLKCP",
    "UTMALDG",
    "UTMASTG",
    "TEX",
    "TLD",
    "TLD4",
    "LDSM",
    "STSM",
    "LDTM",
    "STTM",
    "SULD",
    "SUST",
    "UTMAREDG",
    "UBLKRED",
)


def nvidia_kind(text: str) -> Kind:
    """What an NVIDIA instruction does: `F2F.F64.F32 R8, R5` -> conversion, f64."""
    bare = _PREDICATE.sub("", text)
    mnemonic, _, operands = bare.partition(" ")
    stem = mnemonic.partition(".")[0]
    if stem in ("LDL", "STL"):
        dtype = "" if _FIXED_STACK.search(operands) else INDEXED
        return Kind(_NV_MEMORY[stem], dtype, _nvidia_width(mnemonic))
    if _CONSTANT_MOVE.match(bare):
        return Kind("move")
    if _FROM_HALF.match(bare):
        return Kind("conversion", "f16")
    return _nvidia_kind(mnemonic)


@lru_cache(maxsize=8192)
def _nvidia_kind(mnemonic: str) -> Kind:
    stem = mnemonic.partition(".")[0]
    if work := _NV_MEMORY.get(stem):
        if ".CAS" in mnemonic:
            return Kind("compare-and-swap", LDS if work == "LDS atomic" else "", _nvidia_width(mnemonic))
        return Kind(work, "", None if stem in _BULK else _nvidia_width(mnemonic))
    if _MATRIX.match(stem):
        return Kind("matrix", _matrix_type(stem, mnemonic))
    if stem == "I2F" and ".RP" in mnemonic:  # rounds up: begins each division of integers
        return Kind("integer division")
    if stem == "MUFU":
        return Kind("special", "f64" if "64" in mnemonic else "f16" if ".F16" in mnemonic else "f32")
    if _NV_CONVERSION.match(mnemonic):
        return Kind("conversion", "f64" if "F64" in mnemonic else "")
    if stem in ("HFMA2", "HADD2", "HMUL2") and ".BF16" in mnemonic:
        return Kind(_NV_BY_STEM[stem].work, "bf16")
    if kind := _NV_BY_STEM.get(stem):
        return kind
    if stem.startswith("U") and stem[1:2].isalpha():
        return Kind("scalar")
    return Kind("integer", HIGH if stem == "IMAD" and ".HI" in mnemonic else "")


def _nvidia_width(mnemonic: str) -> int:
    """Bytes of a lane: 4 where the name states none (`LDG.E.U8`, `LDG.E.64`, `STG.E.128`)."""
    bits = _BITS.findall(mnemonic)
    return int(bits[-1]) // 8 if bits else 4


def _matrix_type(stem: str, mnemonic: str) -> str:
    if stem.startswith("D"):
        return "f64"
    if stem.startswith(("I", "UTCI")):
        return "i8"
    if stem.startswith("B"):
        return "b1"
    if stem.startswith(("Q", "O", "UTCQ", "UTCO")):
        return "f8"
    return "bf16" if ".BF16" in mnemonic else "tf32" if ".TF32" in mnemonic else "f16"
