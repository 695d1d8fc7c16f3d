"""A whole environment on one machine: tools, control plane, simulated nodes and stand-ins for the cloud."""
