package world

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sliceshift/sliceshift/migration/dependencies"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/workload"
)

// rollsOf returns the state of the roll-outs of a StatefulSet whose kind reports it.
func rollsOf(facts workload.Facts) plan.Rolls {
	rolls := plan.Rolls{Own: facts.Managed, AllAtOnce: facts.AllAtOnce, Asked: facts.DeleteRequested, Heeded: facts.CapObserved, Unmarked: facts.Unmarked}
	if facts.Cap != nil {
		rolls.Shared, rolls.Share = true, *facts.Cap
	}
	return rolls
}

// staysOf returns why pods without the update revision, and not being deleted, are not replaced.
func staysOf(set *appsv1.StatefulSet, pods []corev1.Pod, facts workload.Facts) plan.Stays {
	for i := range pods {
		pod := &pods[i]
		if rolledOut(set, pods[i:i+1]) || pod.DeletionTimestamp != nil {
			continue
		}
		ordinal, belongs := dependencies.OrdinalOf(set.Name, pod.Name)
		switch {
		case facts.Failed:
			return plan.StaysFailed
		case facts.Paused:
			return plan.StaysPaused
		case facts.ByHand:
			return plan.StaysOnDelete
		case belongs && ordinal < facts.KeepsBelow:
			return plan.StaysPartition
		}
	}
	return ""
}

// rolledOut reports whether every pod of the set has its update revision. It uses the pods' labels, which are valid
// for every update strategy; status.currentRevision is not valid for OnDelete.
func rolledOut(set *appsv1.StatefulSet, pods []corev1.Pod) bool {
	for i := range pods {
		if metav1.IsControlledBy(&pods[i], set) && pods[i].Labels[appsv1.ControllerRevisionHashLabelKey] != set.Status.UpdateRevision {
			return false
		}
	}
	return true
}
