"""One file a concept; `policies.catalogue` lists every rule of them."""
