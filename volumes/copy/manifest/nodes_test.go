package manifest

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestK12Devices: a receiver creates device nodes, and has the right to, only if the user has allowed it.
func TestK12Devices(t *testing.T) {
	for _, allowed := range []bool{false, true} {
		mover := Receiver(Spec{Namespace: "shop", Name: "m", Claim: "data-web-0", Image: "mover", Devices: allowed}).Spec.Containers[0]
		if got := slices.Contains(mover.Args, "--devices"); got != allowed {
			t.Errorf("allowed %t: told so %t: %v", allowed, got, mover.Args)
		}
		if got := slices.Contains(mover.SecurityContext.Capabilities.Add, corev1.Capability("MKNOD")); got != allowed {
			t.Errorf("allowed %t: it has the right %t", allowed, got)
		}
	}
}
