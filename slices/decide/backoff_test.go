package decide

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// TestBackoff: a pod that has ended is replaced at once, and after repeated failures with an increasing delay.
func TestBackoff(t *testing.T) {
	failed := func(count int32, ago time.Duration, revision string) func(*Input) {
		return func(in *Input) {
			in.Failures = []Failure{{Ordinal: 0, Revision: revision, UID: "former", At: noon.Add(-ago), Count: count}}
		}
	}
	settled := settledAt("b")
	for _, tc := range []struct {
		name  string
		in    Input
		want  string
		wait  time.Duration
		count int32
	}{
		{"X-20 the first one", slice(1, "b!", settled), "Delete 0", 0, 1},
		{"X-20 the second one waits", slice(1, "b!", settled, failed(1, 400*time.Millisecond, "b")), "", 600 * time.Millisecond, 1},
		{"X-20 and goes", slice(1, "b!", settled, failed(1, time.Second, "b")), "Delete 0", 0, 2},
		{"X-20 the third one", slice(1, "b$", settled, failed(2, time.Second, "b")), "", time.Second, 2},
		{"X-20 the tenth one", slice(1, "b!", settled, failed(9, 4*time.Minute, "b")), "", 16 * time.Second, 9},
		{"X-20 never longer than 5 minutes", slice(1, "b!", settled, failed(math.MaxInt32-1, 4*time.Minute, "b")), "", time.Minute, math.MaxInt32 - 1},
		{"X-20 long ago", slice(1, "b!", settled, failed(9, 11*time.Minute, "b")), "Delete 0", 0, 1},
		{"X-20 those before had another revision", slice(1, "b!", settled, failed(9, time.Second, "a")), "Delete 0", 0, 1},
		{"X-20 the next one gets another revision", slice(1, "a!", failed(9, time.Second, "a")), "Delete 0", 0, 1},
		{"X-20 the next one keeps the old revision", slice(2, "a! b", failed(9, time.Second, "a"), partition(1)), "", 255 * time.Second, 9},
		{"X-20 somebody asks for it", slice(1, "b!*", settled, failed(9, time.Second, "b")), "Delete 0", 0, 10},
		{"X-20 it was to be deleted before", slice(1, "b!", settled, failed(9, time.Second, "b"), func(in *Input) { in.Failures[0].UID = "uid-0" }), "Delete 0", 0, 9},
		{"X-20 it is scaled away", slice(0, "b!", settled, failed(9, time.Second, "b")), "Delete 0", 0, 0},
		{"X-20 it runs", slice(1, "b", settled, failed(9, time.Second, "b")), "", 0, 9},
		{"X-20 a stand-in", slice(1, "a b!", surge(1), func(in *Input) {
			in.Failures = []Failure{{Ordinal: 1, Revision: "b", UID: "former", At: noon, Count: 1}}
		}), "Delete 0", time.Second, 1},
		{"X-20 a stand-in that is not wanted any more", slice(1, "b b!", surge(1), settled, func(in *Input) {
			in.Failures = []Failure{{Ordinal: 1, Revision: "b", UID: "former", At: noon, Count: 1}}
		}), "Delete 1", 0, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := Decide(tc.in)
			var count int32
			for _, f := range d.Failures {
				count += f.Count
			}
			if short(d) != tc.want || d.Wait != tc.wait || count != tc.count {
				t.Errorf("%q, %d failures, wait %s; want %q, %d, %s; held %+v", short(d), count, d.Wait, tc.want, tc.count, tc.wait, d.Held)
			}
			if held := slices.ContainsFunc(d.Held, func(h Hold) bool { return h.Reason == HeldBackoff }); held != (tc.wait > 0) {
				t.Errorf("held: %+v", d.Held)
			}
		})
	}
}

// getsUpdate reports whether a new pod of an ordinal gets the update revision.
func getsUpdate(in Input, ordinal int32) bool {
	partitioned := in.Spec.Strategy == api.RollingUpdate && ordinal < in.Spec.Partition
	return !partitioned && !in.Spec.Paused && in.Revisions.Blocked == ""
}

// TestBackoffHolds: no ended pod is replaced before its backoff, unless the new pod has another revision or the user
// requested the deletion. Other decisions do not depend on failures.
func TestBackoffHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyInput(t)
		for i := range in.Failures {
			pod := podAt(in, in.Failures[i].Ordinal)
			if pod == nil {
				in.Pods = append(in.Pods, anyPod(t, in.Failures[i].Ordinal))
				pod = &in.Pods[len(in.Pods)-1]
			}
			if often(t, "ends again") {
				pod.Phase, pod.Ready, pod.Revision, pod.Change, in.Failures[i].Revision = Failed, false, "b", Change{Same: true}, "b"
			}
		}
		d := Decide(in)
		for _, f := range in.Failures {
			pod := podAt(in, f.Ordinal)
			early := in.Now.Sub(f.At) < time.Second<<min(f.Count-1, 8)
			if pod == nil || !ended(pod) || pod.AskedToGo || pod.Revision != f.Revision || !early || !slices.Contains(in.Spec.Ordinals(), f.Ordinal) {
				continue
			}
			if getsUpdate(in, f.Ordinal) && in.Revisions.Update == f.Revision && d.FailedRevision == "" && slices.Contains(verbs(d, Delete), f.Ordinal) {
				t.Fatalf("ordinal %d is replaced %s after the last of %d: %+v", f.Ordinal, in.Now.Sub(f.At), f.Count, pod)
			}
		}
		in.Failures = nil
		without := Decide(in)
		for i := range in.Pods {
			if pod := &in.Pods[i]; !ended(pod) {
				of := func(d Decision) []Action {
					return slices.DeleteFunc(slices.Clone(d.Actions), func(a Action) bool { return a.Ordinal != pod.Ordinal })
				}
				if diff := cmp.Diff(of(without), of(d), cmpopts.EquateEmpty()); diff != "" {
					t.Fatalf("ordinal %d (-without failures +with them):\n%s", pod.Ordinal, diff)
				}
			}
		}
	})
}
