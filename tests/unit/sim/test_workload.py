from __future__ import annotations

from pathlib import Path

import pytest
import tomli
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.errors import InputError
from rocm_perf.sim.positions import positions
from rocm_perf.sim.workload import parse_workload, read_workload
from tests.properties import examples

HEAD = """name = "w"
[kernel.gemm]
duration_us = 5.0
[graph.decode]
steps = [{launch = "gemm"}]
"""
HEAD_LINES = HEAD.count("\n")


def fault(text: str) -> str:
    with pytest.raises(InputError) as error:
        parse_workload(text, "w.toml")
    message = str(error.value)
    assert "\n" not in message
    return message


def fault_of_step(step: str) -> str:
    """The fault of a step that stands in the fifth line after the head, among steps that look like it."""
    text = f'[[thread]]\nsteps = [  # {{ "gemm" }}\n  {{launch = "gemm"}},\n  {{launch = "gemm"}},\n  {{{step}}},\n]\n'
    message = fault(HEAD + text)
    assert message.startswith(f"w.toml, line {HEAD_LINES + 5}: "), message
    return message


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ('launch = "gem"', "no kernel 'gem'; known are gemm"),
        ('launch = "gemm", bytes = 3', "'launch' has no 'bytes'"),
        ("launch = 3", "launch must be text"),
        ('lunch = "gemm"', "must have exactly one of launch, copy"),
        ('launch = "gemm", sync = "stream"', "must have exactly one of"),
        ('graph = "prefill"', "no graph 'prefill'"),
        ('copy = "H2D", bytes = -1', "bytes is negative (-1)"),
        ('copy = "H2D", bytes = 1.5', "bytes must be a whole number"),
        ('copy = "H2D", bytes = inf', "bytes must be a number"),
        (f'copy = "H2D", bytes = {10**400}', "bytes is beyond what is simulated: at most 1e+18"),
        ('copy = "H2D", bytes = 1e19', "bytes is beyond what is simulated"),
        (f'copy = "H2D", bytes = {-(10**400)}', "bytes is negative"),
        ("repeat = 3_000_000_000, steps = [{launch = 'gemm'}]", "repeat is beyond what is simulated"),
        ('copy = "H2D"', "'copy' needs 'bytes'"),
        ('copy = "D2X", bytes = 1', "one of H2D, D2H, D2D"),
        ('copy = "H2D", bytes = 1, pinned = 1', "pinned must be true or false"),
        ('cpu = "tokenize"', "'cpu' needs 'us'"),
        ('cpu = "tokenize", us = -2.0', "us is negative"),
        ("pop = true", "pops a range"),
        ('push = "step"', "not popped"),
        ("repeat = 2, steps = [{pop = true}]", "pops a range"),
        ("repeat = 0, steps = [{pop = true}]", "repeat must be at least 1"),
        ("repeat = 2, steps = []", "has no steps"),
        ('wait = "never"', "'never' is waited for but never recorded"),
        ('sync = "never"', "'never' is waited for but never recorded"),
        ('repeat = 2, steps = [{wait = "e"}, {record = "e"}]', "before it is recorded"),
    ],
)
def test_a_bad_step_is_reported_in_its_line(step: str, expected: str) -> None:
    assert expected in fault_of_step(step)


@pytest.mark.parametrize(
    ("text", "line", "expected"),
    [
        ("", 1, "no [[thread]]"),
        ("thread = 3", 1, "no [[thread]]"),
        ('colour = "red"\n', 1, "no 'colour'"),
        ("[kernel.a]\nduration_us = 0", 2, "takes no time"),
        ("\n[kernel.a]\nvgprs = 3", 2, "neither duration_us nor flops nor bytes"),
        ("[kernel.a]\nflops = {f32 = 1}\n[kernel.b]\nflops = {f12 = 1}", 4, "no 'f12'"),
        ("[kernel.a]\nduration_us = 1\ngrid = [1, 2, 3, 4]", 3, "one to three"),
        ("[kernel.a]\nduration_us = 1\ngrid = [\n 1,\n 0]", 3, "zero"),
        ("[kernel]\na = 3", 2, "must be a table"),
        ("[[thread]]\nname = 'x'", 1, "has no steps"),
        ("[[thread]]\nrank = 0.5\nsteps = [{cpu = 'a', us = 1}]", 2, "whole number"),
        ("[graph.g]\nsteps = [\n {sync = 'stream'}]", 3, "not 'sync'"),
        ("noise = 2\n[[thread]]\nsteps = [{cpu = 'a', us = 1}]", 1, "at most 1"),
        ("[[thread]]\nrank = 10_000_000_000\nsteps = [{cpu = 'a', us = 1}]", 2, "beyond what is simulated"),
        ("noise = -0.1\n[[thread]]\nsteps = [{cpu = 'a', us = 1}]", 1, "negative"),
    ],
)
def test_a_bad_table_is_reported_in_its_line(text: str, line: int, expected: str) -> None:
    message = fault(text)
    assert message.startswith(f"w.toml, line {line}: ")
    assert expected in message


