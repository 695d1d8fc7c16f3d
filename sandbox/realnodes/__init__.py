"""Real nodes: kubelets with containerd and runc, each in its own Linux namespaces."""
