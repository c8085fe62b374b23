"""How a verb reads recordings: with progress on stderr, and with the other cores of the machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rocm_perf.cli.progress import reading_progress


@contextmanager
def reading() -> Iterator[None]:
    """Read inside of this."""
    from rocm_perf.ingest.helpers import reading_helpers

    with reading_progress(), reading_helpers():
        yield
