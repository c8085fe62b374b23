"""Whether this user may use the GPUs: driver, device files, groups, container, counters. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rocm_perf.backends.machine import DeviceNode, Machine
from rocm_perf.backends.nvidia.probe import may_count
from rocm_perf.model.finding import Finding

_FILES = "--device=/dev/kfd --device=/dev/dri"
_RIGHTS = "--cap-add=SYS_PTRACE --cap-add=SYS_ADMIN --security-opt seccomp=unconfined"
_GROUPS = "--group-add video --group-add $(getent group render | cut -d: -f3)"  # images seldom name render
_OPEN_COUNTERS = (
    "echo 'options nvidia NVreg_RestrictProfilingToAdminUsers=0' "
    "| sudo tee /etc/modprobe.d/nvidia-profiling.conf"
)
# How each kind of container is given AMD's and NVIDIA's GPUs.
_GIVEN = {
    "docker": (
        f"docker run {_FILES} {_GROUPS} {_RIGHTS} IMAGE",
        "docker run --gpus all --cap-add=SYS_ADMIN IMAGE",
    ),
    "podman": (
        f"podman run {_FILES} --group-add keep-groups {_RIGHTS} IMAGE",
        "podman run --device nvidia.com/gpu=all --cap-add=SYS_ADMIN IMAGE",
    ),
    "apptainer": ("apptainer exec --rocm IMAGE COMMAND", "apptainer exec --nv IMAGE COMMAND"),
    "singularity": ("singularity exec --rocm IMAGE COMMAND", "singularity exec --nv IMAGE COMMAND"),
    "kubernetes": (
        "kubectl set resources deployment NAME --limits=amd.com/gpu=1",
        "kubectl set resources deployment NAME --limits=nvidia.com/gpu=1",
    ),
}


def access_findings(machine: Machine) -> Iterator[Finding]:
    """What keeps this user from the GPUs or from parts of them."""
    if not machine.gpus:
        yield _no_gpu(machine)
        return
    if any(gpu.vendor == "AMD" for gpu in machine.gpus):
        yield from _amd_files(machine)
    if any(gpu.vendor == "NVIDIA" for gpu in machine.gpus):
        yield from _nvidia_files(machine)
        yield from _nvidia_counters(machine)
    yield from _container_rights(machine)


def blocked(machine: Machine, vendor: str) -> Finding | None:
    """What keeps programs from every GPU of the vendor; None if nothing does."""
    files = _amd_files(machine) if vendor == "AMD" else _nvidia_files(machine)
    return next((finding for finding in files if finding.severity == "error"), None)


def _no_gpu(machine: Machine) -> Finding:
    if machine.hidden_gpus:
        return _undriven(machine)
    inside = f" in this {machine.container} container" if machine.container else ""
    return Finding(
        id="no-gpu",
        severity="error",
        title=f"no GPU of AMD or NVIDIA was found{inside}",
        evidence=("looked at the kernel's listing, rocminfo, amd-smi and nvidia-smi, whichever are here",),
        remedy="Start the container with the host's GPUs" if machine.container else "Try it without one",
        next_command=_given(machine, "AMD") if machine.container else "rocm-perf demo",
    )


def _undriven(machine: Machine) -> Finding:
    vendor = "AMD" if machine.hidden_gpus[0].startswith("AMD") else "NVIDIA"
    module = "amdgpu" if vendor == "AMD" else "nvidia"
    loaded = machine.kernel_module == module
    why = "the driver is loaded and shows none" if loaded else f"the kernel module {module} is not loaded"
    outside = ("Load the driver, and see what it says", f"sudo modprobe {module} && sudo dmesg | tail -n 20")
    inside = ("Start the container with the host's GPUs", _given(machine, vendor))
    remedy, command = inside if machine.container else outside
    return Finding(
        id="no-driver",
        severity="error",
        title=f"{', '.join(machine.hidden_gpus)}: on the PCI bus, but not usable",
        evidence=(why,),
        remedy=remedy,
        next_command=command,
    )


def _given(machine: Machine, vendor: str) -> str:
    return _GIVEN.get(machine.container, _GIVEN["docker"])[vendor == "NVIDIA"]


def _amd_files(machine: Machine) -> Iterator[Finding]:
    kfd = [node for node in machine.device_nodes if node.path == "/dev/kfd"]
    render = [node for node in machine.device_nodes if node.path.startswith("/dev/dri/renderD")]
    kinds = {"/dev/kfd": kfd, "/dev/dri/renderD*": render}
    absent = [name for name, nodes in kinds.items() if not nodes]
    denied = {name: nodes for name, nodes in kinds.items() if nodes and not any(map(_usable, nodes))}
    shut = [node.path for node in render if not _usable(node)]
    if absent:
        yield _absent(machine, absent, "AMD")
    if denied:
        yield _denied(machine, denied, "AMD")
    elif shut:
        yield Finding(
            id="some-devices-denied",
            severity="warning",
            title=f"{', '.join(shut)} may not be used: their GPUs stay hidden from programs",
            remedy="Nothing to do if another user's job has these GPUs",
        )


def _nvidia_files(machine: Machine) -> Iterator[Finding]:
    nodes = [node for node in machine.device_nodes if node.path.startswith("/dev/nvidia")]
    if not nodes:
        yield _absent(machine, ["/dev/nvidia*"], "NVIDIA")
    elif not any(_usable(node) for node in nodes):
        yield _denied(machine, {"/dev/nvidia*": nodes}, "NVIDIA")


def _usable(node: DeviceNode) -> bool:
    return node.readable and node.writable


def _absent(machine: Machine, names: Sequence[str], vendor: str) -> Finding:
    module = "amdgpu" if vendor == "AMD" else "nvidia-uvm"
    return Finding(
        id="device-absent",
        severity="error",
        title=f"{' and '.join(names)} {'is' if len(names) == 1 else 'are'} missing, although the kernel lists the GPU",
        evidence=("programs reach the GPU only through these files",),
        remedy="Start the container with them" if machine.container else "Load the driver",
        next_command=_given(machine, vendor) if machine.container else f"sudo modprobe {module}",
    )


def _denied(machine: Machine, kinds: Mapping[str, Sequence[DeviceNode]], vendor: str) -> Finding:
    owners = {node.group for nodes in kinds.values() for node in nodes if node.group}
    groups = sorted(owners - set(machine.groups))
    member = f"the group {', '.join(groups)} may" if groups else "the rights of the files exclude this user"
    return Finding(
        id="device-denied",
        severity="error",
        title=f"{' and '.join(kinds)} may not be used by {machine.user or 'this user'}",
        evidence=(f"{member}; {machine.user} is in {', '.join(machine.groups) or 'none'}",),
        remedy="Start the container with the group"
        if machine.container
        else "Join the group, then log in again",
        next_command=_join(machine, groups, vendor),
    )


def _join(machine: Machine, groups: Sequence[str], vendor: str) -> str:
    if machine.container:
        added = "".join(f" --group-add {group}" for group in groups if group != "render")
        command = _given(machine, vendor)
        return command.replace(" IMAGE", f"{added} IMAGE", 1) if command.startswith("docker") else command
    named = [group for group in groups if not group.isdigit()]
    fallback = "render,video" if vendor == "AMD" else "video"
    if "root" in named:  # nobody joins root: the rule that gives the file to a group is missing
        return "sudo udevadm control --reload && sudo udevadm trigger"
    return f"sudo usermod -aG {','.join(named) or fallback} {machine.user or '$USER'}"


def _nvidia_counters(machine: Machine) -> Iterator[Finding]:
    if may_count(machine):
        return
    inside = ("Add the right to the container", "docker run --gpus all --cap-add=SYS_ADMIN IMAGE")
    outside = ("Open them to all users, then reboot", _OPEN_COUNTERS)
    remedy, command = inside if machine.container else outside
    yield Finding(
        id="counters-restricted",
        severity="warning",
        title="NVIDIA's driver lets only root read counters (RmProfilingAdminOnly: 1)",
        evidence=("ncu stops with ERR_NVGPUCTRPERM; traces work",),
        remedy=remedy,
        next_command=command,
    )


def _container_rights(machine: Machine) -> Iterator[Finding]:
    if machine.container in ("", "apptainer", "singularity") or blocked(machine, "AMD"):
        return
    wanted = ("CAP_SYS_PTRACE", "CAP_SYS_ADMIN") if machine.vendor == "AMD" else ()
    missing = [name for name in wanted if name not in machine.capabilities]
    if missing:
        added = " ".join(f"--cap-add={name.removeprefix('CAP_')}" for name in missing)
        yield Finding(
            id="container-rights",
            severity="warning",
            title=f"this {machine.container} container lacks {' and '.join(missing)}",
            evidence=(
                "counters and PC sampling may need SYS_ADMIN; attaching to a process needs SYS_PTRACE",
            ),
            remedy="Start it with them if those methods fail",
            next_command=_rights_command(machine, added, missing),
        )


def _rights_command(machine: Machine, added: str, missing: Sequence[str]) -> str:
    if machine.container == "kubernetes":
        names = ", ".join(name.removeprefix("CAP_") for name in missing)
        return f"securityContext: {{capabilities: {{add: [{names}]}}}}"
    tool = "podman" if machine.container == "podman" else "docker"
    return f"{tool} run {_FILES} {added} --security-opt seccomp=unconfined IMAGE"
