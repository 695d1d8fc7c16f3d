"""Why a workload waits: as data, and as one sentence for its user.

Explainer(state, now_ms)                 explainer.py: from what the last cycle said to a Waiting
verdict_of(head, behind)                 verdict.py: what the last cycle found
diagnose(flavors, node, workload, …)     diagnosis.py: what it lacks, and which flavors are not for it
short(…), too_large(…), no_flavor(…)     sentences.py: the same in words
"""

from muster.admission.explain.explainer import Explainer
from muster.admission.explain.verdict import Verdict, Wait

__all__ = ["Explainer", "Verdict", "Wait"]
