"""What other code than the captured writes: one replay of it shows that, and it can be restored between launches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from rocm_perf.replay.differences import Piece, differing_blocks
from rocm_perf.replay.plan import Code, Options, Range, dump_path
from rocm_perf.replay.replayer import Replayer
from rocm_perf.replay.snapshot import Region


def restoring_writes_of(replayer: Replayer, codes: Sequence[Code]) -> Replayer:
    """The replayer, as if the captured kernel had changed all that the codes write: each launch then begins with the
    captured state."""
    own = replayer.files[replayer.snapshot.dispatch.code_object]
    others = [code for code in codes if code.path != own]
    if not replayer.snapshot.manifest.outputs:  # then everything is restored anyhow
        return replayer
    for code in others:
        replayer.run(Options(codes=(code,), dumps=replayer.snapshot.saved))
        regions = tuple(
            _with_writes(region, replayer) if region.saved else region for region in replayer.snapshot.regions
        )
        replayer = replace(replayer, snapshot=replace(replayer.snapshot, regions=regions))
    return replayer


def _with_writes(region: Region, replayer: Replayer) -> Region:
    written = written_blocks(region, replayer.files[region.before], dump_path(replayer.work, region))
    return msgspec.structs.replace(region, changed=united([*region.changed, *written]))


def written_blocks(region: Region, before: Path, after: Path) -> tuple[Range, ...]:
    """Where the region's contents differ between two files, in blocks of 64 KiB."""
    whole = Piece(region=region, offset=0, length=region.size, fate="left alone")
    return united((offset, len(block)) for offset, block, _ in differing_blocks(whole, before, after))


def united(ranges: Iterable[Range]) -> tuple[Range, ...]:
    """The ranges in order, with those that meet or overlap made one."""
    merged: list[Range] = []
    for offset, length in sorted(ranges):
        if merged and offset <= sum(merged[-1]):
            start, end = merged[-1][0], max(sum(merged[-1]), offset + length)
            merged[-1] = (start, end - start)
        else:
            merged.append((offset, length))
    return tuple(merged)
