"""The disassembly that the executor reads, complete also where the disassembler is older than the code.

LLVM before 20 prints `.long` for instructions of gfx11 on upper halves of registers. They are disassembled with the
bits that say so cleared; the executor takes these bits from the original word, which is put back into the line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from rocm_perf.arch.codeobject.elf import Elf

_UNKNOWN = re.compile(
    r"^\t\.long 0x[0-9a-f]+\s*// (?P<address>[0-9A-F]+): (?P<word>[0-9A-F]{8})", re.MULTILINE
)
_LINE = re.compile(
    r"^\t(?P<text>\S.*// (?P<address>[0-9A-F]+): )(?P<word>[0-9A-F]{8})(?P<rest>.*)$", re.MULTILINE
)
_LONG, _IS_LONG, _LONG_HALVES = 0xFC000000, 0xD4000000, 0x7800  # VOP3: op_sel
_SHORT, _SHORT_RESULT = 0x80000000, 0x01000000  # VOP1, VOP2: clear; the upper half of the result
# v_mov_b16_e64 is unknown to it in any form: it is disassembled as the move of 32 bits.
_LONG_OPCODE, _MOVE_16, _MOVE_32 = 0xFFFF0000, 0xD59C0000, 0xD5810000
_MOVE_NAMES = ("v_mov_b32_e64", "v_mov_b16_e64")
_MOST_ROUNDS = 64

Disassembler = Callable[[bytes], str]


def complete_listing(image: bytes, disassemble: Disassembler) -> str:
    """What the disassembler prints of a code object, with the lines that it could not print."""
    patched: dict[int, int] = {}  # the words that were changed, by address
    text = disassemble(image)
    for _ in range(_MOST_ROUNDS):  # a literal behind an unknown word is only seen when that word is known
        fresh = {address: word for address, word in _unknown(text).items() if address not in patched}
        if not fresh:
            break
        patched |= fresh
        text = disassemble(_with_printable_words(image, patched))
    return _LINE.sub(lambda line: _restored(line, patched), text) if patched else text


def _halves(word: int) -> int:
    """The bits of an encoding's first word that name upper halves."""
    if word & _LONG == _IS_LONG:
        return word & _LONG_HALVES
    return 0 if word & _SHORT else word & _SHORT_RESULT


def _unknown(text: str) -> dict[int, int]:
    words = {int(match["address"], 16): int(match["word"], 16) for match in _UNKNOWN.finditer(text)}
    return {address: word for address, word in words.items() if _printable(word) != word}


def _printable(word: int) -> int:
    """The first word of an encoding that an older disassembler knows in the place of this."""
    known = word & ~_halves(word)
    return known ^ _MOVE_16 ^ _MOVE_32 if known & _LONG_OPCODE == _MOVE_16 else known


def _with_printable_words(image: bytes, words: Mapping[int, int]) -> bytes:
    changed = bytearray(image)
    segments = Elf(image, "the code object").segments
    for address, word in words.items():
        for segment in segments:
            if 0 <= address - segment.address <= len(segment.data) - 4:
                offset = segment.offset + address - segment.address
                changed[offset : offset + 4] = _printable(word).to_bytes(4, "little")
    return bytes(changed)


def _restored(line: re.Match[str], patched: Mapping[int, int]) -> str:
    word = patched.get(int(line["address"], 16))
    if word is None:
        return line[0]
    text = line["text"].replace(*_MOVE_NAMES) if word & _LONG_OPCODE == _MOVE_16 else line["text"]
    return f"\t{text}{word:08X}{line['rest']}"
