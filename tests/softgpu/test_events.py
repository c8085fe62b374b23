"""Events of the software GPU keep the rules of the kernel driver: HIP waits for one event in two threads."""

from __future__ import annotations

import subprocess
from pathlib import Path
from shutil import which

import pytest

from rocm_perf.backends.native_build import NATIVE
from tests.softgpu.machine import PROGRAMS

pytestmark = pytest.mark.softgpu


def test_events_keep_the_rules_of_the_driver(tmp_path: Path) -> None:
    if which("g++") is None:
        pytest.skip("there is no g++")
    program = str(tmp_path / "events_test")
    sources = (str(PROGRAMS / "events_test.cpp"), str(NATIVE / "softgpu/device/events.cpp"))
    flags = ("-std=c++20", "-pthread", "-I", str(NATIVE))
    subprocess.run(["g++", *flags, *sources, "-o", program], check=True, timeout=120)
    done = subprocess.run([program], capture_output=True, text=True, check=True, timeout=60)
    rules = done.stdout.splitlines()
    assert len(rules) == 8
    assert all(rule.endswith(": kept") for rule in rules), rules
