"""What outlives the cluster: logs, metrics, dashboards, alerts."""
