package migration

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// propagation is what becomes of a StatefulSet's dependents when it is deleted. Where it owns
// claims it leaves them: with whenDeleted: Delete, now or when they were made, the garbage
// collector would delete them, and their disks after them (KEP-1847). Otherwise its
// ControllerRevisions are all that it owns, and they go with it.
func (s Set) propagation() metav1.DeletionPropagation {
	if len(s.OwnsClaims) > 0 {
		return metav1.DeletePropagationOrphan
	}
	return metav1.DeletePropagationBackground
}
