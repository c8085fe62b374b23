"""What fuzzing starts from: the made seeds and, where they are, the small ones among the recorded specimens."""

from __future__ import annotations

import gzip
import os
import zlib
from pathlib import Path

from rocm_perf.errors import RocmPerfError
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.part import Adapter
from rocm_perf.ingest.peek import Peek
from tests.fuzz import seeds, seeds_binary
from tests.fuzz.mutate import MAX_BYTES

SPECIMENS = Path(
    os.environ.get("ROCM_PERF_SPECIMENS", Path(__file__).resolve().parents[3] / "shared" / "data")
)
_SMALL = 64 << 10


def made() -> dict[str, bytes]:
    """One small recording of every format."""
    return {**seeds.seeds(), **seeds_binary.seeds()}


def specimens() -> dict[str, bytes]:
    """Recordings of the real tools, decompressed; none where their folder is not at hand."""
    files = sorted(path for path in SPECIMENS.rglob("*") if path.is_file() and path.stat().st_size < _SMALL)
    contents = {str(path.relative_to(SPECIMENS)): _plain(path.read_bytes()) for path in files}
    return {name: data for name, data in contents.items() if len(data) <= MAX_BYTES}


def claimed(corpus: dict[str, bytes], adapter: Adapter, file: Path) -> list[bytes]:
    """Those that the adapter takes for its own; `file` is where they are put to find out."""
    found = []
    for data in corpus.values():
        file.write_bytes(data)
        try:
            if adapter.claims(Peek(Source(file))):
                found.append(data)
        except RocmPerfError:
            continue
    return found


def _plain(data: bytes) -> bytes:
    try:
        return gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
    except (OSError, EOFError, zlib.error):
        return data
