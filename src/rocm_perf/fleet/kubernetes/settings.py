"""What a job is on Kubernetes: its names, its image, and the resources of its pods, from options and configuration."""

from __future__ import annotations

import os

import msgspec

from rocm_perf.collect.request.configuration import Configuration, variable_texts
from rocm_perf.collect.request.launching import Distributed, Kubernetes, start_of
from rocm_perf.errors import UsageError
from rocm_perf.fleet.job import Job
from rocm_perf.fleet.kubernetes.names import dns_label

PORT = 29500  # torchrun's own default
_RESOURCES = {"NVIDIA": "nvidia.com/gpu"}
_AMD_RESOURCE = "amd.com/gpu"


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """A job on Kubernetes."""

    name: str  # of the Job, its Service, its ConfigMap and its claim
    image: str
    nodes: int
    ranks_per_node: int
    resource: str  # what GPUs are called there
    gpus: int  # of each pod
    port: int
    with_torchrun: bool
    environment: dict[str, str]
    secret_variables: tuple[str, ...]  # names; a secret of the cluster holds them
    given: Kubernetes

    @property
    def master(self) -> str:
        """The name of the first pod, by which the others find it."""
        return f"{self.name}-0.{self.name}"

    @property
    def claim(self) -> str:
        """The claim that holds the results: one that exists, or the job's own."""
        return self.given.results_pvc or self.name


def settings_of(job: Job) -> Settings:
    """The settings of a job; what Kubernetes could not start is refused."""
    configuration = job.configuration
    given = kubernetes_of(configuration)
    distributed = configuration.distributed or Distributed()
    start = start_of(distributed)
    if start.by in ("srun", "mpirun"):
        raise UsageError(
            f"distributed.launcher {distributed.launcher!r} cannot be started by an indexed Job",
            "its pods are started one by one, and meet by torchrun",
            "Choose torchrun, or leave it out.",
        )
    image = job.image or given.image
    if not image:
        raise UsageError(
            "which image do the pods run?",
            "neither --image, --manifest-file nor k8s.image names one",
            "It needs the program and rocm-perf, as those of rocm-perf build do.",
        )
    return Settings(
        name=dns_label(job.run_id),
        image=image,
        nodes=job.nodes,
        ranks_per_node=job.ranks_per_node,
        resource=given.gpu_resource_name or _RESOURCES.get(configuration.gpu_vendor.upper(), _AMD_RESOURCE),
        gpus=_gpus(job) if given.gpu_count is None else given.gpu_count,
        port=distributed.port or PORT,
        with_torchrun=start.by == "torchrun" or job.ranks_per_node > 1,
        environment=variable_texts(configuration.env_vars),
        secret_variables=job.pass_env,
        given=given,
    )


def _gpus(job: Job) -> int:
    """How many GPUs a pod takes: those of the workload, of its ranks, or of the one program that has many."""
    distributed = job.configuration.distributed or Distributed()
    of_program = distributed.nproc_per_node if start_of(distributed).by == "itself" else None
    return job.gpus or of_program or job.ranks_per_node


def kubernetes_of(configuration: Configuration) -> Kubernetes:
    """What a configuration says of Kubernetes, under either name of that key."""
    return configuration.k8s or configuration.kubernetes or Kubernetes()


def kubectl(configuration: Configuration) -> tuple[str, ...]:
    """kubectl with the options that choose the cluster and the namespace."""
    given = kubernetes_of(configuration)
    options = {
        "--kubeconfig": os.path.expanduser(given.kubeconfig),
        "--context": given.context,
        "--namespace": given.namespace,
    }
    return ("kubectl", *(word for name, value in options.items() if value for word in (name, value)))
