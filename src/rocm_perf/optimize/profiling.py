"""A recording of the program, and the kernel of the source that is worth the work."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from rocm_perf.analysis.overview import examine
from rocm_perf.backends.machine import Machine
from rocm_perf.bench.ceilings.store import chosen
from rocm_perf.collect.request.presets import DEFAULT, preset
from rocm_perf.collect.request.request import Request
from rocm_perf.collect.run.session import record
from rocm_perf.errors import EmptyCaptureError, RocmPerfError, UsageError
from rocm_perf.ingest.load import load
from rocm_perf.model.document import Document
from rocm_perf.model.trace import Trace
from rocm_perf.optimize.choice import Prospect, plain_name, prospects
from rocm_perf.optimize.proof.program import ProgramError
from rocm_perf.units import format_list

Say = Callable[[str], None]
_LISTED = 5


def recorded_document(argv: tuple[str, ...], machine: Machine, timeout_s: float, say: Say) -> Document:
    """The analysis of a recording that is made now, of the program as it is."""
    with tempfile.TemporaryDirectory(prefix="rocm-perf-optimize-") as folder:
        asked = Request(
            command=argv,
            preset=DEFAULT,
            wish=preset(DEFAULT).wish,
            counters=preset(DEFAULT).counters,
            output=folder,
            timeout_s=timeout_s,
            stdout_to_stderr=True,
        )
        done = record(asked, machine, lambda _: None)
        if done.exit_code:
            is_late = done.record.state == "timed out"
            how = (
                f"it did not end within {timeout_s:g} s"
                if is_late
                else f"it ended with exit code {done.exit_code}"
            )
            raise ProgramError(
                f"{Path(argv[0]).name} fails before any change",
                how,
                "Make it run to its end first; --run gives its arguments.",
            )
        if done.trace is None:
            raise EmptyCaptureError(f"nothing was recorded of {argv[0]}")
        say("the program is recorded")
        return _analysed(done.trace, argv[0])


def given_document(path: Path) -> Document:
    """The analysis of a recording that the user has."""
    return _analysed(load(path, as_one=True), str(path))


def _analysed(trace: Trace, label: str) -> Document:
    return examine(trace, label, machines=chosen())


def best_prospect(document: Document, names: Sequence[str], wanted: str | None) -> Prospect:
    """The kernel with the most to gain among those of the source, or the one that is wanted. `names` are the source's
    own, without namespaces."""
    if wanted is not None:
        names = [name for name in names if name == wanted.rpartition("::")[2]]
    found = prospects(document, names)
    if found:
        return found[0]
    seen = [plain_name(row.kernel) for row in document.path.by_kernel]
    raise UsageError(
        f"the program never launched {wanted or 'a kernel of the source'}",
        f"it launched {format_list(seen, _LISTED) or 'none'}",
        "Choose one of the source with --kernel, or give the program its arguments with --run.",
    )


def prospect_or_none(
    make: Callable[[], Document], names: Sequence[str], wanted: str | None, say: Say
) -> Prospect | None:
    """The prospect; None, and a word why, where the program cannot be recorded here but its kernel is known."""
    try:
        document = make()
    except ProgramError:
        raise
    except RocmPerfError as error:
        if wanted is None and len(names) > 1:
            raise
        say(f"what the kernel is worth to the program is not known: {error}")
        return None
    return best_prospect(document, names, wanted)
