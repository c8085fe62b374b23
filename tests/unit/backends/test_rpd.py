"""The tracers that write RPD databases: never chosen, but a configuration or --profiler can name them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rocm_perf.backends.base import Wish
from rocm_perf.backends.profilers import PROFILERS
from rocm_perf.collect.plan.plan import plans
from rocm_perf.collect.request.configuration import Configured, configured, read_configuration
from rocm_perf.collect.request.request import Request
from rocm_perf.errors import NotSupportedError, UsageError
from tests.unit.backends.machines import amd

MACHINE = amd(tools=("rocprofv3", "rpd", "rocm-trace-lite"))


def asked(*tools: str) -> Configured:
    """What `profile` does with a configuration that names these tools."""
    text = json.dumps({"tools": [{"name": name} for name in tools]})
    return configured(*read_configuration(text, "test"))


def request(made: Configured, *app: str) -> Request:
    return Request(command=app or ("./app", "-n"), wish=made.wish, profiler=made.profiler)


@pytest.mark.parametrize(
    ("tool", "argv", "environment"),
    [
        ("rpd", ("/opt/rocm/bin/rpd", "-o", "/out/pass_1/trace.rpd", "./app", "-n"), {}),
        (
            "rocm_trace_lite",
            ("/opt/rocm/bin/rocm-trace-lite", "trace", "-o", "/out/pass_1/trace.db", "./app", "-n"),
            {"RTL_MODE": "lite"},
        ),
        (
            "rocm_trace_lite_default",
            ("/opt/rocm/bin/rocm-trace-lite", "trace", "-o", "/out/pass_1/trace.db", "./app", "-n"),
            {"RTL_MODE": "default"},
        ),
    ],
)
def test_the_tool_of_a_configuration_is_a_command_line(
    tool: str, argv: tuple[str, ...], environment: dict[str, str]
) -> None:
    made = asked(tool)
    (plan,) = plans(request(made), MACHINE, Path("/out"))
    assert [run.command.argv for run in plan.runs] == [argv]
    assert (made.environment, made.preset, plan.could_not) == (environment, tool, ())


def test_two_profilers_at_once_are_refused() -> None:
    with pytest.raises(UsageError, match="rpd, rocprofv3_compute"):
        asked("rpd", "rocprofv3_compute")
    with pytest.raises(UsageError, match="two profilers at once"):
        asked("rpd", "rocm_trace_lite")


def test_what_they_would_break_is_refused() -> None:
    with pytest.raises(NotSupportedError, match="takes every -- out"):
        plans(request(asked("rocm_trace_lite"), "./app", "--", "x"), MACHINE, Path("/out"))
    with pytest.raises(NotSupportedError, match="a path with blanks"):
        plans(request(asked("rpd")), MACHINE, Path("/my runs"))
    assert "is not used for counters here" in PROFILERS["rpd"].refusal(Wish(counters=("SQ_WAVES",)), MACHINE)


def test_other_tools_of_configurations() -> None:
    made = asked("rocprofv3_agent_counter")
    assert (made.preset, made.counters) == ("agent_full", ("instruction_mix",))
    checked = asked("therock_check", "rocprofv3_lightweight")
    assert checked.preset == "lightweight"
    assert checked.notices == (
        "therock_check is left out, it records nothing: rocm-perf doctor says which ROCm is here",
    )
