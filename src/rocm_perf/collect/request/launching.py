"""What configuration files say to launchers: how many processes there are, and which nodes of a cluster they get."""

from __future__ import annotations

from typing import Annotated

import msgspec

Text = str | int
Count = Annotated[int, msgspec.Meta(ge=1)]


class Distributed(msgspec.Struct, frozen=True, kw_only=True):
    """How the program is launched on several GPUs."""

    launcher: str = ""  # torchrun, mpirun or srun
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


class Secrets(msgspec.Struct, frozen=True, kw_only=True):
    """Secrets that the cluster has already."""

    image_pull_secret_names: tuple[str, ...] = ()


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
