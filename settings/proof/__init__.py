"""The proof that gangs of a stack can run: the admission core, and a placement on the declared nodes."""
