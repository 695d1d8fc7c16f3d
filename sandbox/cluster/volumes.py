"""Volumes for claims: a default StorageClass, and a few folders of the sandbox as its PersistentVolumes.

Simulated pods write nothing; a real Ray (`make up RAY=real`) and real pods write into these folders.
"""

from pathlib import Path

from sandbox.cluster.kubectl import Kubectl, Object

STORAGE_CLASS = "sandbox"
COUNT = 4


def create_volumes(kubectl: Kubectl, folder: Path, *, writable: bool = False) -> None:
    """Creates the class and its volumes, whose folders are created in `folder`.

    writable: for the users of pods, whose group a kubelet does not give to a folder of the machine.
    """
    storage_class: Object = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {
            "name": STORAGE_CLASS,
            "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
        },
        "provisioner": "kubernetes.io/no-provisioner",
    }
    volumes = [_volume(folder / f"disk-{number}") for number in range(COUNT)]
    if writable:
        for number in range(COUNT):
            (folder / f"disk-{number}").chmod(0o777)
    kubectl.create([storage_class, *volumes])


def _volume(path: Path) -> Object:
    path.mkdir(parents=True, exist_ok=True)
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": path.name},
        "spec": {
            "storageClassName": STORAGE_CLASS,
            "capacity": {"storage": "10Gi"},
            "accessModes": ["ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": "Retain",
            "hostPath": {"path": str(path)},
        },
    }
