"""The rules, one file per concept; `policies.catalogue` lists all of them."""
