"""The objects of a job: valid by the official schemas, complete, and with hostile texts left as they are."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.errors import UsageError
from rocm_perf.fleet.kubernetes.names import LONGEST_NAME, data_key, dns_label, unexpanded
from rocm_perf.fleet.kubernetes.yaml_text import yaml_documents
from tests.unit.fleet.kubernetes.jobs import job, objects, planned

CONFIGS = Path(__file__).parents[4] / "examples" / "profiling-configs"
KINDS = {"ConfigMap", "PersistentVolumeClaim", "Service", "Job", "Pod"}
VERSIONS = ("1.25", "1.37")  # the oldest and the newest whose schemas the package brings
EVERYTHING = {
    "gpu_vendor": "NVIDIA",
    "env_vars": {"A": "$(B) $$ 08", "N": 3, "ON": True},
    "distributed": {"launcher": "torchrun", "nnodes": 4, "nproc_per_node": 8, "port": 23456},
    "k8s": {
        "namespace": "ml-team",
        "image": "reg.example/y:2",
        "gpu_count": 6,
        "cpu": 24,
        "cpu_limit": "32",
        "memory": "128Gi",
        "memory_limit": "192Gi",
        "image_pull_policy": "Always",
        "working_dir": "/work",
        "node_selector": {"zone": "a", "gpu": "true"},
        "tolerations": [{"key": "gpu", "operator": "Equal", "value": "on", "effect": "NoSchedule"}],
        "service_account": "runner",
        "secrets": {"image_pull_secret_names": ["pull"]},
        "host_ipc": True,
        "host_network": True,
        "results_size": "1Ti",
        "storage_class": "nfs",
        "data_pvc": "datasets",
        "backoff_limit": 2,
        "active_deadline_seconds": 3600,
        "ttl_seconds_after_finished": 60,
    },
}


def container(made: dict[str, dict[str, Any]]) -> dict[str, Any]:
    (only,) = made["Job"]["spec"]["template"]["spec"]["containers"]
    return dict(only)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("configuration", [{}, EVERYTHING], ids=["nothing", "everything"])
def test_the_official_schemas_accept_every_object(
    tmp_path: Path, configuration: dict[str, Any], version: str
) -> None:
    made = objects(planned(job(tmp_path, configuration=configuration, nodes=4, ranks_per_node=8)))
    assert set(made) == KINDS
    for each in made.values():
        kubernetes_validate.validate(each, version, strict=True)


@pytest.mark.parametrize(
    ("kind", "place", "key"), [("Job", "spec", "completion"), ("Service", "spec", "port")]
)
def test_a_misspelt_key_would_be_noticed(tmp_path: Path, kind: str, place: str, key: str) -> None:
    made = objects(planned(job(tmp_path)))[kind]
    made[place][key] = 1
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(made, VERSIONS[-1], strict=True)


def test_every_node_is_a_pod_that_finds_the_first(tmp_path: Path) -> None:
    launched = job(tmp_path, nodes=4, ranks_per_node=8, configuration=EVERYTHING)
    made = objects(planned(launched))
    spec, name = made["Job"]["spec"], made["Job"]["metadata"]["name"]
    assert (spec["completionMode"], spec["completions"], spec["parallelism"]) == ("Indexed", 4, 4)
    assert spec["template"]["spec"]["subdomain"] == made["Service"]["metadata"]["name"] == name
    assert made["Service"]["spec"]["clusterIP"] == "None"
    assert made["Service"]["spec"]["selector"] == {"job-name": name}
    script = made["ConfigMap"]["data"]["run.sh"]
    meeting = f'--master-addr {name}-0.{name} --master-port "$MASTER_PORT"'
    assert f"--nnodes 4 {meeting} --nproc-per-node 8" in script
    assert "export MASTER_PORT=$((23456 + pass - 1))" in script
    assert 'PET_NODE_RANK="$JOB_COMPLETION_INDEX"' in script
    assert made["PersistentVolumeClaim"]["spec"]["accessModes"] == ["ReadWriteMany"]


def test_gpus_and_rights_follow_the_vendor_and_the_configuration(tmp_path: Path) -> None:
    amd = container(objects(planned(job(tmp_path, ranks_per_node=8))))
    assert amd["resources"] == {"limits": {"amd.com/gpu": "8"}}
    assert amd["securityContext"]["capabilities"]["add"] == ["SYS_PTRACE", "SYS_ADMIN"]
    nvidia = container(objects(planned(job(tmp_path, configuration=EVERYTHING))))
    assert nvidia["resources"]["limits"] == {"cpu": "32", "memory": "192Gi", "nvidia.com/gpu": "6"}
    plain = {
        "k8s": {"allow_privileged_profiling": False, "gpu_resource_name": "amd.com/mi300x", "gpu_count": 1}
    }
    without = container(objects(planned(job(tmp_path, configuration=plain))))
    assert without["resources"] == {"limits": {"amd.com/mi300x": "1"}}
    assert "securityContext" not in without


def test_a_claim_that_exists_is_used(tmp_path: Path) -> None:
    made = objects(planned(job(tmp_path, configuration={"kubernetes": {"results_pvc": "ours"}})))
    assert "PersistentVolumeClaim" not in made
    for pod in (made["Job"]["spec"]["template"]["spec"], made["Pod"]["spec"]):
        assert {"claimName": "ours"} in [volume.get("persistentVolumeClaim") for volume in pod["volumes"]]


def test_hostile_arguments_and_values_arrive_unchanged(tmp_path: Path) -> None:
    hostile = ("./app", "--", "$(reboot)", "a 'b' \"c\"", "`id`", "08", "\\", "ü\t", "${X}", "")
    recorder = tmp_path / "rocm-perf"
    recorder.write_text('#!/bin/sh\nfor each in "$@"; do printf "%s\\0" "$each"; done\n')
    recorder.chmod(0o755)
    made = objects(planned(job(tmp_path, *hostile, configuration={"env_vars": EVERYTHING["env_vars"]})))
    script = tmp_path / "run.sh"
    script.write_text(made["ConfigMap"]["data"]["run.sh"])
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "JOB_COMPLETION_INDEX": "0"}
    done = subprocess.run(["/bin/sh", script], env=environment, capture_output=True, text=True, check=True)
    arguments = done.stdout.split("\0")[:-1]
    assert tuple(arguments[arguments.index("--") + 1 :]) == hostile
    values = {each["name"]: each["value"] for each in container(made)["env"]}
    assert values == {"A": "$$(B) $$$$ 08", "N": "3", "ON": "1"}


def test_files_with_counters_travel_along(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.txt").write_text("pmc: SQ_WAVES\n")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "own.txt").write_text("pmc: GRBM_COUNT\n")
    (tmp_path / "compute").write_text("a file called as a preset is")
    (tmp_path / "run.sh").write_text("pmc: SQ_BUSY_CYCLES\n")
    tool = {"name": "rocprofv3_compute", "cmd": "bash wrapper.sh -i sub/own.txt --kernel-trace --"}
    launched = job(
        tmp_path,
        configuration={"tools": [tool, {"name": "gpu_info_power_profiler"}]},
        profile=("--counters", "@own.txt", "--preset", "compute", "-i", "run.sh"),
    )
    data = objects(planned(launched))["ConfigMap"]["data"]
    keys = {text: key for key, text in data.items()}
    first, second = keys["pmc: SQ_WAVES\n"], keys["pmc: GRBM_COUNT\n"]
    third = keys["pmc: SQ_BUSY_CYCLES\n"]
    assert f"--counters @/etc/rocm-perf/{first} --preset compute -i /etc/rocm-perf/{third}" in data["run.sh"]
    cmd = json.loads(data["configuration.json"])["tools"][0]["cmd"]
    assert cmd == f"bash wrapper.sh -i /etc/rocm-perf/{second} --kernel-trace --"
    assert "counters" in data["preset-compute.toml"]


def test_what_is_too_large_for_a_config_map_is_refused(tmp_path: Path) -> None:
    (tmp_path / "big.txt").write_text("x" * (1 << 20))
    with pytest.raises(UsageError, match=r"big\.txt is the largest"):
        planned(job(tmp_path, profile=("-i", "big.txt")))


@pytest.mark.parametrize("name", sorted(path.name for path in CONFIGS.glob("*.json")))
def test_every_example_configuration_becomes_valid_objects(tmp_path: Path, name: str) -> None:
    made = objects(planned(job(tmp_path, configuration=json.loads((CONFIGS / name).read_text()))))
    for each in made.values():
        kubernetes_validate.validate(each, VERSIONS[-1], strict=True)


@pytest.mark.parametrize(
    ("configuration", "words"),
    [
        ({"distributed": {"launcher": "mpirun"}}, "mpirun"),
        ({"distributed": {"launcher": "sglang-disagg"}}, "jobs of their own"),
    ],
)
def test_launchers_that_pods_cannot_start_are_refused(
    tmp_path: Path, configuration: dict[str, Any], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        planned(job(tmp_path, configuration=configuration))


def test_a_server_has_the_gpus_of_its_pod_and_no_torchrun(tmp_path: Path) -> None:
    distributed = {"launcher": "vllm", "nnodes": 2, "nproc_per_node": 4}
    made = objects(planned(job(tmp_path, nodes=2, configuration={"distributed": distributed})))
    assert container(made)["resources"]["limits"] == {"amd.com/gpu": "4"}
    assert "torch" not in made["ConfigMap"]["data"]["run.sh"]


def test_what_a_workload_needs_of_this_shell_comes_from_a_secret(tmp_path: Path) -> None:
    plan = planned(job(tmp_path, pass_env=("HF_TOKEN",), gpus=2))
    made = objects(plan)
    key = {"name": "rocm-perf-env", "key": "HF_TOKEN", "optional": True}
    assert container(made)["env"] == [{"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": key}}]
    assert container(made)["resources"]["limits"] == {"amd.com/gpu": "2"}
    assert any("kubectl create secret generic rocm-perf-env" in notice for notice in plan.notices)
    kubernetes_validate.validate(made["Job"], VERSIONS[-1], strict=True)


@given(st.text(max_size=70))
def test_names_are_labels_that_differ(text: str) -> None:
    label = dns_label(text)
    assert re.fullmatch(r"[a-z]([a-z0-9-]*[a-z0-9])?", label)
    assert len(label) <= LONGEST_NAME
    assert label != dns_label(f"{text}_")
    key = data_key(text, ["file"])
    assert re.fullmatch(r"[-._a-zA-Z0-9]+", key)
    assert key not in ("file", ".", "..")


def test_keys_of_equal_files_differ() -> None:
    assert len({data_key("a", ()), data_key("a", ("a",)), data_key("a", ("a", "2-a"))}) == 3


@given(st.text(max_size=40))
def test_kubernetes_expands_no_value(text: str) -> None:
    """By its rule: $$ is a dollar sign, $(NAME) the value of a variable."""
    assert re.sub(r"\$\$|\$\(\w+\)", lambda match: "$" if match[0] == "$$" else "!", unexpanded(text)) == text


@given(
    st.text(max_size=60) | st.sampled_from(["08", "1e3", "0o7", "on", "~", "12:30:45", "a\n b\n", "- x", "#"])
)
def test_a_text_is_a_text_for_every_reader(text: str) -> None:
    if any(0xD800 <= ord(each) <= 0xDFFF for each in text):
        return
    written = yaml_documents([{"key": text}])
    assert yaml.safe_load(written) == {"key": text}
    plain = re.fullmatch(r"---\nkey: ([^|\"].*)\n", written)
    assert plain is None or re.fullmatch(r"[A-Za-z][\w./-]*", plain[1])
