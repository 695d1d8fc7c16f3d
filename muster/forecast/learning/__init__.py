"""Learns from past jobs what a queue configuration does not define: run times, start-up, provisioning delays,
cancellations, and the jobs that will be submitted."""
