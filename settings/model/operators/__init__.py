"""Operators installed in the cluster: KubeRay, Kueue, KAI Scheduler, NVIDIA GPU Operator."""
