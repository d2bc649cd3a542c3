package main

import (
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/sliceshift/sliceshift/slices/history"
)

// tellClaims says of which claim templates the request is not taken back to what it was at
// a revision.
func (c *common) tellClaims(s *slice, revision *appsv1.ControllerRevision) {
	var sizes map[string]resource.Quantity
	if json.Unmarshal([]byte(revision.Annotations[history.ClaimsAnnotationKey]), &sizes) != nil {
		return // the revision was made before sizes were recorded, by apps/v1 for example
	}
	for i := range s.Spec.VolumeClaimTemplates {
		template := &s.Spec.VolumeClaimTemplates[i]
		now := template.Spec.Resources.Requests[corev1.ResourceStorage]
		if then, known := sizes[template.Name]; known && now.Cmp(then) != 0 {
			fmt.Fprintf(c.ErrOut, "%s: claim template %s requested %s in revision %d, and goes on requesting %s: no volume can shrink\n",
				s.title(), template.Name, then.String(), revision.Revision, now.String())
		}
	}
}
