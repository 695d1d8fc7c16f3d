"""Stand-ins for the cloud and Ray in a sandbox: queued provisioning, Ray's dashboard, Ray Serve."""
