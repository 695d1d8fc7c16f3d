"""The manifests and configuration files that a stack's settings result in, without Pulumi."""
