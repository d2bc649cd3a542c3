package suite

import (
	"testing"

	sliceapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// native and slice are the kinds of StatefulSet that a migration drives.
const native = "apps/v1"

var slice = sliceapi.GroupVersion.String()

// TestMoveOfKinds moves between our own kind and Kubernetes' own, in both directions, each driven by the manager of
// its cluster.
func TestMoveOfKinds(t *testing.T) {
	t.Parallel()
	for title, kinds := range map[string][2]string{
		"ours": {slice, slice}, "native to ours": {native, slice}, "ours to native": {slice, native},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			v := deployOfKinds(t, kinds)
			v.drive(v.mover())
			v.audit(v.expectMoved(), "")
		})
	}
}

func deployOfKinds(t *testing.T, kinds [2]string) *move {
	t.Helper()
	a := usual()
	a.ours = kinds[0] == slice
	v := deploy(t, a)
	v.m.Spec.Source.APIVersion, v.m.Spec.Destination.APIVersion = kinds[0], kinds[1]
	v.watch()
	return v
}
