"""The objects of a job on Kubernetes, as plain data: indexed Job, headless Service, ConfigMap, claim, and the pod that
hands out the results. Pure; docs/kubernetes.md says what each is for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rocm_perf.fleet.kubernetes.files import MOUNTED, RESULTS, SCRIPT_FILE
from rocm_perf.fleet.kubernetes.names import unexpanded
from rocm_perf.fleet.kubernetes.settings import Settings

Object = dict[str, Any]

DATA = "/data"
_CONTAINER = "profile"
_GRACE_S = 120  # for profilers to write what they have
_RIGHTS = {  # docs/containers.md says what each is for
    "capabilities": {"add": ["SYS_PTRACE", "SYS_ADMIN"]},
    "seccompProfile": {"type": "Unconfined"},
}


def objects_of(settings: Settings, data: Mapping[str, str]) -> tuple[Object, ...]:
    """Everything that is applied, in an order in which each finds what it needs."""
    claims = () if settings.given.results_pvc else (claim(settings),)
    return (config_map(settings, data), *claims, service(settings), job(settings))


def config_map(settings: Settings, data: Mapping[str, str]) -> Object:
    """What the pods read."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": _metadata(settings), "data": dict(data)}


def claim(settings: Settings) -> Object:
    """Where the pods record: on several nodes, all of them have to be able to write there."""
    given = settings.given
    spec: Object = {
        "accessModes": [given.access_mode or ("ReadWriteMany" if settings.nodes > 1 else "ReadWriteOnce")],
        "resources": {"requests": {"storage": str(given.results_size)}},
    }
    if given.storage_class:
        spec["storageClassName"] = given.storage_class
    metadata = _metadata(settings)
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}


def service(settings: Settings) -> Object:
    """The headless Service that gives every pod a name; also before it is ready, because they meet to become so."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _metadata(settings),
        "spec": {
            "clusterIP": "None",
            "selector": {"job-name": settings.name},
            "publishNotReadyAddresses": True,
            "ports": [{"name": "rendezvous", "port": settings.port}],
        },
    }


def job(settings: Settings) -> Object:
    """The indexed Job: one pod for each node, none of which is started twice."""
    given = settings.given
    spec: Object = {
        "completionMode": "Indexed",
        "completions": settings.nodes,
        "parallelism": settings.nodes,
        "backoffLimit": given.backoff_limit,
    }
    if given.active_deadline_seconds is not None:
        spec["activeDeadlineSeconds"] = given.active_deadline_seconds
    if given.ttl_seconds_after_finished is not None:
        spec["ttlSecondsAfterFinished"] = given.ttl_seconds_after_finished
    spec["template"] = {"metadata": {"labels": _labels(settings)}, "spec": _pod(settings)}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": _metadata(settings), "spec": spec}


def results_pod(settings: Settings) -> Object:
    """A pod that does nothing, beside the results, so that they can be copied out of it."""
    container = {
        "name": "results",
        "image": settings.image,
        "command": ["sleep", "86400"],
        "volumeMounts": [{"name": "results", "mountPath": RESULTS, "readOnly": True}],
    }
    spec = {
        **_placed(settings),
        "restartPolicy": "Never",
        "containers": [container],
        "volumes": [_results(settings)],
    }
    metadata = {**_metadata(settings), "name": f"{settings.name}-results"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _pod(settings: Settings) -> Object:
    given = settings.given
    volumes = [
        {"name": "files", "configMap": {"name": settings.name, "defaultMode": 0o444}},
        _results(settings),
        {"name": "shared-memory", "emptyDir": {"medium": "Memory"}},
    ]
    if given.data_pvc:
        volumes.append({"name": "data", "persistentVolumeClaim": {"claimName": given.data_pvc}})
    return {
        **_placed(settings),
        **({"hostIPC": True} if given.host_ipc else {}),
        **({"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"} if given.host_network else {}),
        "subdomain": settings.name,
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": _GRACE_S,
        "containers": [_container(settings)],
        "volumes": volumes,
    }


def _container(settings: Settings) -> Object:
    given = settings.given
    mounts: list[Object] = [
        {"name": "files", "mountPath": MOUNTED, "readOnly": True},
        {"name": "results", "mountPath": RESULTS},
        {"name": "shared-memory", "mountPath": "/dev/shm"},  # data loaders and RCCL talk through it
    ]
    if given.data_pvc:
        mounts.append({"name": "data", "mountPath": DATA})
    return {
        "name": _CONTAINER,
        "image": settings.image,
        **({"imagePullPolicy": given.image_pull_policy} if given.image_pull_policy else {}),
        **({"workingDir": given.working_dir} if given.working_dir else {}),
        "command": ["/bin/sh", f"{MOUNTED}/{SCRIPT_FILE}"],
        "env": [
            *({"name": name, "value": unexpanded(value)} for name, value in settings.environment.items()),
            *(_from_secret(name, settings) for name in settings.secret_variables),
        ],
        "resources": _resources(settings),
        **({} if given.allow_privileged_profiling is False else {"securityContext": _RIGHTS}),
        "volumeMounts": mounts,
    }


def _from_secret(name: str, settings: Settings) -> Object:
    """A variable that a secret of the cluster holds; it stays unset without one."""
    key = {"name": settings.given.secrets.environment_secret_name, "key": name, "optional": True}
    return {"name": name, "valueFrom": {"secretKeyRef": key}}


def _resources(settings: Settings) -> Object:
    given = settings.given
    requests = {"cpu": given.cpu, "memory": given.memory}
    limits = {"cpu": given.cpu_limit, "memory": given.memory_limit, settings.resource: settings.gpus}
    return {
        kind: {name: str(amount) for name, amount in amounts.items() if amount not in ("", None, 0)}
        for kind, amounts in (("requests", requests), ("limits", limits))
        if any(amount not in ("", None, 0) for amount in amounts.values())
    }


def _placed(settings: Settings) -> Object:
    """Where a pod may run, and as whom."""
    given = settings.given
    secrets = [{"name": name} for name in given.secrets.image_pull_secret_names]
    return {
        **({"serviceAccountName": given.service_account} if given.service_account else {}),
        **({"nodeSelector": given.node_selector} if given.node_selector else {}),
        **({"tolerations": list(given.tolerations)} if given.tolerations else {}),
        **({"imagePullSecrets": secrets} if secrets else {}),
    }


def _results(settings: Settings) -> Object:
    return {"name": "results", "persistentVolumeClaim": {"claimName": settings.claim}}


def _metadata(settings: Settings) -> Object:
    namespace = {"namespace": settings.given.namespace} if settings.given.namespace else {}
    return {"name": settings.name, **namespace, "labels": _labels(settings)}


def _labels(settings: Settings) -> dict[str, str]:
    return {"app.kubernetes.io/name": "rocm-perf", "app.kubernetes.io/instance": settings.name}
