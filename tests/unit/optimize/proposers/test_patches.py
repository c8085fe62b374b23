"""Patches become candidates, or one line that says why not."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocm_perf.errors import InputError
from rocm_perf.optimize.proposers.exchange import Patch
from rocm_perf.optimize.proposers.files import patch_files
from rocm_perf.optimize.proposers.patches import outcomes
from rocm_perf.optimize.proposers.question import Proposals
from tests.unit.optimize.proposers.kernels import DIFF, KERNEL, SOURCE, changed, question

FASTER = KERNEL.replace("x[i] *= 2", "x[i] += x[i]")


def proposed(*patches: Patch) -> Proposals:
    return Proposals.of(outcomes(patches, question(), "someone"))


def test_a_diff_and_a_new_kernel_come_to_the_same() -> None:
    both = proposed(Patch(name="as diff", diff=DIFF), Patch(kernel=FASTER + "\n"))
    assert [(one.name, one.by) for one in both.candidates] == [("as diff", "someone"), ("patch 2", "someone")]
    expected = SOURCE.replace(KERNEL, FASTER)
    assert [changed(one) for one in both.candidates] == [expected, expected]
    assert not both.refused


def test_a_proposal_never_says_which_gates_it_has_passed() -> None:
    (candidate,) = proposed(Patch(diff=DIFF)).candidates
    assert not candidate.allows
    assert not candidate.flags
    assert candidate.geometry is None


def test_a_new_kernel_has_the_line_ends_of_its_source() -> None:
    windows = SOURCE.replace("\n", "\r\n")
    asked = question(windows, KERNEL.replace("\n", "\r\n"))
    (candidate,) = Proposals.of(outcomes((Patch(kernel=FASTER),), asked, "someone")).candidates
    assert changed(candidate, windows) == windows.replace("x[i] *= 2", "x[i] += x[i]")


@pytest.mark.parametrize(
    ("patch", "reason"),
    [
        (Patch(), "it must have one of `diff` and `kernel`"),
        (Patch(diff=DIFF, kernel=KERNEL), "it must have one of `diff` and `kernel`"),
        (Patch(kernel=KERNEL), "it changes nothing"),
        (Patch(diff=DIFF.replace("*= 2", "*= 3")), "hunk 1 does not fit: the source has no line "),
        (Patch(kernel="x" * 300_000), "it is larger than 256 KiB"),
    ],
)
def test_what_cannot_be_tried_says_why(patch: Patch, reason: str) -> None:
    (refused,) = proposed(patch).refused
    assert refused.name == "patch 1"
    assert refused.reason.startswith(reason)


def test_of_very_many_patches_the_first_are_looked_at() -> None:
    many = proposed(*(Patch(kernel=f"{FASTER} // {number}") for number in range(40)))
    assert len(many.candidates) == 16
    assert [one.reason for one in many.refused] == ["40 patches at once: only the first 16 are looked at"]


def test_a_folder_of_patches(tmp_path: Path) -> None:
    (tmp_path / "a.patch").write_text(DIFF)
    (tmp_path / "b.cu").write_text(FASTER)
    (tmp_path / "c.json").write_text('{"patches": [{"name": "from JSON", "kernel": "int x;"}]}')
    (tmp_path / "d.json").write_text("[]")
    (tmp_path / "e.json").write_bytes(b'{"patches": [{"name": "\xff"}]}')
    (tmp_path / "notes.md").write_text("not a patch")
    found = patch_files(tmp_path)(question())
    assert [(one.name, one.by) for one in found.candidates] == [
        ("a", "a.patch"), ("b", "b.cu"), ("from JSON", "c.json")
    ]  # fmt: skip
    assert [one.name for one in found.refused] == ["d.json", "e.json"]
    assert "not an answer of a proposer: Expected `object`" in found.refused[0].reason


def test_a_folder_without_patches(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no patches: no file ends in one of"):
        patch_files(tmp_path)
    with pytest.raises(InputError, match="No such file"):
        patch_files(tmp_path / "absent.patch")
