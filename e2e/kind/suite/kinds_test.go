package suite

import (
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/e2e/kind"
	"github.com/sliceshift/sliceshift/e2e/kind/setup"
	"github.com/sliceshift/sliceshift/migration"
	sliceapi "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// native and slice are the kinds of StatefulSet that a migration drives.
const native = "apps/v1"

var slice = sliceapi.GroupVersion.String()

// TestMoveOfKinds moves between our own kind and Kubernetes' own, both ways, each driven by
// the manager of its cluster.
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

// TestRolloutDuringMove edits the template of both slices when the first ordinal has arrived:
// the roll-outs and the handoffs share the budget, which the auditor watches.
func TestRolloutDuringMove(t *testing.T) {
	t.Parallel()
	v := deployOfKinds(t, [2]string{slice, slice})
	v.drive(v.mover(), nth(2, migration.ScaleDown, func() error {
		const change = `{"spec":{"template":{"metadata":{"annotations":{"revision":"2"}}}}}`
		return errors.Join(v.patchSlice(pair.East, change), v.patchSlice(pair.West, change))
	}))
	v.expectSlice(pair.West, v.app.replicas)
	v.audit(v.journals(pair.West), "a roll-out in the middle")
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

func (v *move) patchSlice(at *kind.Cluster, patch string) error {
	c, err := setup.Client(at)
	if err != nil {
		return err
	}
	return c.Patch(v.ctx, &sliceapi.StatefulSet{ObjectMeta: v.app.object()}, client.RawPatch(types.MergePatchType, []byte(patch)))
}
