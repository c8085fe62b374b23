"""A Trace as a Perfetto trace (.pftrace) with the categories and annotations of rocprofv3 7: calls, operators and
ranges on threads, kernels on queues and copies on streams of their GPU, arrows from launches, sensors as counters, and
what analyses derived on tracks of their own. Slices that overlap on a track move to a second one of the same name."""

from __future__ import annotations

from pathlib import Path

from rocm_perf.errors import RocmPerfError
from rocm_perf.files import refuse_existing, write_whole
from rocm_perf.model.derived import NOTHING_DERIVED, DerivedTracks
from rocm_perf.model.trace import Trace
from rocm_perf.render.formats.perfetto_contents import contents
from rocm_perf.render.formats.perfetto_file import Encoded
from rocm_perf.render.formats.perfetto_parts import parts


def write(
    trace: Trace, path: Path, *, derived: DerivedTracks = NOTHING_DERIVED, overwrite: bool = False
) -> None:
    """Write the first pass of every process of one machine, the sensors, and what was derived."""
    encoded = Encoded(contents(trace, derived))
    write_whole(path, encoded.write, overwrite=overwrite)


def write_parts(
    trace: Trace,
    path: Path,
    most_bytes: int,
    *,
    derived: DerivedTracks = NOTHING_DERIVED,
    overwrite: bool = False,
) -> list[Path]:
    """Write the same in files of at most so many bytes, `NAME-1-of-3.pftrace` and so on where one does not suffice.
    Returns their paths; of parts that cannot all be written, none is left."""
    pieces = parts(contents(trace, derived), most_bytes)
    paths = [path] if len(pieces) == 1 else [_part(path, place, len(pieces)) for place in range(len(pieces))]
    for target in paths:
        refuse_existing(target, overwrite=overwrite)
    written: list[Path] = []
    try:
        for target, piece in zip(paths, pieces, strict=True):
            write_whole(target, Encoded(piece).write, overwrite=overwrite)
            written.append(target)
    except RocmPerfError:
        for target in written:
            target.unlink(missing_ok=True)
        raise
    return paths


def _part(path: Path, place: int, count: int) -> Path:
    digits = len(str(count))
    return path.with_name(f"{path.stem}-{place + 1:0{digits}}-of-{count}{path.suffix}")
