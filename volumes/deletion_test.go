package volumes

import (
	"slices"
	"testing"
)

// TestH7Foreign: the finalizers of Kubernetes' own controllers are known to be removed; those of others are
// named.
func TestH7Foreign(t *testing.T) {
	own := []string{
		"kubernetes.io/pvc-protection", "kubernetes.io/pv-protection", "external-attacher/ebs-csi-aws-com", "external-provisioner.volume.kubernetes.io/finalizer",
		"snapshot.storage.kubernetes.io/pvc-as-source-protection", "foregroundDeletion", "orphan",
	}
	others := []string{"operator.example.com/keep", "velero.io/hold", "notkubernetes.io/keep"}
	if got := Foreign(slices.Concat(own, others)); !slices.Equal(got, others) {
		t.Errorf("got %q", got)
	}
}

// TestH7MayStay: a claim that must be deleted while its ordinal is down is refused before the stop if another
// controller may keep it.
func TestH7MayStay(t *testing.T) {
	h := Holding{Ref: Ref{Namespace: "shop", Name: "data-web-0"}, Claim: Claim{Found: true}}
	if got := MayStay(h); got != nil {
		t.Errorf("without a finalizer: %+v", got)
	}
	h.Claim.Keeps = []string{"operator.example.com/keep"}
	if got := MayStay(h); got == nil || got.Reason != ReasonForeignFinalizer || got.Remedy == "" {
		t.Errorf("got %+v", got)
	}
}
