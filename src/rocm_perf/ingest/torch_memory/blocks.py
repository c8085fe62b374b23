"""How large the block is that the allocator gives for a request. An event says what was asked for alone; a block is
larger, because sizes are rounded up and a remainder too small to be useful stays with it. Following the allocator from
where it reserved a segment tells (CUDACachingAllocator: round_size, should_split, try_merge_blocks)."""

from __future__ import annotations

import msgspec

GRANULE = 512  # kMinBlockSize: sizes are rounded up to it
_SMALL_SEGMENT = 2 << 20  # kSmallBuffer: of the pool of small blocks; segments of large ones are larger
_SMALLEST_REST = 1 << 20  # kSmallSize: a large block is split where more than this is left


def rounded(size: int) -> int:
    """The least that the allocator gives for a request."""
    return max(-(-size // GRANULE) * GRANULE, GRANULE)


class _Block(msgspec.Struct, eq=False):
    address: int
    size: int
    is_large: bool
    is_free: bool = True
    before: _Block | None = None
    after: _Block | None = None


class Blocks:
    """The blocks of the segments that were reserved while events were recorded."""

    def __init__(self) -> None:
        self._at: dict[int, _Block] = {}

    def reserve(self, address: int, size: int) -> None:
        """A segment comes from the device."""
        self._at[address] = _Block(address, size, is_large=size > _SMALL_SEGMENT)

    def release(self, address: int) -> None:
        """A segment goes back to the device."""
        self._at.pop(address, None)

    def take(self, address: int, requested: int) -> int:
        """The size of the block that is given out at an address; of an unknown segment, the least it can be."""
        size = rounded(requested)
        block = self._at.get(address)
        if block is None or not block.is_free or block.size < size:
            return size
        least = _SMALLEST_REST + 1 if block.is_large else GRANULE
        if block.size - size >= least:
            self._split(block, size)
        block.is_free = False
        return block.size

    def give(self, address: int) -> None:
        """A block is free again, and joined with free ones beside it."""
        block = self._at.get(address)
        if block is None:
            return
        block.is_free = True
        if block.after is not None and block.after.is_free:
            self._join(block, block.after)
        if block.before is not None and block.before.is_free:
            self._join(block.before, block)

    def _split(self, block: _Block, size: int) -> None:
        rest = _Block(
            address=block.address + size,
            size=block.size - size,
            is_large=block.is_large,
            before=block,
            after=block.after,
        )
        if block.after is not None:
            block.after.before = rest
        block.size, block.after = size, rest
        self._at[rest.address] = rest

    def _join(self, first: _Block, second: _Block) -> None:
        first.size += second.size
        first.after = second.after
        if second.after is not None:
            second.after.before = first
        self._at.pop(second.address, None)
