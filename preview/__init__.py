"""Previews of a stack without an account or a cluster: the Pulumi CLI, stand-in plugins, reports."""
