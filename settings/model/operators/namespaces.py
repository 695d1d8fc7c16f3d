"""Namespaces of the operators and the controller, one each."""

GPU_OPERATOR = "gpu-operator"
JOBSET = "jobset-system"
LWS = "lws-system"
KAI = "kai-scheduler"  # hard-coded in its chart's clean-up hook (templates/hooks/post)
KUBERAY = "kuberay-system"
KUEUE = "kueue-system"
MUSTER = "muster-system"

OPERATORS = (GPU_OPERATOR, JOBSET, KAI, KUBERAY, KUEUE, LWS, MUSTER)
