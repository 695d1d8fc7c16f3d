"""What is installed in the cluster: KubeRay, Kueue, KAI Scheduler, NVIDIA's GPU Operator."""
