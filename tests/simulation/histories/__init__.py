"""Random histories: actions of users, tenants, administrators and a failing network on a cluster.

A history is a value (history.py) that a seed generates (generate.py) from the actions of tenants.py,
hostile.py, administrators.py and faults.py. play.py runs it through the simulation, minimise.py makes a
failing one shorter.
"""
