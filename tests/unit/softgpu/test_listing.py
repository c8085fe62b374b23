"""Disassembly that an older LLVM could not complete."""

from __future__ import annotations

import pytest

from rocm_perf.softgpu import listing
from rocm_perf.softgpu.listing import complete_listing

_KNOWN = "\tv_mul_f16_e32 v1, v6, v1  // 000000000000: 6A020206\n"
_UNKNOWN = "\t.long 0x6b020206          // 000000000000: 6B020206\n"


class _Segment:
    address, offset, data = 0, 0, b"\x06\x02\x02\x6b"


class _Elf:
    def __init__(self, image: bytes, name: str) -> None:
        self.segments = (_Segment,)


def test_a_result_in_an_upper_half_keeps_its_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "Elf", _Elf)
    text = complete_listing(_Segment.data, lambda image: _KNOWN if image[3] == 0x6A else _UNKNOWN)
    assert text == _KNOWN.replace("6A020206", "6B020206")


def test_what_stays_unknown_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "Elf", _Elf)
    assert ".long" in complete_listing(_Segment.data, lambda image: _UNKNOWN)
    odd = "\t.long 0xffffffff // 000000000000: FFFFFFFF\n"
    assert complete_listing(_Segment.data, lambda image: odd) == odd
