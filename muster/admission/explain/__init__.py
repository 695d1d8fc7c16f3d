"""Explains why a workload waits: as data, and as a sentence for its user.

Explainer(state, now_ms)                 explainer.py: turns verdicts into `Waiting`
verdict_of(head, behind)                 verdict.py: the verdict of the last cycle
diagnose(flavors, node, workload, …)     diagnosis.py: missing quota, and flavors that its pods cannot use
short(…), too_large(…), no_flavor(…)     sentences.py: sentences about these
"""

from muster.admission.explain.explainer import Explainer
from muster.admission.explain.verdict import HeadWait, Wait

__all__ = ["Explainer", "HeadWait", "Wait"]
