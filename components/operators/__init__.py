"""What is installed in the cluster by Helm charts and CRDs."""
