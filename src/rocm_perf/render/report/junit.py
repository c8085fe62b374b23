"""Checks as JUnit XML, which CI systems show: one test case for each limit."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from rocm_perf.model.results.check import Check
from rocm_perf.text import clean


def junit(checks: Sequence[Check], suite: str) -> str:
    """The whole file. A limit that is exceeded, or that cannot be judged, is a failure."""
    failures = sum(not check.passed for check in checks)
    counts = {"name": suite, "tests": str(len(checks)), "failures": str(failures), "errors": "0"}
    root = ElementTree.Element("testsuites", counts)
    cases = ElementTree.SubElement(root, "testsuite", counts)
    for check in checks:
        _add_case(cases, check, suite)
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def _add_case(cases: ElementTree.Element, check: Check, suite: str) -> None:
    case = ElementTree.SubElement(
        cases, "testcase", {"classname": suite.replace(" ", "."), "name": clean(check.expression)}
    )
    details = "\n".join(_printable(detail) for detail in check.details)
    if check.passed:
        ElementTree.SubElement(case, "system-out").text = details
        return
    message = f"{check.outcome}: {_printable(check.details[0])}"
    failure = ElementTree.SubElement(case, "failure", {"type": check.outcome, "message": message})
    failure.text = details


def _printable(text: str) -> str:
    """The text without lone surrogates, which are not characters, and without anything a terminal would act on."""
    return clean(text).encode("utf-8", "replace").decode()
