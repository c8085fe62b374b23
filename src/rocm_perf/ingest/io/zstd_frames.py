"""Whether a zstd stream ends where a frame ends. The decompressor does not report a truncated stream, so the frame
headers are followed (RFC 8878, section 3.1)."""

from __future__ import annotations

from collections.abc import Generator

_MAGIC = 0xFD2FB528
_SKIPPABLE_MAGIC = 0x184D2A5
_DICTIONARY_BYTES = (0, 1, 2, 4)
_CONTENT_SIZE_BYTES = (0, 2, 4, 8)
_RLE = 1
_FOREVER = 1 << 62


class FrameWatch:
    """Follows the frames of a stream that arrives in pieces of any size."""

    def __init__(self) -> None:
        self.at_end_of_frame = True
        self._steps = self._follow()
        self._asked = next(self._steps)  # bytes to collect, or to skip if negative
        self._held = b""

    def feed(self, data: bytes) -> None:
        position = 0
        while position < len(data):
            self.at_end_of_frame = False
            if self._asked < 0:
                step = min(-self._asked, len(data) - position)
                self._asked += step
            else:
                step = min(self._asked - len(self._held), len(data) - position)
                self._held += data[position : position + step]
            position += step
            self._answer()

    def _answer(self) -> None:
        while self._asked == 0 or len(self._held) == self._asked:
            answer, self._held = self._held, b""
            self._asked = self._steps.send(answer)

    def _follow(self) -> Generator[int, bytes, None]:
        while True:
            magic = int.from_bytes((yield 4), "little")
            if magic >> 4 == _SKIPPABLE_MAGIC:
                yield -int.from_bytes((yield 4), "little")
            elif magic == _MAGIC:
                yield from self._frame()
            else:
                yield -_FOREVER  # no longer zstd, which the decompressor reports itself
            self.at_end_of_frame = True

    def _frame(self) -> Generator[int, bytes, None]:
        descriptor = (yield 1)[0]
        single_segment = bool(descriptor & 0x20)
        content_size = _CONTENT_SIZE_BYTES[descriptor >> 6] or int(single_segment)
        yield -(content_size + _DICTIONARY_BYTES[descriptor & 3] + (not single_segment))
        last = False
        while not last:
            block = int.from_bytes((yield 3), "little")
            last = bool(block & 1)
            kind, size = block >> 1 & 3, block >> 3
            yield -(1 if kind == _RLE else size)
        yield -(4 if descriptor & 4 else 0)
