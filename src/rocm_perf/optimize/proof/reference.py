"""What the original makes of a captured state in which something was changed: new code is judged by that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import msgspec

from rocm_perf.optimize.proof.states import State
from rocm_perf.replay.plan import Options, dump_path
from rocm_perf.replay.replayer import Replayer
from rocm_perf.replay.snapshot import Region
from rocm_perf.replay.verify import Examined, defined
from rocm_perf.replay.writes import written_blocks


def reference(state: State, files: Mapping[str, Path], folder: Path) -> Examined:
    """What new code is judged by where these files of the snapshot are others: the original's own result, which stays
    in the folder."""
    given = state.replayer
    before = replace(given, files={**given.files, **files})
    answer = before.run(Options(dumps=given.snapshot.saved))
    (before.work / "dump").rename(folder / "dump")
    regions = tuple(_written(region, before, folder) for region in given.snapshot.regions)
    after = {region.after: dump_path(folder, region) for region in regions if region.changed}
    snapshot = replace(given.snapshot, regions=regions)
    return defined(replace(before, snapshot=snapshot, files={**before.files, **after}), state.given, answer)


def _written(region: Region, replayer: Replayer, folder: Path) -> Region:
    if not region.saved:
        return region
    blocks = written_blocks(region, replayer.files[region.before], dump_path(folder, region))
    return msgspec.structs.replace(region, changed=blocks)
