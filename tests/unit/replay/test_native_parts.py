"""The native parts compile here, where the vendor's headers are, and let nothing of their C++ library be seen."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from rocm_perf.errors import ToolAbsentError
from rocm_perf.model.vendor import Vendor
from rocm_perf.replay import native

pytestmark = pytest.mark.native

ENTRIES = {"AMD": {"OnLoad", "OnUnload", "rocprofiler_configure"}, "NVIDIA": {"InitializeInjection"}}


def built(vendor: Vendor, task: native.Task) -> Path:
    """Kept where a user's are, so that other tests find it there."""
    try:
        return native.part(vendor, task)
    except ToolAbsentError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("vendor", ["AMD", "NVIDIA"])
def test_a_program_sees_the_entries_of_a_library_alone(vendor: Vendor, tmp_path: Path) -> None:
    """A visible std:: symbol may be taken for that of the program's own C++ library, or the other way round."""
    if not shutil.which("nm"):
        pytest.skip("nm is not here")
    library = built(vendor, "capture")
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True
    )
    seen = {line.split()[-1].partition("@")[0] for line in listed.stdout.splitlines()}
    assert seen == ENTRIES[vendor]


@pytest.mark.parametrize("vendor", ["AMD", "NVIDIA"])
def test_a_runner_without_a_device_says_so(vendor: Vendor, tmp_path: Path) -> None:
    plan = tmp_path / "plan"
    plan.write_text("version 1\nmode reserve\nreserve 0x7e0000000000 0x200000\n")
    runner = built(vendor, "replay")
    done = subprocess.run([runner, plan], capture_output=True, text=True, timeout=60, check=False)
    if done.returncode == 0:
        pytest.skip("there is a GPU here")
    assert done.returncode == 11
    assert '"state": "failed"' in done.stdout


@pytest.mark.parametrize("vendor", ["AMD", "NVIDIA"])
@pytest.mark.parametrize("text", ["version 2\n", "version 1\nfly 3\n", "version 1\nreserve 12 x\n"])
def test_a_runner_refuses_a_plan_that_it_does_not_understand(
    vendor: Vendor, text: str, tmp_path: Path
) -> None:
    plan = tmp_path / "plan"
    plan.write_text(text)
    runner = built(vendor, "replay")
    assert subprocess.run([runner, plan], capture_output=True, timeout=60, check=False).returncode == 10
