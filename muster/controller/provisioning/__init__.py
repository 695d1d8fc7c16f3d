"""Manages the ProvisioningRequests of admission checks, and the states of these checks."""
