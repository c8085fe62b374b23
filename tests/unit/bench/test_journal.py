"""Entries become samples, also those of a process that died in the middle of a line."""

from __future__ import annotations

from pathlib import Path

from rocm_perf.bench.journal import Entry, Window, read_journal, samples_in, windows_in


def test_entries_add_up() -> None:
    entries: list[Entry] = [
        {"clock": "device events", "first_call_ms": 900.0, "notes": ["one"]},
        {"warmup_ms": [3.0, 2.0]},
        {"times_ms": [1.0, 2.0], "begin_ns": 10, "end_ns": 20},
        {"times_ms": [3.0], "begin_ns": 30, "end_ns": 40, "notes": ["one", "two"]},
        {"facts": {"a": 1}},
        {"facts": {"b": 2}, "peak_memory_bytes": 5, "error": "sample 4 raised", "fault": "raised"},
    ]
    samples = samples_in(entries)
    assert samples.times_ms == (1.0, 2.0, 3.0)
    assert samples.warmup_ms == (3.0, 2.0)
    assert samples.notes == ("one", "two")
    assert samples.facts == {"a": 1, "b": 2}
    assert (samples.error, samples.fault, samples.peak_memory_bytes) == ("sample 4 raised", "raised", 5)
    assert windows_in(entries) == [Window(10, 20, 0, 2), Window(30, 40, 2, 1)]


def test_a_line_that_was_cut_short_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    path.write_text('{"times_ms": [1.0]}\n{"times_ms": [2.0')
    assert samples_in(read_journal(path)).times_ms == (1.0,)
    assert read_journal(tmp_path / "absent") == []
