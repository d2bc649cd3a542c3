package drift

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// Change is a change of a volume that its claim asks for, and that the driver has not completed. Times are those of the
// cluster's clock.
type Change struct {
	// Grows is true until the claim has the requested size, and Modifies until it has the requested class of attributes.
	Grows, Modifies bool
	// Since is when a migration asked for it; zero if none did.
	Since time.Time
	// FileSystem is since when the file system waits to be grown by the node; zero if it does not. A kubelet grows a mounted
	// one if the driver can, and others when a pod starts.
	FileSystem time.Time
	// GrowsNot and ModifiesNot are true if the driver has refused that part as infeasible, and Trouble is its last error.
	GrowsNot, ModifiesNot bool
	Trouble               string
}

// ChangeOf returns the change of a claim's volume that is under way.
func ChangeOf(claim *corev1.PersistentVolumeClaim) Change {
	c := Change{}
	if claim.Status.Phase != corev1.ClaimBound {
		return c
	}
	status := claim.Status
	asked, has := claim.Spec.Resources.Requests[corev1.ResourceStorage], status.Capacity[corev1.ResourceStorage]
	attributes := value(claim.Spec.VolumeAttributesClassName)
	c.Grows, c.Modifies = has.Cmp(asked) < 0, attributes != "" && attributes != value(status.CurrentVolumeAttributesClassName)
	if !c.Grows && !c.Modifies {
		return c
	}
	if state := status.ModifyVolumeStatus; c.Modifies && state != nil {
		c.ModifiesNot = state.Status == corev1.PersistentVolumeClaimModifyVolumeInfeasible
	}
	infeasible := []corev1.ClaimResourceStatus{corev1.PersistentVolumeClaimControllerResizeInfeasible, corev1.PersistentVolumeClaimNodeResizeInfeasible}
	c.GrowsNot = c.Grows && slices.Contains(infeasible, status.AllocatedResourceStatuses[corev1.ResourceStorage])
	for _, condition := range status.Conditions {
		c.add(condition)
	}
	for _, entry := range claim.ManagedFields {
		if entry.Manager == api.FieldManager && entry.Subresource == "" && entry.Time != nil && entry.Time.After(c.Since) {
			c.Since = entry.Time.Time
		}
	}
	return c
}

// add adds what a condition shows. A resizer deletes the conditions of a resize when it is complete.
func (c *Change) add(condition corev1.PersistentVolumeClaimCondition) {
	if condition.Status != corev1.ConditionTrue {
		return
	}
	switch condition.Type { //nolint:exhaustive // the others show no obstacle
	case corev1.PersistentVolumeClaimFileSystemResizePending:
		if c.Grows {
			c.FileSystem = condition.LastTransitionTime.Time
		}
	case corev1.PersistentVolumeClaimControllerResizeError, corev1.PersistentVolumeClaimNodeResizeError:
		if c.Grows {
			c.Trouble = condition.Message
		}
	case corev1.PersistentVolumeClaimVolumeModifyVolumeError:
		if c.Modifies {
			c.Trouble = condition.Message
		}
	}
}
