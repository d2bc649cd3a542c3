package observe

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/workload"
)

// rollsOf is how the roll-outs of a StatefulSet go whose kind has something to say of them.
func rollsOf(facts workload.Facts) plan.Rolls {
	rolls := plan.Rolls{Own: facts.Managed, AllAtOnce: facts.AllAtOnce, Asked: facts.DeleteRequested, Heeded: facts.CapObserved, Unmarked: facts.Unmarked}
	if facts.Cap != nil {
		rolls.Shared, rolls.Share = true, *facts.Cap
	}
	return rolls
}

// staysOf is why pods that do not have the update revision, and are not on their way out, keep theirs.
func staysOf(set *appsv1.StatefulSet, pods []corev1.Pod, facts workload.Facts) plan.Stays {
	for i := range pods {
		pod := &pods[i]
		if rolledOut(set, pods[i:i+1]) || pod.DeletionTimestamp != nil {
			continue
		}
		ordinal, belongs := OrdinalOf(set.Name, pod.Name)
		switch {
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

// rolledOut says whether every pod of the set has its update revision. The pods'
// labels say so for every update strategy; status.currentRevision does not for
// OnDelete.
func rolledOut(set *appsv1.StatefulSet, pods []corev1.Pod) bool {
	for i := range pods {
		if metav1.IsControlledBy(&pods[i], set) && pods[i].Labels[appsv1.ControllerRevisionHashLabelKey] != set.Status.UpdateRevision {
			return false
		}
	}
	return true
}
