"""Time limits as sbatch writes them."""

from __future__ import annotations

import re

from rocm_perf.errors import UsageError

_FORMS = re.compile(r"(?:(?P<days>\d+)-)?(?P<first>\d+)(?::(?P<second>\d+))?(?::(?P<third>\d+))?")
_NONE = ("", "infinite", "unlimited")
_FLUSH_S = 60
_FLUSH_SHARE = 0.1


def limit_s(text: str) -> int | None:
    """The seconds of a limit, whose forms are those of sbatch(1); None where there is none."""
    if text.strip().lower() in _NONE:
        return None
    form = _FORMS.fullmatch(text.strip())
    if form is None:
        raise UsageError(
            f"{text[:40]!r} is not a time limit of SLURM", "", "Write 90 (minutes), 02:00:00 or 1-12:00:00."
        )
    days, first, second, third = (int(part) if part else None for part in form.groups())
    if days is not None or third is not None:
        hours, minutes, seconds = first, second, third
    else:
        hours, minutes, seconds = 0, first, second
    return (((days or 0) * 24 + (hours or 0)) * 60 + (minutes or 0)) * 60 + (seconds or 0)


def flush_s(limit: int | None) -> int:
    """How long before its limit a job is interrupted: a minute, or a tenth of a short job."""
    return _FLUSH_S if limit is None else max(1, min(_FLUSH_S, int(limit * _FLUSH_SHARE)))
