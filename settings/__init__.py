"""The typed settings of a stack: their model, the rules between them, and how problems are reported."""
