"""Admission checks that ProvisioningRequests answer."""
