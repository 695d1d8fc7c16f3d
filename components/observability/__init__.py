"""Logs, metrics, dashboards and alerts, which outlive the cluster."""
