"""The tree of quotas: what each node has, uses, may borrow and lend."""
