"""Admission policies in place of Kueue's webhooks, where the engine is Muster and no Kueue runs.

Source: Kueue pkg/webhooks at v0.19.2, with its feature gates at their defaults; docs/kueue-webhooks.md lists
rule by rule what is checked where.
"""
