"""Checks as CI systems read them."""

from __future__ import annotations

from xml.etree import ElementTree

from rocm_perf.model.results.check import Check
from rocm_perf.render.report.junit import junit

CHECKS = (
    Check("wall>3%", "failed", ("wall of a step: 1 ms -> 2 ms", "more")),
    Check("kernels>+10", "passed", ("kernels of a step: 6 -> 6",)),
    Check("kernel:<&>\x1b[31m.total>5%", "undecided", ("no kernel \x00matches '\udcff'",)),
)


def test_every_limit_is_a_case_and_what_is_not_kept_a_failure() -> None:
    root = ElementTree.fromstring(junit(CHECKS, "rocm-perf compare").encode())
    (suite,) = root.findall("testsuite")
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "2", "0")
    cases = suite.findall("testcase")
    assert [case.get("classname") for case in cases] == ["rocm-perf.compare"] * 3
    assert [case.get("name") for case in cases[:2]] == ["wall>3%", "kernels>+10"]
    failures = [case.find("failure") for case in cases]
    assert failures[1] is None
    assert failures[0] is not None
    assert failures[0].get("message") == "failed: wall of a step: 1 ms -> 2 ms"
    assert failures[0].text == "wall of a step: 1 ms -> 2 ms\nmore"
    assert failures[2] is not None
    assert failures[2].get("type") == "undecided"


def test_nothing_in_it_that_xml_forbids() -> None:
    text = junit(CHECKS, "rocm-perf compare")
    assert "\x1b" not in text
    assert "\x00" not in text
    text.encode()
