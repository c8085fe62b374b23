"""Do two code objects leave the same memory? What the first one leaves takes the place of the application's result, and
the second is verified against it, with the controls of every verification."""

from __future__ import annotations

from dataclasses import replace

import msgspec

from rocm_perf.model.results.replay import Verification
from rocm_perf.replay.plan import Code, Options, dump_path
from rocm_perf.replay.replayer import Replayer
from rocm_perf.replay.snapshot import Region
from rocm_perf.replay.verify import verify
from rocm_perf.replay.writes import written_blocks


def compare_results(replayer: Replayer, base: Code, new: Code) -> Verification:
    """Whether `new` leaves the memory as `base` does."""
    return verify(with_result_of(replayer, base), new=new)


def with_result_of(replayer: Replayer, base: Code) -> Replayer:
    """A replayer of the same launch whose own code, and whose state after the kernel, are those of this code."""
    snapshot = replayer.snapshot
    replayer.run(Options(codes=(base,), dumps=snapshot.saved))
    kept = replayer.keep_dumps("base")
    files = dict(replayer.files)
    files[snapshot.dispatch.code_object] = base.path

    def with_writes(region: Region) -> Region:
        if not region.saved:
            return region
        after = dump_path(kept, region)
        files[region.after] = after
        return msgspec.structs.replace(region, changed=written_blocks(region, files[region.before], after))

    regions = tuple(map(with_writes, snapshot.regions))
    manifest = msgspec.structs.replace(snapshot.manifest, outputs=True)
    seen = replace(snapshot, regions=regions, manifest=manifest)
    return replace(replayer, snapshot=seen, files=files, oracle=f"what {base.label} leaves")
