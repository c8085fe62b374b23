"""The process that measures one target, started as a module with its request as the argument. It writes a journal,
each entry at once, so that a process that dies or hangs leaves what it has measured."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import IO, Any

from rocm_perf.bench.inside.measure import CallError, measure
from rocm_perf.bench.inside.profile import profile_one_call
from rocm_perf.bench.inside.target import TargetError, load_target
from rocm_perf.bench.samples import Fault
from rocm_perf.bench.settings import Settings
from rocm_perf.errors import RocmPerfError, ToolAbsentError

# What torch, HIP and CUDA say where there is no GPU to use.
_NO_GPU = ("no cuda gpus", "no hip gpus", "no nvidia driver", "not compiled with cuda", "no cuda-capable device",
           "no rocm-capable device", "hiperrornodevice", "cudaerrornodevice")  # fmt: skip

_LONGEST_ERROR = 1000  # characters; torch's own can be pages


def main(argv: Sequence[str]) -> int:
    request = json.loads(argv[1])
    with open(request["journal"], "w", encoding="utf-8") as journal:
        failure = _measured(request, journal)
        if failure is not None:
            _write(journal, failure)
    return 0 if failure is None else 1


def _measured(request: dict[str, Any], journal: IO[str]) -> dict[str, Any] | None:
    """Measure the target; the entry that says what went wrong, or None."""
    try:
        call = load_target(request["target"])
        for entry in measure(call, Settings(**request["settings"])):
            _write(journal, entry)
        if request.get("profile"):
            profile_one_call(call, request["profile"])
    except TargetError as error:
        return _failure("device" if _lacks_gpu(error) else "target", str(error))
    except CallError as error:
        cause = error.__cause__
        return _failure(
            "device" if _lacks_gpu(cause) else "raised", f"{error} raised {type(cause).__name__}: {cause}"
        )
    except ToolAbsentError as error:
        return _failure("device", str(error))
    except RocmPerfError as error:
        return _failure("unsupported", str(error))
    except (KeyboardInterrupt, SystemExit) as error:
        return _failure("raised", f"the target ended its process ({type(error).__name__} {error})")
    return None


def _failure(fault: Fault, error: str) -> dict[str, Any]:
    return {"error": " ".join(error.split())[:_LONGEST_ERROR], "fault": fault}


def _lacks_gpu(error: BaseException | None) -> bool:
    text = str(error).lower()
    return any(phrase in text for phrase in _NO_GPU)


def _write(journal: IO[str], entry: dict[str, Any]) -> None:
    journal.write(json.dumps(entry) + "\n")
    journal.flush()


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        sys.exit(main(sys.argv))
