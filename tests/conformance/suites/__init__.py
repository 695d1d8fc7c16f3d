"""How the cases of each suite are replayed: one module for each room of the core."""
