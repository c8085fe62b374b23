"""Catalogues: ours, the user's, and models.json; tags; bad entries."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocm_perf.errors import InputError, UsageError
from rocm_perf.fleet.workloads.catalogue import catalogue, chosen, read_catalogue, shipped
from rocm_perf.sim.workload import read_workload

KNOWN_MODELS = ("pyt_vllm_llama2_7b", "pyt_torchtitan_llama3_8b", "pyt_torchvision_resnet50")


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_the_shipped_catalogue_has_the_workloads_that_guides_name() -> None:
    by_name = {each.name: each for each in shipped()}
    assert {"dummy_prof", *KNOWN_MODELS} <= set(by_name)
    assert read_workload(Path(by_name["dummy_prof"].command[0])).name == "dummy_prof"
    script = Path(by_name["pyt_torchvision_resnet50"].command[1])
    compile(script.read_text(), str(script), "exec")


def test_tags_and_names_choose_in_their_order_and_once() -> None:
    names = [each.name for each in chosen(shipped(), ["pyt_torchvision_resnet50,pyt", "dummies"])]
    assert names == [
        "pyt_torchvision_resnet50", "pyt_vllm_llama2_7b", "pyt_torchtitan_llama3_8b", "dummy_prof"
    ]  # fmt: skip


def test_an_unknown_tag_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"'pyt_vlm_llama2_7b': the nearest .*pyt_vllm_llama2_7b"):
        chosen(shipped(), ["pyt_vlm_llama2_7b"])


def test_a_file_in_the_working_folder_adds_and_replaces(tmp_path: Path) -> None:
    written(
        tmp_path / "workloads.toml", '[[workload]]\nname = "dummy_prof"\ncommand = "echo {catalogue}/x"\n'
    )
    known = {each.name: each for each in catalogue(None, tmp_path)}
    assert known["dummy_prof"].command == ("echo", f"{tmp_path}/x")
    assert KNOWN_MODELS[0] in known


def test_models_json_is_understood(tmp_path: Path) -> None:
    path = written(
        tmp_path / "models.json",
        '[{"name": "bert", "scripts": "scripts/bert/run.sh", "args": "--seq \'a b\'", "n_gpus": "-1", "timeout": 0,'
        ' "dockerfile": "docker/bert", "owner": "someone", "tags": ["nlp"], "training_precision": "fp16"}]',
    )
    (bert,) = read_catalogue(path)
    assert bert.command == ("bash", "scripts/bert/run.sh", "--seq", "a b")
    assert (bert.gpus, bert.timeout_s, bert.dockerfile) == (-1, None, "docker/bert")


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ('name = "a"', "has no command"),
        ('name = "../a"\ncommand = "x"', "cannot name a workload"),
        ('name = "a"\ncomand = "x"', "the nearest is command"),
        ('name = "a"\ncommand = "x \'"', "cannot be split"),
        ('name = "a"\ncommand = "x"\ngpus = "many"', "not a number of GPUs"),
        ('name = "a"\ncommand = "x"\ntimeout_s = 0', "more than 0"),
        ('name = "a"\ncommand = 3', "cannot be understood"),
    ],
)
def test_a_bad_entry_is_named(tmp_path: Path, entry: str, words: str) -> None:
    path = written(tmp_path / "own.toml", f"[[workload]]\n{entry}\n")
    with pytest.raises(InputError, match=words) as error:
        read_catalogue(path)
    assert "workload 1" in str(error.value)


def test_a_file_without_workloads_or_with_doubles_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="names no workload"):
        read_catalogue(written(tmp_path / "empty.toml", "x = 1\n"))
    entry = '[[workload]]\nname = "a"\ncommand = "x"\n'
    with pytest.raises(InputError, match="two workloads called 'a'"):
        read_catalogue(written(tmp_path / "double.toml", entry * 2))
