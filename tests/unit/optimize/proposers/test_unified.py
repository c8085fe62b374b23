"""Unified diffs become edits: where they belong is decided by the lines that they quote."""

from __future__ import annotations

import difflib
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.optimize.candidate import applied
from rocm_perf.optimize.proposers.unified import PatchError, diff_edits

SOURCE = "".join(f"line {number}\n" for number in range(1, 13))


def patched(diff: str, source: str = SOURCE) -> str:
    data = source.encode()
    return applied(data, diff_edits(diff, data)).decode()


def unified(old: str, new: str) -> str:
    """As GNU diff writes it, with its mark at a last line without a newline."""
    lines = difflib.unified_diff(old.splitlines(True), new.splitlines(True), "a/k.cu", "b/k.cu")
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def test_lines_are_found_where_the_header_is_wrong() -> None:
    diff = "--- a/k.cu\n+++ b/k.cu\n@@ -2,3 +2,3 @@ somewhere\n line 6\n-line 7\n+seven\n line 8\n"
    assert patched(diff) == SOURCE.replace("line 7", "seven")


def test_only_changed_lines_are_edits() -> None:
    """What stays is not even decoded, so that foreign bytes survive."""
    data = b"// caf\xe9\nold\n"
    edits = diff_edits("@@ -1,2 +1,2 @@\n // caf\ufffd\n-old\n+new\n", data)
    assert applied(data, edits) == b"// caf\xe9\nnew\n"
    assert [(edit.start, edit.end) for edit in edits] == [(8, 12)]


def test_wrong_context_at_the_ends_is_forgiven_as_patch_does() -> None:
    diff = "@@ -5,5 +5,5 @@\n nonsense\n line 6\n-line 7\n+seven\n line 8\n more nonsense\n"
    assert patched(diff) == SOURCE.replace("line 7", "seven")


def test_a_line_that_goes_is_never_guessed() -> None:
    with pytest.raises(PatchError, match="hunk 1 does not fit: the source has no line 'line seven'"):
        patched("@@ -6,3 +6,3 @@\n line 6\n-line seven\n+seven\n line 8\n")


def test_counts_and_blanks_of_handwritten_diffs() -> None:
    source = "a\n\nb\nc\n"
    assert patched("@@ -1,9 +1,9 @@\n a\n\n-b\n+B\n c\n", source) == "a\n\nB\nc\n"  # counts too large
    assert patched("@@ -1,1 +1,1 @@\n a\n\n-b\n+B\n", source) == "a\n\nB\nc\n"  # and too small
    assert patched("@@ -3,1 +3,1 @@\n-b\n+B\n\n\n", source) == "a\n\nB\nc\n"  # blank lines behind the diff
    assert patched("@@ -3 +3 @@\n-  b \n+B\n", "a\n\n\tb\nc\n") == "a\n\nB\nc\n"  # indented otherwise


def test_what_git_writes_around_a_diff() -> None:
    mail = "From: someone\nSubject: [PATCH] seven\n\n---\n k.cu | 2 +-\n\ndiff --git a/k.cu b/k.cu\nindex 1..2 100644\n"
    diff = "--- a/k.cu\n+++ b/k.cu\n@@ -6,3 +6,3 @@\n line 6\n-line 7\n+seven\n line 8\n-- \n2.39.5\n\n"
    assert patched(mail + diff) == SOURCE.replace("line 7", "seven")


def test_without_line_numbers_a_place_must_be_the_only_one() -> None:
    assert patched("@@ ... @@\n-line 7\n+seven\n") == SOURCE.replace("line 7", "seven")
    with pytest.raises(PatchError, match="fits in 2 places"):
        patched("@@ @@\n-x\n+y\n", "x\na\nx\n")


def test_of_two_places_the_nearer_one_is_meant() -> None:
    assert patched("@@ -3 +3 @@\n-x\n+y\n", "x\na\nx\n") == "x\na\ny\n"


def test_line_ends_are_those_of_the_source() -> None:
    windows = "a\r\nb\r\nc\r\n"
    diff = "@@ -1,3 +1,4 @@\n a\n-b\n+B\n+B2\n c\n"
    assert patched(diff, windows) == "a\r\nB\r\nB2\r\nc\r\n"
    assert patched(diff.replace("\n", "\r\n"), "a\nb\nc\n") == "a\nB\nB2\nc\n"


def test_a_last_line_without_a_newline() -> None:
    mark = "\\ No newline at end of file\n"
    assert patched(f"@@ -2 +2 @@\n-b\n{mark}+B\n{mark}", "a\nb") == "a\nB"
    assert patched(f"@@ -2 +2 @@\n-b\n{mark}+b\n", "a\nb") == "a\nb\n"
    assert patched("@@ -2 +2,2 @@\n b\n+c\n", "a\nb") == "a\nb\nc\n"  # without the mark: still two lines


def test_lines_inserted_without_any_context() -> None:
    assert patched("@@ -2,0 +3,1 @@\n+new\n", "a\nb\nc\n") == "a\nb\nnew\nc\n"
    assert patched("@@ -0,0 +1,1 @@\n+new\n", "") == "new\n"


@pytest.mark.parametrize(
    ("diff", "reason"),
    [
        ("", "no hunk"),
        ("@@ -1 +1 @@\n line 1\n", "hunk 1 changes nothing"),
        (f"@@ -{'9' * 5000} +1 @@\n-line 1\n+line 2\n-line 3\n", "hunk 1 does not fit"),
        ("I would unroll this loop.", "no hunk"),
        ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-line 1\n+1\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n", "more than one file"),
        ("@@ -1 +1 @@\n-line 1\n+1\nand so on\n", "starts with neither"),
        ("@@ -5 +5 @@\n-line 5\n+5\n@@ -2 +2 @@\n-line 2\n+2\n", "hunk 2 does not fit"),
    ],
)  # fmt: skip
def test_what_is_not_a_diff_of_the_source(diff: str, reason: str) -> None:
    with pytest.raises(PatchError, match=reason):
        patched(diff)


_TEXTS = st.tuples(st.lists(st.sampled_from(["a", "b", "", "  c", "}"])), st.booleans()).map(
    lambda parts: "\n".join(parts[0]) + "\n" * (parts[1] and bool(parts[0]))
)


@given(old=_TEXTS, new=_TEXTS)
def test_diffs_of_any_two_texts_lead_from_one_to_the_other(old: str, new: str) -> None:
    if old != new:
        assert patched(unified(old, new), old) == new


_ODD_LINES = st.sampled_from(
    ["@@ -1 +1 @@", "@@ -0,0 +9 @@", "@@", "-a", "+b", " c", "", "\\ No newline", "--- a", "+++ b"]
)


@given(diff=st.lists(_ODD_LINES).map("\n".join), source=_TEXTS)
def test_whatever_a_diff_says_it_applies_or_is_refused(diff: str, source: str) -> None:
    with suppress(PatchError):
        patched(diff, source)
