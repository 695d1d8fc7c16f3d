"""Placeholder ids and addresses, so that a preview can be compared with an earlier state.

`make preview STACK=prod SINCE=main` sets the variable. The gcp stand-in then gives ids and addresses to the
resources that it previews; otherwise they are unknown, as before `pulumi up`.
"""

VARIABLE = "MUSTER_PRETEND_CLOUD"
OBJECTS = "MUSTER_CLOUD_OBJECTS"
"""Path of a JSON file: the properties of resources that exist, by id. The gcp stand-in reads them from it."""
NO_HOST = ".invalid"
"""Names in this domain never resolve (RFC 2606), so nothing connects to a placeholder."""
NO_ADDRESS = "192.0.2.1"
"""An address of documentation (RFC 5737), to which no route leads."""
