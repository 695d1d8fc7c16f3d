"""A cloud that is only pretended to be there, so that a preview can be compared with an earlier state.

`make preview STACK=prod SINCE=main` sets the variable. The stand-in of gcp then gives ids and addresses to
what it previews; otherwise they are as unknown as they really are before `pulumi up`.
"""

VARIABLE = "MUSTER_PRETEND_CLOUD"
NO_HOST = ".invalid"
"""No name below it ever resolves (RFC 2606): nobody can take a pretended cluster for one to talk to."""