@pytest.mark.parametrize("step", ['{launch = "gemm"}', '{graph = "decode"}'])
def test_loops_that_nobody_would_wait_for_are_a_fault(step: str) -> None:
    loops = f"{{repeat = 100_000, steps = [{{repeat = 100_000, steps = [{step}]}}]}}"
    assert "10,000,000,000 steps; at most" in fault(f"{HEAD}[[thread]]\nsteps = [{loops}]")


def test_a_number_of_thousands_of_digits_is_not_toml() -> None:
    assert "is not valid TOML" in fault(f"seed = {'9' * 5000}")


def test_streams_are_free_until_they_are_declared() -> None:
    body = (
        '[[thread]]\nsteps = [\n {launch = "gemm", stream = "side"},\n {launch = "gemm", stream = "sied"}]\n'
    )
    assert parse_workload(HEAD + body).threads[0].steps[1].stream == "sied"
    message = fault('streams = ["side"]\n' + HEAD + body)
    assert message == f"w.toml, line {HEAD_LINES + 5}: there is no stream 'sied'; known are default, side"


def test_events_that_wait_for_one_another_are_a_fault() -> None:
    one = '[[thread]]\nsteps = [\n {wait = "b", stream = "s"},\n {record = "a", stream = "s"}]\n'
    other = '[[thread]]\nsteps = [\n {wait = "a", stream = "t"},\n {record = "b", stream = "t"}]\n'
    message = fault(HEAD + one + other)
    assert message.startswith(f"w.toml, line {HEAD_LINES + 3}: ")
    assert "in a circle: 'a' needs 'b' needs 'a'" in message


def test_an_event_may_come_from_another_thread_of_the_rank_only() -> None:
    wait = '[[thread]]\nsteps = [\n {wait = "a"}]\n'
    record = '[[thread]]\nsteps = [{record = "a"}]\n'
    assert len(parse_workload(HEAD + wait + record).threads) == 2
    assert "never recorded on rank 0" in fault(HEAD + wait + record.replace("steps", "rank = 1\nsteps"))


def test_collectives_are_counted_through_loops() -> None:
    body = '[[thread]]\nrank = {}\nsteps = [{{repeat = {}, steps = [{{collective = "all_reduce", bytes = 8}}]}}]\n'
    assert parse_workload(body.format(0, 2) + body.format(1, 2)).ranks == (0, 1)
    message = fault(body.format(0, 3) + body.format(1, 2))
    assert "line 3: a deadlock" in message
    assert "3 times on rank 0, and 2 times on rank 1" in message


def test_what_is_no_toml_or_no_file_is_a_fault(tmp_path: Path) -> None:
    assert "line 1" in fault("name = ")
    with pytest.raises(InputError, match=r"cannot read .*absent\.toml"):
        read_workload(tmp_path / "absent.toml")


def test_steps_may_be_tables_of_their_own() -> None:
    text = HEAD + '[[thread]]\n[[thread.steps]]\nlaunch = "gemm"\n[[thread.steps]]\nlaunch = "nix"\n'
    assert fault(text).startswith(f"w.toml, line {HEAD_LINES + 5}: there is no kernel 'nix'")


def test_positions_see_through_strings_and_comments() -> None:
    text = '# [a]\na = """x\n[b] = {"""\nc.d = [ # ]\n  1, {e = "}\\"", f = \'"\'},\n]\n["g h"]\ni = [[1],\n[2]]\n'
    assert tomli.loads(text)["g h"] == {"i": [[1], [2]]}
    lines = positions(text)
    expected = {
        ("a",): 2,
        ("c", "d"): 4,
        ("c", "d", 0): 5,
        ("c", "d", 1, "f"): 5,
        ("g h",): 7,
        ("g h", "i", 1, 0): 9,
    }
    assert {path: lines[path] for path in expected} == expected


@examples(times=4)
@given(st.text(alphabet="[]{}=.,#\"'\\\n ab1-", max_size=40))
def test_positions_never_fail_on_toml(text: str) -> None:
    try:
        document = tomli.loads(text)
    except tomli.TOMLDecodeError:
        return
    lines = positions(text)
    assert all((key,) in lines for key in document if "\\" not in text)
