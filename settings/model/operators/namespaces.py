"""The namespaces that operators and the controller have for themselves, one each."""

GPU_OPERATOR = "gpu-operator"
KAI = "kai-scheduler"  # its chart's clean-up names this namespace (templates/hooks/post)
KUBERAY = "kuberay-system"
KUEUE = "kueue-system"
MUSTER = "muster-system"

OPERATORS = (GPU_OPERATOR, KAI, KUBERAY, KUEUE, MUSTER)
