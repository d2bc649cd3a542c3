package decide

import (
	"testing"

	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// asAsked is a second implementation of Readiness.
func asAsked(in Input) bool {
	owned := in.Spec.Ordinals()
	for _, ordinal := range owned {
		pod := podAt(in, ordinal)
		keeps := in.Spec.Strategy == api.OnDelete || in.Spec.Strategy == api.RollingUpdate && ordinal < in.Spec.Partition
		if !serves(in, pod) || !keeps && (pod.Revision != in.Revisions.Update && !pod.Change.Same || pod.Growth.State != Grown) {
			return false
		}
	}
	return len(in.Pods) == len(owned)
}

// checkReady compares the Readiness of a decision with asAsked.
func checkReady(t failer, in Input, d Decision) {
	t.Helper()
	is, s := d.Readiness, d.Status
	if is.Ready != (asAsked(in) && !d.Progress.Failed && (in.Revisions.Blocked == "" || in.Spec.Deleting)) {
		t.Fatalf("%+v of %+v", is, in)
	}
	if idle := in.Spec.Paused || in.Spec.Deleting; is.Waiting && (is.Ready || !idle || d.Progress.Failed) {
		t.Fatalf("nobody is said to be at it: %+v", is)
	}
	if is.Ready && (int(s.Replicas) != len(in.Spec.Ordinals()) || s.Ready != s.Replicas || s.Available != s.Replicas) {
		t.Fatalf("Ready with counts %+v", s)
	}
	if is.Reason == "" || is.Message == "" {
		t.Fatalf("it is not said why: %+v", is)
	}
}

// TestReadyIsAsAsked: a slice is Ready if and only if it is in its desired state.
func TestReadyIsAsAsked(t *testing.T) {
	t.Run("U-01: in any state", func(t *testing.T) {
		property(t, func(t *rapid.T, in Input, d Decision) { checkReady(t, in, d) })
	})
}
