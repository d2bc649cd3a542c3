package model

import (
	"testing"

	"github.com/sliceshift/sliceshift/migration/internal/plantest"
)

// TestModelOfCopies explores every state of a migration that copies what its pods need, and deletes the
// copies on the way back, whatever becomes of a write: no pod is without them, nothing else is deleted
// (I9), and each run comes to an end (I7, I8).
func TestModelOfCopies(t *testing.T) {
	x := newExplorer(bound{"1, copies, writes", plantest.Scenario{Replicas: 1, Copies: 1}, 1, ofWrites, nil})
	if wrong := x.explore(); wrong != nil {
		t.Error(x.story(wrong))
	}
	t.Logf("%d states", len(x.came))
}
