"""Random Ray objects, created and edited by a tenant: what KubeRay makes of them was counted and allowed."""
