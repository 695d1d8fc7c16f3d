"""Stand-ins for the cloud and for Ray in a sandbox: queued provisioning, Ray's dashboard, Ray Serve."""
