"""What the path of a file says: which process, pass, rank and host it belongs to. Names group files; they never decide
the format."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from rocm_perf.ingest.io.source import Source

# Endings that profilers add to the prefix that all files of one process share.
_ENDING = re.compile(
    r"""(_(kernel|hip_api|hip_runtime_api|hip_compiler_api|hip|hsa_api|hsa_core_api|hsa|marker_api|marker|rccl_api|rccl
          |rocdecode_api|rocjpeg_api|hipfile_api|memory_copy|memory_allocation|scratch_memory|ompt|kfd|api|domain|output)
        (_trace|_stats)?
      |_counter_collection|_agent_info|_results|_trace|_stats|_pc_sampling_\w+
      |\.(stats|hip_stats|hsa_stats|copy_stats|sysinfo|pt\.trace|trace|xplane|\d{6}))?
      \.(csv|json|db|txt|pftrace|proto|rpd|sqlite|rptrace|pb)$""",
    re.VERBOSE,
)
# Longer numbers than these are not those of a process, a pass or a rank.
_PASS = re.compile(r"(?:pmc|pass)_(\d{1,6})")
_RANK = re.compile(r"(?:^|[^a-z])rank[-_ ]?(\d{1,6})(?!\d)", re.IGNORECASE)
_PID = re.compile(r"(?:pid[-_]?)?(\d{1,10})")


class Place(msgspec.Struct, frozen=True):
    """What the path of a file says, given how profilers lay out their files."""

    root: Path  # the folder that holds the run's passes and hosts
    set_key: tuple[str, str]  # folder and prefix: the files of one process
    pass_id: int | None
    rank: int | None
    host: str | None
    pid: int | None
    run: str | None = None  # the run that rocm-perf recorded it in


def place_of(source: Source) -> Place:
    """The place of a file in the layout `[pmc_N/][host/]pid_kind.csv` and its variants."""
    folder = source.folder
    prefix = _ENDING.sub("", source.file_name)
    pid = _PID.fullmatch(prefix)
    host = folder.name if pid and folder.name and not _PASS.fullmatch(folder.name) else None
    root = folder.parent if host else folder
    pass_match = _PASS.fullmatch(root.name)
    if pass_match:
        root = root.parent
    rank = _RANK.search(source.file_name) or _RANK.search(folder.name)
    return Place(
        root=root,
        set_key=(str(folder), prefix),
        pass_id=int(pass_match.group(1)) if pass_match else None,
        rank=int(rank.group(1)) if rank else None,
        host=host,
        pid=int(pid.group(1)) if pid else None,
    )
