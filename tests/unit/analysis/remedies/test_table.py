"""The table of remedies: every text that it can give, and what is refused when it is loaded."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product

import pytest

from rocm_perf.analysis.remedies.setting import Recorded, Setting, known
from rocm_perf.analysis.remedies.table import causes, checked, possible, remedy, table
from rocm_perf.errors import InputError
from rocm_perf.model.results.ledger import CAUSES

# What the ledger calls time that nobody is told to remove.
NO_REMEDY = {"running", "end-of-work", "profiler"}
FRAMEWORKS = [None, *(one.name for one in known().framework)]
RECORDERS = [None, *(one.name for one in known().recorder)]
GPUS = {
    "amd": [("gfx942", "AMD Instinct MI300X"), ("gfx90a", "AMD Instinct MI250X"), ("gfx1100", "AMD Radeon")],
    "nvidia": [("sm_90", "NVIDIA H200"), ("sm_75", "Tesla T4")],
}
FACTS: list[tuple[Recorded, ...]] = [
    (),
    ("kernels", "host calls"),
    ("kernels", "host calls", "graphs used"),
    ("kernels", "host calls", "operators", "ranges", "shapes", "python stacks"),
    ("kernels", "host calls", "operators", "ranges", "shapes", "python stacks", "graphs used"),
]
PLACES = {"place": "train.py(120): training_step", "call": "hipStreamSynchronize", "who": "rank 3"}
# Words of one vendor. Functions of torch.cuda are called so on ROCm as well, and so are NCCL's variables and functions.
OF_BOTH = re.compile(
    r"torch\.cuda\.[\w.]+|ProfilerActivity\.CUDA|NCCL_\w+|nccl[A-Z]\w+|--disable-cuda-graph|--cuda-\w+(-\w+)*|cudagraphs?\w*"
)
OF_AMD = re.compile(
    r"rocprof|roctx|\bHIP\b|\bhip[A-Z]|HIP_|hiprtc|RCCL|rccl|aiter|MIOpen|miopen|amd-smi|rocm-smi|AMDGPU|ROCArray|rocBLAS|"
    r"hipBLAS|\bCK\b|MI\d00|ROCM"
)
OF_NVIDIA = re.compile(
    r"\bnsys\b|\bncu\b|Nsight|NVTX|nvtx|\bCUDA\b|\bcuda[A-Z]|CUDA_|nvrtc|\bNCCL\b|nccl-tests|nvidia-smi|CuArray|cuBLAS|cuDNN|"
    r"CUTLASS|FlashInfer|cupti|tensor core"
)
OF_FRAMEWORKS = {
    "torch": r"\btorch\b|TORCH_|(?<!grain\.)(?<!MLUtils\.)DataLoader\(|(?<!Stream\()non_blocking|\bDDP\b|\bFSDP\b|Liger"
    r"|record_function|with_stack",
    "jax": r"\bjax\b|\bjnp\b|JAX_|block_until_ready|grain",
    "tensorflow": r"\btf\b|keras|steps_per_execution",
    "cupy": r"\bcupyx?\b|CuPy|CUPY_",
    "julia": r"CUDA\.[@\w]|AMDGPU|@spawn|copyto!|@views|@\. |MLUtils|TimerOutputs|PrecompileTools",
    "kokkos": r"Kokkos",
    "vllm": r"vllm|vLLM|VLLM",
    "sglang": r"sglang|SGLang|overlap-schedule",
    "llama.cpp": r"llama|GGML|-ngl",
    "lightning": r"Trainer\((?!torch)|Lightning|self\.log\(",
    "transformers": r"TrainingArguments|cache_implementation|attn_implementation|from_pretrained",
}
# Beside a framework, those whose functions a program of it may be told: what it is made of.
MADE_OF = {
    "vllm": {"torch"},
    "sglang": {"torch", "vllm"},
    "lightning": {"torch"},
    "transformers": {"torch"},
}
NAMED = re.compile(
    r"\w\(|\w+\.\w+|--\w|-\w+ \d|\w+=|\w+_\w+|::|rocm-perf|[a-z][A-Z]\w+|[A-Z]\w*[a-z]+[A-Z]\w*|@[\w.]|gdb|\w-smi|\(-\w"
)


def own_words(text: str) -> str:
    """The text without what the recording is said to hold."""
    for place in PLACES.values():
        text = text.replace(place, "")
    return text


def settings() -> Iterator[Setting]:
    """Every setting that a recording can have, with a GPU of each kind and different facts."""
    for vendor, framework, recorder in product(("amd", "nvidia"), FRAMEWORKS, RECORDERS):
        for gpus, facts in product(GPUS[vendor], FACTS):
            found = possible(vendor, framework, recorder, recorded=facts, gpus=gpus)  # type: ignore[arg-type]
            if found is not None:
                yield found


@pytest.fixture(scope="module")
def told() -> dict[tuple[str, str], list[tuple[str, Setting]]]:
    """Every text of each cause and recorder, with a setting that leads to it, with and without
    what a finding knows."""
    found: dict[tuple[str, str], dict[tuple[str, str, tuple[str, ...]], Setting]] = {}
    for setting in settings():
        for cause, words in product(causes(), ({}, PLACES)):
            text = remedy(cause, setting, **words)
            key = text, setting.vendor, setting.frameworks
            recorder = " ".join(setting.recorders)
            found.setdefault((cause, recorder), {}).setdefault(key, setting)
    return {pair: [(key[0], setting) for key, setting in texts.items()] for pair, texts in found.items()}


def test_every_cause_of_the_ledger_has_a_remedy() -> None:
    assert set(CAUSES) - set(causes()) == NO_REMEDY


Told = dict[tuple[str, str], list[tuple[str, Setting]]]


def test_no_text_has_words_of_the_other_vendor(told: Told) -> None:
    wrong = {
        (cause, text)
        for (cause, _), texts in told.items()
        for text, setting in texts
        if (OF_AMD if setting.nvidia else OF_NVIDIA).search(OF_BOTH.sub("", own_words(text)))
    }
    assert wrong == set()


def test_no_text_names_a_function_of_another_framework(told: Told) -> None:
    wrong = set()
    for (cause, _), texts in told.items():
        for text, setting in texts:
            own = {
                *setting.frameworks,
                *(part for name in setting.frameworks for part in MADE_OF.get(name, ())),
            }
            for framework, pattern in OF_FRAMEWORKS.items():
                if framework not in own and re.search(pattern, own_words(text)):
                    wrong.add((cause, framework, setting.frameworks, text))
    assert wrong == set()


RECORDING = re.compile(r"record (again|the|once)|use torch\.profiler", re.IGNORECASE)


def test_what_is_in_the_recording_is_not_to_be_recorded(told: Told) -> None:
    wrong = set()
    for (cause, _), texts in told.items():
        for text, setting in texts:
            if not cause.startswith("record-") and cause not in MAY_SAY_RECORD and RECORDING.search(text):
                wrong.add((cause, text))
            if "host calls" in setting.recorded and re.search(r"host's calls as well|--hip-trace be", text):
                wrong.add((cause, text))
            if "python stacks" in setting.recorded and re.search(r"with stacks", text):
                wrong.add((cause, text))
            if "shapes" in setting.recorded and "record_shapes" in text:
                wrong.add((cause, text))
    assert wrong == set()


# What they are about is not in the recording.
MAY_SAY_RECORD = {"unrecorded-work", "not-recorded", "learn-without-counters"}
# A recorder, and how it would be advised as if it had not been used.
ITSELF = {
    "torch.profiler": r"(with|use|\() ?torch\.profiler(?![.\w])|--profiler torch\b",
    "rocprofv3": r"again with rocprofv3",
    "cupti": r"--profiler cupti",
    "nsys": r"again with nsys (?!profile --cuda-graph-trace)",
    "jax.profiler": r"(with|use) jax\.profiler(?!\.)",
}


@pytest.mark.parametrize("recorder", ITSELF)
def test_no_recorder_is_recommended_to_those_who_used_it(recorder: str, told: Told) -> None:
    texts = [text for (_, used), rows in told.items() if used == recorder for text, _ in rows]
    assert texts
    assert [text for text in texts if re.search(ITSELF[recorder], text)] == []


def test_each_text_is_short_begins_with_a_verb_and_names_what_to_call(told: Told) -> None:
    texts = {text for rows in told.values() for text, _ in rows}
    assert {text for text in texts if len(text) > 220} == set()
    assert {
        text for text in texts if len(re.findall(r"[.!?](?= [A-Z])", text)) > 1 or text[-1] != "."
    } == set()
    assert {text for text in texts if not NAMED.search(text)} == set()
    assert {
        text for text in texts if re.search(r"[\[\]{}]|  | ,|\(\)\)?\.$", text.replace("()", ""))
    } == set()
    assert {text.split()[0].strip(":") for text in texts} == VERBS


# fmt: off
VERBS = {
    "Allocate", "Begin", "Capture", "Check", "Clear", "Communicate", "Compile", "Copy",
    "Decode", "Divide", "Find", "Free", "Fuse", "Give", "Hold", "Judge", "Keep", "Learn", "Leave", "Let",
    "Load", "Look", "Make", "Measure", "Merge", "Move", "Name", "Overlap", "Produce", "Put", "Read", "Record",
    "Replay", "Reuse", "Run", "Send", "Serve", "Set", "Speed", "Start", "Take", "Time", "Use", "Wait",
    "Write",
}
# fmt: on


def test_loading_data_is_never_cured_by_a_graph(told: Told) -> None:
    texts = {text for (cause, _), rows in told.items() if cause == "loading-data" for text, _ in rows}
    assert len(texts) > 5
    assert not [text for text in texts if "graph" in text.lower()]


def test_aiter_is_for_the_chips_that_it_is_made_for(told: Told) -> None:
    users = {setting.gpus[0] for rows in told.values() for text, setting in rows if "aiter" in text}
    assert users == {"gfx942"}


def test_cupy_on_rocm_is_not_told_of_graphs_which_it_lacks(told: Told) -> None:
    texts = {
        text
        for rows in told.values()
        for text, setting in rows
        if setting.frameworks[:1] == ("cupy",) and not setting.nvidia
    }
    assert not [text for text in texts if "begin_capture" in text or "cupy.cuda.Graph" in text]


NVIDIA_TORCH = Setting(vendor="nvidia", frameworks=("torch",), recorders=("torch.profiler",))


@pytest.mark.parametrize(
    ("cause", "setting", "words", "text"),
    [
        (
            "waiting-for-gpu",
            NVIDIA_TORCH,
            {"line": "train.py(41): step"},
            "Wait once, before the host reads a result, not in every iteration: take .item(), .cpu() and "
            "torch.cuda.synchronize() out of the loop (train.py(41): step), or read results every n-th step.",
        ),
        (
            "launching",
            NVIDIA_TORCH,
            {},
            "Replay each step as one CUDA graph (torch.cuda.graph, or torch.compile with "
            'mode="reduce-overhead"), or give '
            "each launch more work (a larger batch).",
        ),
        (
            "launching",
            Setting(frameworks=("tensorflow",), recorders=("jax.profiler",)),
            {},
            "Compile the step with tf.function(jit_compile=True), run several of them in one call "
            "(Model.compile(steps_per_execution=n)), or raise the batch.",
        ),
        (
            "launching",
            Setting(),
            {},
            "Capture the sequence into a HIP graph (hipStreamBeginCapture, hipGraphLaunch), fuse small "
            "kernels, or give "
            "each launch more work.",
        ),
        (
            "record-host",
            Setting(recorders=("rocprofv3",)),
            {},
            "Record the host's calls as well: rocm-perf profile does so by itself (rocprofv3: --hip-trace beside "
            "--kernel-trace, or --sys-trace).",
        ),
        (
            "record-host",
            Setting(vendor="nvidia", recorders=("ncu",)),
            {},
            "Record a time line with rocm-perf profile -- APP: Nsight Compute runs kernels one by one, and "
            "records nothing "
            "of the host.",
        ),
        (
            "slow-link",
            NVIDIA_TORCH,
            {"who": "rank 3"},
            "Check the links into rank 3 (nvidia-smi topo -m): NCCL_DEBUG=INFO prints the transport of each "
            "channel (P2P, "
            "SHM, NET), and all_reduce_perf of nccl-tests what this machine reaches.",
        ),
        (
            "slow-link",
            Setting(),
            {"who": ""},
            "Check the links (amd-smi topology): NCCL_DEBUG=INFO prints the transport of each channel (P2P, "
            "SHM, NET), and "
            "all_reduce_perf of rccl-tests what this machine reaches.",
        ),
    ],
)
def test_texts(cause: str, setting: Setting, words: dict[str, str], text: str) -> None:
    assert remedy(cause, setting, **words) == text


def test_a_place_that_would_make_a_text_too_long_is_left_out() -> None:
    text = remedy("waiting-for-gpu", NVIDIA_TORCH, line="x" * 200)
    assert "xxx" not in text
    assert len(text) <= 220


def test_the_order_of_the_rows_does_not_matter() -> None:
    for rows in table().causes.values():
        for setting in list(settings())[::7]:
            fitting = [row for row in rows if row.fits(setting)]
            best = max(row.specific(setting) for row in fitting)
            assert sum(row.specific(setting) == best for row in fitting) == 1


GENERAL = '[[remedy]]\ncause = "launching"\ntext = "Launch less."\n'
WORD = '[[word]]\nname = "graph"\ntext = "graph"\n'


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        (GENERAL.replace("launching", 'launching"\nvendor = "amd'), "0 rows hold everywhere"),
        (GENERAL + GENERAL, "2 rows hold everywhere"),
        (
            GENERAL
            + '[[remedy]]\ncause = "launching"\nvendor = "nvidia"\nrecorder = ["rocprofv3"]\ntext = "Never."\n',
            "no setting leads to 'Never.'",
        ),
        (
            GENERAL
            + '[[remedy]]\ncause = "launching"\nrecorded = ["ranges"]\ntext = "One."\n'
            + '[[remedy]]\ncause = "launching"\nrecorded = ["shapes"]\ntext = "Other."\n',
            "equally well",
        ),
        (
            GENERAL + '[[remedy]]\ncause = "launching"\nframework = ["pascal"]\ntext = "P."\n',
            "does not know pascal",
        ),
        (GENERAL.replace("Launch less", "Use {grpah}"), "no word is called grpah"),
        (GENERAL + '[[remedy]]\ncause = "launching"\ncolour = "red"\ntext = "P."\n', "colour"),
        (GENERAL + '[[remedy]]\ncause = "launching"\nvendor = "intel"\ntext = "P."\n', "intel"),
    ],
)
def test_a_wrong_table_is_refused(rows: str, why: str) -> None:
    with pytest.raises(InputError) as refused:
        checked((WORD + rows).encode())
    assert why in f"{refused.value} {refused.value.args}"
