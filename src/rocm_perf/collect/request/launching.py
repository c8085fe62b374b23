"""What configuration files say to launchers: how many processes there are, and which nodes of a cluster they get."""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

import msgspec

from rocm_perf.errors import UsageError

Text = str | int
Runtime = Literal["docker", "apptainer"]
Count = Annotated[int, msgspec.Meta(ge=1)]


class Distributed(msgspec.Struct, frozen=True, kw_only=True):
    """How the program is launched on several GPUs."""

    launcher: str = ""  # as `start_of` knows them
    nnodes: Count | None = None
    nproc_per_node: Count | None = None
    backend: str = ""  # the program chooses it
    port: Annotated[int, msgspec.Meta(ge=1, le=65_535)] | None = None  # where ranks meet


class Slurm(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of SLURM. Keys without a comment are options of sbatch under the same name."""

    nodes: Count | None = None
    gpus_per_node: Text | None = None
    ntasks_per_node: Count | None = None
    time: Text = ""
    output_dir: str = ""  # the recordings go below it
    exclusive: bool = False
    partition: str = ""
    account: str = ""
    qos: str = ""
    reservation: str = ""
    constraint: str = ""
    nodelist: str = ""
    exclude: str = ""
    cpus_per_task: Count | None = None
    mem: Text = ""
    gres: str = ""
    job_name: str = ""
    container_runtime: Runtime = "docker"  # what starts the ranks in an image on the nodes


class Secrets(msgspec.Struct, frozen=True, kw_only=True):
    """Secrets that the cluster has already."""

    image_pull_secret_names: tuple[str, ...] = ()
    environment_secret_name: str = (
        "rocm-perf-env"  # holds the variables that a workload needs of the user's shell
    )


class Kubernetes(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of Kubernetes. Amounts are written as it writes them: 500m, 64Gi."""

    kubeconfig: str = ""
    context: str = ""
    namespace: str = ""  # that of the context
    image: str = ""
    image_pull_policy: str = ""
    working_dir: str = ""  # of the program in the image
    gpu_count: int | None = None  # of each pod; one for each of its ranks
    gpu_resource_name: str = ""  # by the vendor
    cpu: Text = ""
    cpu_limit: Text = ""
    memory: Text = ""
    memory_limit: Text = ""
    node_selector: dict[str, str] = {}
    tolerations: tuple[dict[str, Text], ...] = ()
    service_account: str = ""
    secrets: Secrets = Secrets()
    host_ipc: bool = False
    host_network: bool = False
    allow_privileged_profiling: bool | None = None  # False: without the rights that counters need
    results_pvc: str = ""  # a claim that exists; else one is made
    results_size: Text = "20Gi"
    storage_class: str = ""  # the cluster's default
    access_mode: str = ""
    data_pvc: str = ""  # a claim that exists, seen as /data
    backoff_limit: int = 0  # a pod that fails is not started again
    active_deadline_seconds: int | None = None
    ttl_seconds_after_finished: int | None = None


class Start(NamedTuple):
    """How the processes of a distributed program come to be."""

    by: Literal[
        "", "srun", "torchrun", "mpirun", "itself"
    ]  # itself: one process a node, which starts the others
    notice: str = ""  # what the user should know who had another launcher in mind


_BY_TORCHRUN = "torchrun starts the ranks"
_STARTS: dict[str, Start] = {
    "": Start(""),
    "srun": Start("srun"),
    "slurm": Start("srun"),
    "torchrun": Start("torchrun"),
    "torchtitan": Start("torchrun"),
    "mpirun": Start("mpirun"),
    "mpi": Start("mpirun"),
    "deepspeed": Start(
        "torchrun",
        f"distributed.launcher deepspeed: {_BY_TORCHRUN}, with the variables that DeepSpeed reads, and no --local_rank",
    ),
    "megatron": Start(
        "torchrun",
        f"distributed.launcher megatron: {_BY_TORCHRUN}; TENSOR_MODEL_PARALLEL_SIZE and the like are not set, "
        "name them in env_vars if the program reads them",
    ),
    "vllm": Start("itself", "distributed.launcher vllm: one program a node, which starts its own workers"),
    "sglang": Start(
        "itself", "distributed.launcher sglang: one program a node, which starts its own workers"
    ),
}
_STARTS["megatron-lm"] = _STARTS["megatron"]
_OTHERWISE = {  # launchers that are more than a command line, and what to do instead
    "sglang-disagg": "Launch prefill, decode and proxy as jobs of their own, each with its own command as APP.",
    "primus": "Give what Primus' run_pretrain.sh starts as APP, with launcher torchrun.",
    "slurm-multi": "Put rocm-perf profile before the program in the script, at its srun.",
    "ray": "Start the cluster yourself, and put rocm-perf profile before the program that drives it.",
}


def start_of(distributed: Distributed | None) -> Start:
    """Return how the launcher of a configuration starts a program; one that is not a command line is refused."""
    named = (distributed or Distributed()).launcher.lower().replace("_", "-")
    if named in _STARTS:
        return _STARTS[named]
    if named in _OTHERWISE:
        why = "it arranges several programs, and rocm-perf starts one"
        raise UsageError(f"distributed.launcher {named} is not started by rocm-perf", why, _OTHERWISE[named])
    raise UsageError(
        f"there is no distributed.launcher {named[:40]!r}", "", f"Known: {', '.join(filter(None, _STARTS))}."
    )
