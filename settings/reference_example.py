"""The example at the end of the settings reference, which the tests load as a stack."""

EXAMPLE = """config:
  gcp:project: acme-ml-prod

  muster:network: {name: ray-prod}
  muster:cluster:
    kind: gke
    name: ray-prod
    location: us-west1
    channel: stable
    labels: {environment: prod, cost-center: ml-platform}
    securityGroup: gke-security-groups@example.com
    maintenance:
      window: {start: "02:00", hours: 6, days: [SA, SU]}

  muster:pools:
    - name: system # KubeRay, the controller, and Ray's heads
      flavor: cpu
      machineType: e2-standard-8
      nodes: {min: 3, max: 12}
    - name: l4
      machineType: g2-standard-12
      gpu: {type: nvidia-l4, count: 1}
      provisioning: queued
      nodes: {max: 16}

  muster:controller: {build: {}}
  muster:admission:
    engine: muster
    priorities: {inference: 10000, training: 1000}

  muster:queues:
    cohorts:
      - name: company
    clusterQueues:
      - name: vision
        cohort: company
        quotas:
          cpu: {cpu: 32, memory: 128Gi}
          l4: {cpu: 96, memory: 384Gi, nvidia.com/gpu: {nominal: 8, borrowingLimit: 8}}
        preemption: {withinClusterQueue: LowerPriority, reclaimWithinCohort: Any}

  muster:tenants:
    - namespace: vision
      queues: {user-queue: vision}
      queueRequired: true
      group: vision@example.com
      resourceQuota: {count/rayjobs.ray.io: 500}
      limits:
        default: {cpu: 2, memory: 4Gi}
        defaultRequest: {cpu: 100m, memory: 256Mi}
      rayAuth: token
      identity: {}
      checkpoints: {bucket: acme-vision-checkpoints, deleteAfterDays: 30}
"""
