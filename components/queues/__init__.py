"""Queues and priorities, as objects of Kueue's API or of KAI's."""
