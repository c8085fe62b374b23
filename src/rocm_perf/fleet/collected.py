"""A launch that has ended, with what its ranks left; and the exit code that says so."""

from __future__ import annotations

from msgspec.structs import replace

from rocm_perf.errors import EmptyCaptureError, NotSupportedError
from rocm_perf.fleet.launch_record import LaunchRecord
from rocm_perf.fleet.launcher import Launched
from rocm_perf.fleet.ranks import missing_ranks, rank_rows


def collected(record: LaunchRecord, launched: Launched) -> LaunchRecord:
    """The record of a launch that has ended."""
    rows = rank_rows(record.job.folder)
    return replace(record, launched=launched, ranks=rows, missing=missing_ranks(rows, record.job.ranks))


def exit_code_of(record: LaunchRecord) -> int:
    """The program's own code where it failed; 5 if no rank recorded anything, 4 if some lack what was asked."""
    launched, rows = record.launched, record.ranks
    failed = next((row.exit_code for row in rows if row.state == "failed" and row.exit_code), 0)
    if code := (launched.exit_code if launched else 0) or failed:
        return code
    if not any(row.recorded for row in rows):
        return EmptyCaptureError.exit_code
    short = record.missing or any(row.could_not or row.state == "running" for row in rows)
    return NotSupportedError.exit_code if short else 0
