package move

import (
	"context"
	"testing"

	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/preflight"
)

// onCall is an annotation of a StatefulSet. It names the contact that must agree before a move.
const onCall = "example.com/on-call"

// toyCheck refuses a StatefulSet whose owners want to be called first.
var toyCheck = preflight.Check{Name: "on call", Run: func(_ context.Context, e *preflight.Inspector, s preflight.Subject) ([]plan.Finding, error) {
	who := s.Source.Annotations[onCall]
	if who == "" {
		return nil, nil
	}
	return []plan.Finding{{
		Reason: "OwnerNotAsked", Object: e.Source.Object(), Message: e.Source.Object() + " is moved only when " + who + " knows of it",
		Remedy: "call " + who + ", then kubectl annotate sts " + e.Source.Set + " " + onCall + "-",
	}}, nil
}}

func init() { preflight.Register(toyCheck) } //nolint:gochecknoinits // as a program that adds a check does it

// TestToyCheck: a check is one file, and prevents the first write of a real migration until its finding is
// fixed.
func TestToyCheck(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(2), harness.AcrossClusters)
	v.patchSource(`{"metadata":{"annotations":{"` + onCall + `":"payments"}}}`)
	found := false
	v.Run(harness.StalledWith("OwnerNotAsked")(func() error {
		found = true
		v.ExpectSlice(v.Here(), 0, 2)
		v.patchSource(`{"metadata":{"annotations":{"` + onCall + `":null}}}`)
		return nil
	}))
	if !found {
		t.Error("it was moved without the owner's word")
	}
	v.ExpectMovedCleanly()
	v.Audit()
}
