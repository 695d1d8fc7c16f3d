"""Estimates of starts on pending jobs themselves: written as an annotation, and compared with the start."""
