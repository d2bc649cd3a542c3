package pdb

import (
	"testing"

	policyv1 "k8s.io/api/policy/v1"
)

// TestEvictsUnhealthy: by default a pod that is not Ready is evicted only while enough others are healthy.
func TestEvictsUnhealthy(t *testing.T) {
	for name, tc := range map[string]struct {
		policy           policyv1.UnhealthyPodEvictionPolicyType
		healthy, desired int32
		want             bool
	}{
		"enough are healthy":     {"", 2, 2, true},
		"too few are healthy":    {"", 1, 2, false},
		"none has to be":         {"", 1, 0, false},
		"too few, by its policy": {policyv1.IfHealthyBudget, 1, 2, false},
		"too few, always":        {policyv1.AlwaysAllow, 1, 2, true},
	} {
		budget := &policyv1.PodDisruptionBudget{Status: policyv1.PodDisruptionBudgetStatus{CurrentHealthy: tc.healthy, DesiredHealthy: tc.desired}}
		if tc.policy != "" {
			budget.Spec.UnhealthyPodEvictionPolicy = &tc.policy
		}
		if got := EvictsUnhealthy(budget); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
