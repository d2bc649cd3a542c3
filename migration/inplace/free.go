package inplace

import (
	"fmt"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/shell"
	"github.com/sliceshift/sliceshift/volumes"
)

// Free returns the commands by which a user frees a claim that is being deleted, and that our finalizer keeps without a
// handoff. Its volume is reserved first: an empty one would be provisioned for the next claim of that name.
func Free(kubectl shell.Kubectl, ref volumes.Ref, volume string) string {
	edit := "remove the finalizer " + api.ClaimFinalizer + " (the claim then stays until no pod names it): " + kubectl.Do("edit", "pvc", "-n", ref.Namespace, ref.Name)
	if volume == "" {
		return edit
	}
	patch := fmt.Sprintf(`{"spec":{"persistentVolumeReclaimPolicy":"Retain","claimRef":{"namespace":%q,"name":%q,"uid":null,"resourceVersion":null}}}`, ref.Namespace, ref.Name)
	return "reserve its volume for the next claim of that name, whose template must not ask for more: " + kubectl.Do("patch", "pv", volume, "--type=merge", "-p", patch) + "; then " + edit
}
