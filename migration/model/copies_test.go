package model

import (
	"slices"
	"testing"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
)

// copied checks a write of a copy: it was requested, is of an object that pods need, and removes nothing that
// pods may need.
func (m *machine) copied(e plan.Effect, before plan.Snapshot, late bool) {
	needed := slices.ContainsFunc(before.Dependencies.List, func(d plan.Dependency) bool { return d.Kind == e.Kind && d.Name == e.Name })
	switch {
	case e.Kind == "": // not a write of a copy
	case !before.Spec.Dependencies.Copy, !needed:
		m.breaks("I9: %s, which nobody has asked for", e)
	case e.Verb == plan.DeleteCopy && len(before.Destination.Pods) > 0 && !late && (onItsWay(before) || !owed(before, e)):
		m.breaks("%s while pods may need it", e)
	}
}

// owed reports whether it is recorded that a copy is replaced by a new one.
func owed(s plan.Snapshot, e plan.Effect) bool {
	return slices.ContainsFunc(s.Record.Owed, func(o api.OwedCopy) bool { return o.Kind == e.Kind && o.Name == e.Name && o.UID == e.UID })
}

// TestModelOfCopies explores every state of a migration that copies its pods' dependencies and deletes the
// copies on the way back, for any result of a write. No pod lacks them, nothing else is deleted (I9), and each
// run ends (I7, I8).
func TestModelOfCopies(t *testing.T) {
	x := newExplorer(bound{"1, copies, writes", plantest.Scenario{Replicas: 1, Copies: 1}, 1, ofWrites, nil})
	if wrong := x.explore(); wrong != nil {
		t.Error(x.story(wrong))
	}
	t.Logf("%d states", len(x.came))
}
