"""The gate `precision`, seen in the code: a candidate computes with nothing narrower or more approximate than the
original. The disassembly says so for AMD GPUs, the PTX in the same file for NVIDIA's."""

from __future__ import annotations

from functools import lru_cache

from rocm_perf.arch.codeobject.disassembly import Instruction, disassemble, find_disassembler
from rocm_perf.arch.codeobject.mix import tally
from rocm_perf.errors import RocmPerfError
from rocm_perf.optimize.gates import Passage
from rocm_perf.optimize.guards.arithmetic import Arithmetic, of_amd, of_ptx
from rocm_perf.optimize.guards.image import CodeImage

_REMEMBERED = 8  # listings: the original's is asked for with every candidate


@lru_cache(maxsize=_REMEMBERED)
def instructions_of(image: CodeImage, symbol: str) -> tuple[Instruction, ...]:
    """The instructions of an AMD kernel. Raises RocmPerfError where nothing here can disassemble them."""
    bodies = disassemble(image.data, (symbol,), find_disassembler())
    return bodies.get(symbol, ())


@lru_cache(maxsize=_REMEMBERED)
def arithmetic_of_amd(image: CodeImage, symbol: str) -> Arithmetic:
    """The arithmetic of an AMD kernel, with that of the functions of its code object which are not kernels."""
    kernels = {kernel.name for kernel in image.code.kernels} - {symbol}
    bodies = disassemble(image.data, (), find_disassembler())
    reached = [entry for name, body in bodies.items() if name not in kernels for entry in body]
    return of_amd(tally(reached).names)


def arithmetic_of_ptx(text: str, symbol: str) -> Arithmetic:
    """The arithmetic of a kernel in PTX, with that of the functions which it may call."""
    return of_ptx(_opcodes(text, symbol))


def _opcodes(text: str, symbol: str) -> list[str]:
    """The opcodes of one kernel and of every function that is not a kernel."""
    opcodes: list[str] = []
    is_read = False
    for line in text.splitlines():
        words = line.split()
        if ".entry" in words or ".func" in words:
            is_read = ".func" in words or line.partition("(")[0].split()[-1] == symbol
        elif is_read and words:
            opcode = words[1] if words[0].startswith("@") and len(words) > 1 else words[0]
            if opcode[0].isalpha() and "." in opcode:
                opcodes.append(opcode.rstrip(";"))
    return opcodes


def precision_passage(before: Arithmetic | None, after: Arithmetic | None, why_not: str = "") -> Passage:
    """Whether the candidate's arithmetic is at least the original's; `why_not` says why it could not be looked at."""
    if before is None or after is None:
        return Passage("precision", True, f"the code was not looked at: {why_not}")
    lowered = sorted(after.lowered - before.lowered)
    if lowered:
        return Passage("precision", False, f"it has {', '.join(lowered)}, which the original has not")
    if before.double and not after.double:
        return Passage("precision", False, "the original computes with doubles, and it does not")
    return Passage("precision", True, "no narrower or more approximate arithmetic than before")


def amd_precision(before: CodeImage, after: CodeImage, symbol: str) -> Passage:
    """The gate for two code objects of an AMD GPU."""
    try:
        return precision_passage(arithmetic_of_amd(before, symbol), arithmetic_of_amd(after, symbol))
    except RocmPerfError as error:
        return precision_passage(None, None, str(error))
