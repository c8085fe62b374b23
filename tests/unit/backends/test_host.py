"""What the operating system says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rocm_perf.backends import host
from tests.unit.backends.machines import lay_out_host, write


def test_device_files_and_their_groups(tmp_path: Path) -> None:
    lay_out_host(tmp_path)
    for name in ("kfd", "dri/renderD129", "dri/renderD128", "dri/card0", "nvidia0", "nvidiactl", "null"):
        write(tmp_path / "dev" / name, "")
    nodes = host.device_nodes(tmp_path)
    paths = ["/dev/kfd", "/dev/dri/renderD128", "/dev/dri/renderD129", "/dev/nvidiactl", "/dev/nvidia0"]
    assert [node.path for node in nodes] == paths
    assert all(node.readable and node.writable for node in nodes)
    names = {0: "root", 44: "video", 109: "render"}
    gid = (tmp_path / "dev/kfd").stat().st_gid
    assert nodes[0].group == names.get(gid, str(gid))


def test_a_file_that_the_device_rules_refuse_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "dev/kfd", "")
    real = os.open

    def refuses(path: Path, flags: int) -> int:
        if flags & os.O_RDWR:
            raise PermissionError(1, "Operation not permitted")
        return real(path, flags)

    monkeypatch.setattr(os, "open", refuses)
    (node,) = host.device_nodes(tmp_path)
    assert (node.readable, node.writable) == (True, False)


def test_groups_without_a_name_keep_their_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lay_out_host(tmp_path)
    monkeypatch.setattr(os, "getgroups", lambda: [44, 992])
    monkeypatch.setattr(os, "getegid", lambda: 1000)
    monkeypatch.setattr(os, "geteuid", lambda: 1234)
    assert host.group_names(tmp_path) == ("video", "992", "1000")
    assert host.user_name(tmp_path) == "1234"


@pytest.mark.parametrize(
    ("environment", "file", "text", "kind"),
    [
        ({}, "etc/hostname", "", ""),
        ({}, ".dockerenv", "", "docker"),
        ({}, "run/.containerenv", "", "podman"),
        ({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, ".dockerenv", "", "kubernetes"),
        ({"APPTAINER_CONTAINER": "x.sif"}, "etc/hostname", "", "apptainer"),
        ({"SINGULARITY_NAME": "x.sif"}, "etc/hostname", "", "singularity"),
        ({}, "proc/1/cgroup", "12:devices:/docker/0123\n", "docker"),
        ({}, "proc/1/cgroup", "0::/\n", ""),
        ({"container": "lxc"}, "proc/1/cgroup", "0::/\n", "lxc"),
    ],
)
def test_containers(tmp_path: Path, environment: dict[str, str], file: str, text: str, kind: str) -> None:
    write(tmp_path / file, text)
    assert host.container_kind(environment, tmp_path) == kind


def test_capabilities(tmp_path: Path) -> None:
    assert host.capabilities(tmp_path) == ()
    lay_out_host(tmp_path, capabilities=0x00000000A80425FB)  # what docker gives
    assert host.capabilities(tmp_path) == ()
    lay_out_host(tmp_path, capabilities=1 << 21 | 1 << 19)
    assert host.capabilities(tmp_path) == ("CAP_SYS_PTRACE", "CAP_SYS_ADMIN")
    lay_out_host(tmp_path, capabilities=0x1FFFFFFFFFF)
    assert host.capabilities(tmp_path) == ("CAP_SYS_PTRACE", "CAP_SYS_ADMIN", "CAP_PERFMON")


def test_only_variables_that_matter_are_kept() -> None:
    kept = {
        "PYTORCH_TUNABLEOP_ENABLED": "1",
        "HSA_OVERRIDE_GFX_VERSION": "11.0.0",
        "LD_PRELOAD": "x.so",
        "ROCPROFILER_METRICS_PATH": "/x",
        "NCCL_DEBUG": "INFO",
        "CUDA_VISIBLE_DEVICES": "0",
    }
    others = {"HOME": "/home/ada", "AWS_SECRET_ACCESS_KEY": "secret", "AMD_TOKEN": "secret", "PATH": "/bin"}
    assert host.relevant_environment({**kept, **others}) == dict(sorted(kept.items()))
