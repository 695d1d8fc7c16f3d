"""Records the cases of Kueue's own tests as data, on this machine, from Kueue's module of the Go proxy.

Kueue's tests are tables in code. A copy of the module gets the package recorder.go and a call of it in each
test (`place`), the tests run, and what they recorded is converted to the form of `tests.conformance.case`
(`neutral`). Nothing of Kueue is in this repository: the cases are in the cache, under Kueue's version.
"""
