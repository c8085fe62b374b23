"""What profilers print becomes what it means."""

from __future__ import annotations

import re

import pytest

from rocm_perf.collect.run.messages import known_in, last_words, messages

AQLPROFILE = "aqlprofile API table load failed: HSA_STATUS_ERROR: A generic error has occurred."


def test_every_message_is_whole_and_named_once() -> None:
    all_ = messages()
    assert len({message.name for message in all_}) == len(all_)
    for message in all_:
        re.compile(message.text)
        assert message.meaning
        assert bool(message.stops) == (message.whose == "machine"), message.name


@pytest.mark.parametrize(
    ("printed", "name"),
    [
        (f"noise\n{AQLPROFILE}\nAborted", "no-counter-library"),
        ("Unable to open /dev/kfd read-write: Permission denied", "kfd-permission"),
        ("Unable to open /dev/kfd: Operation not permitted", "kfd-permission"),
        ("open /dev/dri/renderD128 failed: Permission denied", "kfd-permission"),
        ("ROCk module is NOT loaded, possibly no GPU devices", "kfd-absent"),
        ("write failed: No space left on device", "disk-full"),
        ("F20261115 16:22:44.000000 1 tool.cpp:1148] Could not create counter config for [A]: "
         "ROCPROFILER_STATUS_ERROR_EXCEEDS_HW_LIMIT :: Request exceeds the capabilities", "too-many-counters"),
        ("Profiling error found: 'input metric 'X' not found'", "unknown-counter"),
        ("F2026 x] Given PC sampling configuration is not supported on any of the agents", "sampling-not-supported"),
        ("[rocprofv3] Fatal error: PC sampling unavailable. The feature is implicitly disabled.", "sampling-disabled"),
        ("[rocprofv3] Fatal error: rocprof-trace-decoder library path not found in ['/opt']", "no-trace-decoder"),
        ("[rocprofv3] Fatal error: No application provided", "no-application"),
        ("[rocprofv3] Fatal error: something new", "profiler-refused"),
        ("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission", "nvidia-permission"),
        ("Memory access fault by GPU node-2 (Agent handle: 0x5) on address 0x7f.", "gpu-fault"),
        ("HSA_STATUS_ERROR_OUT_OF_RESOURCES: not enough", "out-of-resources"),
    ],
)  # fmt: skip
def test_the_texts_are_known(printed: str, name: str) -> None:
    assert known_in(printed, "machine", "profiler", "application")[0].name == name


def test_notes_explain_no_failure() -> None:
    warning = "W20261115 16:22:44.000000 1 tool.cpp:1120] Unable to find all counters for agent 2. Found: []"
    assert not known_in(warning, "machine", "profiler", "application")
    assert [note.name for note in known_in(warning, "note")] == ["counters-not-found"]


def test_a_command_that_failed_below_the_profiler_is_no_refusal() -> None:
    printed = "[rocprofv3] Fatal error: Command '['./app']' returned non-zero exit status 7."
    assert not known_in(printed, "machine", "profiler")


def test_last_words_are_an_error_not_a_log() -> None:
    opened = "E20261115 16:22:44.000000 15205 output_stream.cpp:111] Opened result file: /x"
    fatal = "F20261115 16:22:44.000000 15205 tool.cpp:1] boom"
    assert last_words(f"hello\n{opened}") == ""
    assert last_words(f"{fatal}\n{opened}\nbye") == "boom"
    assert last_words("\x1b[0;31mError: no way\x1b[0m\nbye") == "Error: no way"
    assert len(last_words("error " + 1000 * "x")) == 200


@pytest.mark.parametrize("message", messages(), ids=lambda message: message.name)
def test_a_sentence_says_what_it_means_and_what_next(message: object) -> None:
    sentence = message.sentence  # type: ignore[attr-defined]
    assert not sentence.endswith(".")
    assert "\n" not in sentence
