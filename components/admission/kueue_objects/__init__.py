"""Admission policies that replace Kueue's webhooks with engine muster, where no Kueue runs.

Source: Kueue pkg/webhooks at v0.19.2, with its feature gates at their defaults; docs/kueue-webhooks.md lists
each rule and where it is checked.
"""
