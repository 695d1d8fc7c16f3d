"""Mutation testing of the admission core and the controller: `python -m tests.mutation --help`."""
