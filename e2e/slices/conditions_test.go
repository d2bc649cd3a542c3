package slices

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestConditionsOfClients: a condition that a client of apps/v1 wrote is stored and kept, and does not stop the
// controller from updating the status.
func TestConditionsOfClients(t *testing.T) {
	p := begin(t, slice(1))
	theirs := func() bool { return meta.FindStatusCondition(p.read().Status.Conditions, "Theirs") != nil }
	p.step("X-25: type and status are enough", func(*testing.T) {
		add := client.RawPatch(types.JSONPatchType, []byte(`[{"op":"add","path":"/status/conditions/-","value":{"type":"Theirs","status":"True","lastTransitionTime":null}}]`))
		p.must(api.Status().Patch(p.ctx, p.read(), add))
	})
	p.step("X-25: the controller tells of a scale-up beside it", func(t *testing.T) {
		p.scale(2)
		p.complete()
		if !theirs() {
			t.Errorf("conditions %+v", p.read().Status.Conditions)
		}
	})
	p.step("X-25: a client reads the status and writes it again", func(*testing.T) {
		p.eventually("its write meets no other", func() bool { return api.Status().Update(p.ctx, p.read()) == nil })
	})
}
