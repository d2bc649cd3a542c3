package storage

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// Resizing warns of the first claim whose volume or file system is being resized. The requested size is moved, but
// the progress is in the status of a claim that is not. pvs are the volumes of the claims, by name.
func Resizing(from endpoint.Endpoint, claims []corev1.PersistentVolumeClaim, pvs map[string]*corev1.PersistentVolume) []plan.Finding {
	for i := range claims {
		claim := &claims[i]
		pv := pvs[claim.Spec.VolumeName]
		if pv == nil {
			continue
		}
		asked, has := claim.Spec.Resources.Requests[corev1.ResourceStorage], pv.Spec.Capacity[corev1.ResourceStorage]
		doing := ""
		for _, c := range claim.Status.Conditions {
			if c.Status == corev1.ConditionTrue && (c.Type == corev1.PersistentVolumeClaimResizing || c.Type == corev1.PersistentVolumeClaimFileSystemResizePending) {
				doing = fmt.Sprintf("it is being resized (condition %s)", c.Type)
			}
		}
		if doing == "" && asked.Cmp(has) > 0 {
			doing = fmt.Sprintf("it asks for %s, and its volume has %s", asked.String(), has.String())
		}
		if doing == "" {
			continue
		}
		object := fmt.Sprintf("claim %s/%s in cluster %s", claim.Namespace, claim.Name, from.Cluster)
		return []plan.Finding{{
			Reason: volumes.ReasonResizePending, Object: object, Warning: true,
			Message: fmt.Sprintf("%s is larger than what its pod has: %s; how far that has come does not go along, and the destination ends it only if its driver can", object, doing),
			Remedy:  "wait until it is done: " + from.Kubectl().Do("describe", "pvc", "-n", claim.Namespace, claim.Name),
		}}
	}
	return nil
}
