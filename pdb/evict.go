package pdb

import (
	policyv1 "k8s.io/api/policy/v1"
)

// EvictsUnhealthy reports whether the eviction API evicts a pod that is Running and not Ready, even if the budget allows no
// disruption: by unhealthyPodEvictionPolicy AlwaysAllow, or while enough other pods are healthy (kubernetes
// pkg/registry/core/pod/storage/eviction.go).
func EvictsUnhealthy(budget *policyv1.PodDisruptionBudget) bool {
	policy, status := budget.Spec.UnhealthyPodEvictionPolicy, budget.Status
	return policy != nil && *policy == policyv1.AlwaysAllow || status.DesiredHealthy > 0 && status.CurrentHealthy >= status.DesiredHealthy
}
