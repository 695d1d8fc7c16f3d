"""Questions about a live cluster: would a job fit now, and when does a workload start?"""
