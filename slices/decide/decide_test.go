package decide

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// Helpers of package slicetest, which imports this package. Package decide_test sets them before a test starts.
var (
	noon      = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	slice     func(n int32, pods string, changes ...func(*Input)) Input
	podsOf    func(ordinal int32, text string) []Pod
	paused    func(*Input)
	settledAt func(revision string) func(*Input)
	partition func(int32) func(*Input)
	surge     func(int32) func(*Input)
	minReady  func(seconds int) func(*Input)
	by        func(api.UpdateStrategyType) func(*Input)
	namedSet  func(name string, labels map[string]string) *api.StatefulSet
)

// These are set by package decide_test.
var (
	Slice, PodsOf, Paused, SettledAt = &slice, &podsOf, &paused, &settledAt
	Partition, Surge, MinReady, By   = &partition, &surge, &minReady, &by
	NamedSet                         = &namedSet
)

// short returns a short text of the actions, without announcements that are followed by a deletion.
func short(d Decision) string {
	deleted := map[int32]bool{}
	for _, a := range d.Actions {
		deleted[a.Ordinal] = deleted[a.Ordinal] || a.Verb == Delete || a.Verb == Evict
	}
	var words []string
	for _, a := range d.Actions {
		switch {
		case a.Verb == Announce && deleted[a.Ordinal]: // this does not change the pod
		case a.Verb == Announce:
			words = append(words, fmt.Sprintf("Announce %d %s", a.Ordinal, a.Reason))
		case a.Verb == Create:
			words = append(words, fmt.Sprintf("Create %d%s", a.Ordinal, a.Revision))
		default:
			words = append(words, fmt.Sprintf("%s %d", a.Verb, a.Ordinal))
		}
	}
	return strings.Join(words, ", ")
}

// neverUp returns a slice whose pods that are not Ready were never available.
func neverUp(in Input) Input {
	for i := range in.Pods {
		in.Pods[i].NeverAvailable = !in.Pods[i].Ready
	}
	return in
}

// heldAs returns the reason for which an ordinal is held, or an empty string.
func heldAs(d Decision, ordinal int32) string {
	var reasons []string
	for _, hold := range d.Held {
		if hold.Ordinal == ordinal {
			reasons = append(reasons, hold.Reason)
		}
	}
	return strings.Join(reasons, ",")
}

func parallel(in *Input) { in.Spec.Parallel = true }

func from(start int32) func(*Input) { return func(in *Input) { in.Spec.Start = start } }

func unavailable(n int32) func(*Input) { return func(in *Input) { in.Spec.MaxUnavailable = n } }

func reserved(r ...Range) func(*Input) { return func(in *Input) { in.Spec.Reserved = r } }

type row struct {
	name string
	in   Input
	want string
	// held maps ordinals to reasons.
	held map[int32]string
}

func check(t *testing.T, rows []row) {
	t.Helper()
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			got := Decide(r.in)
			if diff := cmp.Diff(r.want, short(got)); diff != "" {
				t.Errorf("actions (-want +got):\n%s\nheld: %v", diff, got.Held)
			}
			for ordinal, reason := range r.held {
				if got := heldAs(got, ordinal); got != reason {
					t.Errorf("ordinal %d is held for %q, want %q", ordinal, got, reason)
				}
			}
		})
	}
}

func TestCreate(t *testing.T) {
	check(t, []row{
		{name: "K-001 K-005 the first pod", in: slice(3, ""), want: "Create 0b", held: map[int32]string{0: "", 1: HeldPredecessor, 2: HeldPredecessor}},
		{name: "K-001 the second waits", in: slice(3, "b-"), want: "", held: map[int32]string{0: HeldNotReady, 1: HeldPredecessor, 2: HeldPredecessor}},
		{name: "K-006 readiness is broken", in: slice(3, "b-"), want: ""},
		{name: "K-007 and is restored", in: slice(3, "b"), want: "Create 1b"},
		{name: "K-004 a predecessor that is lost is made again", in: slice(2, ". b-"), want: "Create 0b"},
		{name: "K-010 Parallel makes all", in: slice(3, "b-", parallel), want: "Create 1b, Create 2b"},
		{name: "K-024 Parallel makes all at once", in: slice(4, "", parallel), want: "Create 0b, Create 1b, Create 2b, Create 3b"},
		{name: "K-012 K-073 nothing to do", in: slice(3, "b b b", settledAt("b")), want: ""},
		{name: "K-015 lost pods", in: slice(5, ". b . b .", settledAt("b")), want: "Create 0b"},
		{name: "K-015 lost pods, Parallel", in: slice(5, ". b . b .", settledAt("b"), parallel), want: "Create 0b, Create 2b, Create 4b"},
		{name: "K-016 K-011 D-015 a Failed pod", in: slice(3, "b! b b", settledAt("b")), want: "Delete 0"},
		{name: "K-016 a Failed pod, Parallel", in: slice(3, "b! b b", settledAt("b"), parallel), want: "Delete 0"},
		{name: "K-017 a Succeeded pod", in: slice(3, "b$ b b", settledAt("b")), want: "Delete 0"},
		{name: "K-018 it is not made again before it is gone", in: slice(3, "b!t b b", settledAt("b")), want: "", held: map[int32]string{0: HeldTerminating}},
		{name: "K-026 D-017 Parallel: Terminating, Failed, Succeeded", in: slice(3, "b!t b! b$", settledAt("b"), parallel), want: "Delete 1, Delete 2"},
		{name: "K-033 a Terminating pod blocks scaling", in: slice(5, "bt b b", settledAt("b")), want: "", held: map[int32]string{3: HeldPredecessor}},
		{name: "K-111 a higher start", in: slice(2, "2: b b", from(4), settledAt("b")), want: "Create 4b"},
		{name: "K-112 a lower start", in: slice(2, "3: b b", from(2), settledAt("b")), want: "Create 2b", held: map[int32]string{4: HeldScaleDown}},
		{name: "K-113 no start", in: slice(2, "3: b b", settledAt("b")), want: "Create 0b", held: map[int32]string{3: HeldScaleDown, 4: HeldScaleDown}},
		{name: "K-114 R-005 a start", in: slice(3, "", from(2), parallel), want: "Create 2b, Create 3b, Create 4b"},
		{name: "R-007 a start and reserved ordinals", in: slice(3, "", from(2), parallel, reserved(Range{0, 0}, Range{2, 5})), want: "Create 6b, Create 7b, Create 8b"},
		{name: "R-002 a reserved ordinal is left, another made", in: slice(4, "0: b . b b b", reserved(Range{1, 1}, Range{3, 3}), settledAt("b")), want: "Create 5b", held: map[int32]string{3: HeldScaleDown}},
		{name: "R-002 then the reserved one goes", in: slice(4, "0: b . b b b b", reserved(Range{1, 1}, Range{3, 3}), settledAt("b")), want: "Delete 3"},
		{name: "R-003 reserved and scaled down at once", in: slice(3, "0: b . b b b", reserved(Range{1, 1}, Range{3, 3}), settledAt("b")), want: "Delete 3"},
		{name: "R-042 scaleStrategy", in: slice(5, "", parallel, func(in *Input) { in.Spec.ScaleMaxUnavailable = 2 }), want: "Create 0b, Create 1b", held: map[int32]string{2: HeldScaleStrategy}},
		{name: "R-042 one is Ready", in: slice(5, "b b-", parallel, func(in *Input) { in.Spec.ScaleMaxUnavailable = 2 }), want: "Create 2b"},
		{name: "R-046 minReadySeconds, not yet", in: slice(3, "b3", minReady(60)), want: "", held: map[int32]string{0: HeldMinReady}},
		{name: "R-046 minReadySeconds, over", in: slice(3, "b3", minReady(3)), want: "Create 1b"},
		{name: "R-046 Parallel does not wait", in: slice(3, "b3", minReady(60), parallel), want: "Create 1b, Create 2b"},
		{name: "K-187 a claim of a former pod is waited for", in: slice(3, "b b .", settledAt("b"), func(in *Input) { in.StaleClaims = []int32{2} }), want: "", held: map[int32]string{2: HeldStaleClaim}},
		{name: "K-187 others are not, in Parallel", in: slice(3, ". b .", settledAt("b"), parallel, func(in *Input) { in.StaleClaims = []int32{0} }), want: "Create 2b"},
		{name: "K-031 D-050 nothing is made while deleting", in: slice(3, "b", func(in *Input) { in.Spec.Deleting = true }), want: "Announce 0 Deletion"},
		{name: "S-018 deleting without the pods", in: slice(3, "b", func(in *Input) { in.Spec.Deleting, in.Spec.Orphaning = true, true }), want: ""},
		{name: "S-018 adopted in mid-way", in: slice(4, "a a b b"), want: "Delete 1"},
	})
}

// TestHealBesideHandover: a pod of a handed-over ordinal that is not available does not prevent the recreation of a lost pod
// that ran before.
func TestHealBesideHandover(t *testing.T) {
	migrating := func(in *Input) { in.Spec.Migrating = true }
	check(t, []row{
		{name: "below a never Ready ordinal", in: slice(3, "b . b-", settledAt("b")), want: "Create 1b"},
		{name: "above a never Ready ordinal, which is handed over", in: slice(3, "3: b- . b", from(3), settledAt("b"), migrating), want: "Create 4b"},
		{name: "above a never Ready ordinal, in order", in: slice(3, "3: b- . b", from(3), settledAt("b")), want: ""},
		{name: "one by one", in: slice(4, "3: b- . . b", from(3), settledAt("b"), migrating), want: "Create 4b"},
	})
}

func TestRepair(t *testing.T) {
	broken := func(change func(*Pod)) Input {
		in := slice(2, "b b?", settledAt("b"))
		change(&in.Pods[1])
		return in
	}
	check(t, []row{
		{name: "K-036 a claim of a Pending pod is missing", in: broken(func(p *Pod) { p.ClaimsMissing = true }), want: "CreateClaims 1"},
		{name: "K-036 and the owners of another one", in: broken(func(p *Pod) { p.ClaimsMissing, p.ClaimsOK = true, false }), want: "CreateClaims 1, OwnClaims 1"},
		{name: "K-036 not of one that is scaled away", in: slice(1, "b b?", settledAt("b")).with(1, func(p *Pod) { p.ClaimsMissing = true }), want: "Delete 1"},
		{name: "K-175 owners, of one that stays", in: broken(func(p *Pod) { p.ClaimsOK = false }), want: "OwnClaims 1"},
		{name: "K-175 of one that is scaled away while it is Terminating", in: slice(1, "b bt", settledAt("b")).with(1, func(p *Pod) { p.ClaimsOK = false }), want: "OwnClaims 1"},
		{name: "K-175 of one that comes back while it is Terminating: they stay", in: slice(2, "b bt", settledAt("b")).with(1, func(p *Pod) { p.ClaimsOK = false }), want: "OwnClaims 1"},
		{name: "X-12 but those of a pod that stood in go", in: slice(2, "b bt", settledAt("b")).with(1, func(p *Pod) { p.ClaimsOK, p.StandIn = false, true }), want: ""},
		{name: "K-175 of one that has ended and is scaled away", in: slice(1, "b b!", settledAt("b")).with(1, func(p *Pod) { p.ClaimsOK = false }), want: "OwnClaims 1, Delete 1"},
		{name: "K-167 identity", in: broken(func(p *Pod) { p.IdentityOK = false }), want: "Repair 1"},
		{name: "K-166 nothing", in: broken(func(*Pod) {}), want: ""},
		{name: "not while Terminating", in: broken(func(p *Pod) { p.IdentityOK, p.Terminating = false, true }), want: ""},
		{name: "K-175 R-104 owners first, then the deletion", in: func() Input {
			in := slice(1, "b b", settledAt("b"))
			in.Pods[1].ClaimsOK = false
			return in
		}(), want: "OwnClaims 1, Delete 1"},
	})
}

func TestScaleDown(t *testing.T) {
	check(t, []row{
		{name: "K-009 G-19 highest first", in: slice(0, "b b b", settledAt("b")), want: "Delete 2"},
		{name: "K-009 the next one when it is gone", in: slice(0, "b b bt", settledAt("b")), want: "", held: map[int32]string{0: HeldScaleDown, 2: HeldTerminating}},
		{name: "K-008 none is Ready", in: slice(0, "b- b- b-", settledAt("b")), want: "", held: map[int32]string{2: HeldScaleDown}},
		{name: "K-008 the only one that is not Ready goes", in: slice(0, "b b b-", settledAt("b")), want: "Delete 2"},
		{name: "K-008 one below is not Ready", in: slice(1, "b- b b", settledAt("b")), want: "", held: map[int32]string{1: HeldScaleDown, 2: HeldScaleDown}},
		{name: "K-097 minReadySeconds", in: slice(1, "b b3 b3", minReady(60), settledAt("b")), want: ""},
		{name: "K-010 Parallel", in: slice(0, "b- b- b-", settledAt("b"), parallel), want: "Delete 2, Delete 1, Delete 0"},
		{name: "K-032 Terminating pods are not deleted again", in: slice(3, "b b b bt bt", settledAt("b")), want: ""},
		{name: "K-032 Parallel", in: slice(3, "b b b bt bt", settledAt("b"), parallel), want: ""},
		{name: "K-115 to the first ordinal", in: slice(1, "4: b b", from(4), settledAt("b")), want: "Delete 5"},
		{name: "K-117 S-014 created first, Parallel", in: slice(2, "3: b b", from(1), settledAt("b"), parallel), want: "Create 1b, Create 2b", held: map[int32]string{3: HeldScaleDown, 4: HeldScaleDown}},
		{name: "K-117 S-014 then deleted", in: slice(2, "1: b b- b b", from(1), settledAt("b"), parallel), want: "Delete 4, Delete 3"},
		{name: "S-014 OrderedReady", in: slice(2, "1: b . b b", from(1), settledAt("b")), want: "Create 2b"},
		{name: "S-014 OrderedReady, then deleted one by one", in: slice(2, "1: b b b b", from(1), settledAt("b")), want: "Delete 4"},
		{name: "S-014 one made, one may go", in: slice(2, "1: b . b b", from(1), settledAt("b"), parallel, func(in *Input) { in.StaleClaims = []int32{2} }), want: "Delete 4", held: map[int32]string{3: HeldScaleDown}},
		{name: "R-103 reserved ordinals", in: slice(1, "1: b 6: b b", from(0), settledAt("b"), reserved(Range{0, 0}, Range{2, 5})), want: "Delete 7"},
		{name: "a handed-over ordinal goes", in: slice(2, "b b b", settledAt("b")), want: "Delete 2"},
		{name: "S-008 before an update", in: slice(3, "a a a a a"), want: "Delete 4", held: map[int32]string{2: HeldScaleFirst, 3: HeldScaleDown}},
		{name: "S-008 before an update, Parallel", in: slice(3, "a a a a a", parallel), want: "Delete 4, Delete 3, Delete 2"},
		{name: "G-19 one that has ended is not waited for", in: slice(1, "b b- b!", settledAt("b")), want: "Delete 2"},
		{name: "nor is one below it", in: slice(1, "b b! b-", settledAt("b")), want: "Delete 2"},
		{name: "S-008 until it is gone", in: slice(3, "a a a at"), want: "", held: map[int32]string{2: HeldScaleFirst}},
		{name: "S-008 until it is deleted, Parallel", in: slice(3, "a a a at", parallel), want: "Delete 2"},
		{name: "S-008 R-073 one is held back, Parallel", in: slice(3, "a a a a", parallel).with(3, func(p *Pod) { p.HeldForDelete = true }), want: "Announce 3 ScaleDown", held: map[int32]string{2: HeldScaleFirst}},
		{name: "an old revision does not block", in: slice(1, "b a- a-"), want: "Delete 2"},
	})
}

func TestUpdate(t *testing.T) {
	check(t, []row{
		{name: "K-050 highest first", in: slice(3, "a a a"), want: "Delete 2", held: map[int32]string{0: HeldBudget, 1: HeldBudget}},
		{name: "K-050 it is waited for", in: slice(3, "a a at"), want: ""},
		{name: "K-050 and made again", in: slice(3, "a a ."), want: "Create 2b"},
		{name: "K-050 and waited for", in: slice(3, "a a b-"), want: "", held: map[int32]string{1: HeldBatch, 2: HeldNotReady}},
		{name: "K-050 then the next", in: slice(3, "a a b"), want: "Delete 1"},
		{name: "K-051 S-006 rolled back in mid-way: those that never changed are left", in: slice(3, "b b a"), want: "Delete 2"},
		{name: "D-014 rolled back without unnecessary restarts", in: slice(4, "b b b a-"), want: "Delete 3"},
		{name: "K-053 a partition", in: slice(3, "a a a", partition(2)), want: "Delete 2"},
		{name: "K-053 a partition, done", in: slice(3, "a a b", partition(2)), want: ""},
		{name: "K-056 below the partition, Terminating", in: slice(3, "at b b", partition(1)), want: ""},
		{name: "K-056 below the partition, made again at the old revision", in: slice(3, ". b b", partition(1)), want: "Create 0a"},
		{name: "K-057 with a failing container", in: slice(3, "a! b b", partition(1)), want: "Delete 0"},
		{name: "K-058 Failed with a finalizer", in: slice(2, "a!t b", partition(1)), want: ""},
		{name: "K-058 Failed, and gone", in: slice(2, ". b", partition(1)), want: "Create 0a"},
		{name: "S-005 a canary while scaling up", in: slice(4, "a a a", partition(3)), want: "Create 3b"},
		{name: "S-005 phased", in: slice(4, "a a a b", partition(1)), want: "Delete 2"},
		{name: "R-011 no partition: a lost pod comes with the update revision", in: slice(3, "a . a"), want: "Create 1b"},
		{name: "R-014 reserved ordinals do not shift the partition", in: slice(3, "a . . a", reserved(Range{1, 1}), partition(2)), want: "Create 2b"},
		{name: "R-017 nor does how many are updated", in: slice(4, "b . . b b", reserved(Range{1, 1}), partition(2)), want: "Create 2b"},
		{name: "R-017 nor a start", in: slice(3, "2: b . . b", from(2), reserved(Range{3, 3}), partition(4)), want: "Create 4b"},
		{name: "R-012 above the partition", in: slice(3, "a . b", partition(1)), want: "Create 1b"},
		{name: "R-013 below the partition", in: slice(3, ". b b", partition(1)), want: "Create 0a"},
		{name: "K-119 R-015 the partition is an ordinal", in: slice(9, "2: a a a a a a a a a", from(2), partition(5), unavailable(9), parallel), want: "Delete 10, Delete 9, Delete 8, Delete 7, Delete 6, Delete 5"},
		{name: "K-059 K-061 OnDelete leaves pods alone", in: slice(3, "a a a-", by(api.OnDelete)), want: "", held: map[int32]string{0: HeldOnDelete, 2: HeldOnDelete}},
		{name: "K-061 OnDelete, scaled up", in: slice(5, "a a a", by(api.OnDelete)), want: "Create 3b"},
		{name: "D-013 K-059 OnDelete, deleted", in: slice(3, "a . a", by(api.OnDelete)), want: "Create 1b"},
		{name: "K-061 OnDelete, scaled down", in: slice(3, "a a a a a", by(api.OnDelete)), want: "Delete 4"},
		{name: "K-098 OnDelete, minReadySeconds", in: slice(2, "a a3", by(api.OnDelete), minReady(60)), want: ""},
		{name: "K-096 minReadySeconds", in: slice(2, "a b3", minReady(60)), want: ""},
		{name: "K-099 no minReadySeconds", in: slice(2, "a b0"), want: "Delete 0"},
		{name: "K-100 partition and minReadySeconds", in: slice(4, "a a a b3", partition(2), minReady(60)), want: ""},
		{name: "R-047 minReadySeconds, maxUnavailable 2", in: slice(6, "a a a a b3 b3", minReady(60), unavailable(2), parallel), want: ""},
		{name: "R-047 and over", in: slice(6, "a a a a b6 b6", minReady(5), unavailable(2), parallel), want: "Delete 3, Delete 2"},
		{name: "K-065 maxUnavailable 2", in: slice(5, "a a a a a", unavailable(2)), want: "Delete 4, Delete 3"},
		{name: "K-070 a broken batch is replaced, the next one waits", in: slice(5, "a a a x- b-", unavailable(2)), want: "Delete 3", held: map[int32]string{2: HeldBatch}},
		{name: "K-065 in batches", in: slice(5, "a a a b- b", unavailable(2)), want: "", held: map[int32]string{2: HeldBatch}},
		{name: "K-065 a batch is through when its last pod is", in: slice(5, "a a a at b", unavailable(2)), want: ""},
		{name: "K-065 the next batch", in: slice(5, "a a a b b", unavailable(2)), want: "Delete 2, Delete 1"},
		{name: "R-041 100%", in: slice(3, "a a a", parallel, unavailable(3)), want: "Delete 2, Delete 1, Delete 0"},
		{name: "R-030 no strategy", in: slice(3, "a a a", parallel), want: "Delete 2"},
		{name: "R-033 gaps do not count", in: slice(3, "a . a . a", reserved(Range{1, 1}, Range{3, 3}), partition(2)), want: "Delete 4"},
		{name: "R-033 the partition is an ordinal: the next one", in: slice(3, "a . a . b", reserved(Range{1, 1}, Range{3, 3}), partition(2)), want: "Delete 2"},
		{name: "R-038 Parallel, partition 3", in: slice(6, "a a a a a a", parallel, partition(3), unavailable(2)), want: "Delete 5, Delete 4"},
		{name: "R-038 made again", in: slice(6, "a a a a . .", parallel, partition(3), unavailable(2)), want: "Create 4b, Create 5b"},
		{name: "R-038 then the next", in: slice(6, "a a a a b b", parallel, partition(3), unavailable(2)), want: "Delete 3"},
		{name: "R-039 one below the partition is Terminating", in: slice(6, "at a a a a a", parallel, partition(3), unavailable(2)), want: "Delete 5"},
		{name: "R-039 two are", in: slice(6, "at a at a a b", parallel, partition(3), unavailable(2)), want: ""},
		{name: "S-001 only the partition's", in: slice(5, "a a a a a", parallel, partition(4), unavailable(3)), want: "Delete 4"},
		{name: "S-002 then three at once", in: slice(5, "a a a a b", parallel, unavailable(3)), want: "Delete 3, Delete 2, Delete 1"},
		{name: "S-003 a window that slides", in: slice(5, "a b b- b- b", parallel, unavailable(3)), want: "Delete 0"},
		{name: "D-007 no change", in: slice(5, "b b b b b", settledAt("b"), unavailable(2)), want: ""},
		{name: "D-001 five pods", in: slice(5, "a a a a a", parallel, unavailable(2)), want: "Delete 4, Delete 3"},
		{name: "D-001 the last one", in: slice(5, "a b b b b", parallel, unavailable(2)), want: "Delete 0"},
		{name: "D-002 a broken roll-out halts at the budget", in: slice(5, "a a b- b- b-", parallel, unavailable(3)), want: ""},
		{name: "D-003 S-017 D-046 rolled over: only what is unavailable", in: slice(5, "a a a x- x-", parallel, unavailable(2)), want: "Delete 4, Delete 3"},
		{name: "D-004 R-041 none is Ready: all at once", in: neverUp(slice(5, "a- a- a- a- a-", parallel, unavailable(3))), want: "Delete 4, Delete 3, Delete 2, Delete 1, Delete 0"},
		{name: "D-004 OrderedReady", in: neverUp(slice(3, "a- a- a-")), want: "Delete 2, Delete 1, Delete 0"},
		{name: "D-005 the budget is used up by new pods", in: neverUp(slice(6, "a a a- b- b- b-", parallel, unavailable(3))), want: "Delete 2"},
		{name: "D-006 healthy old ones are left", in: slice(6, "a a a x- x- x-", parallel, unavailable(3)), want: "Delete 5, Delete 4, Delete 3"},
		{name: "D-006 one more", in: slice(6, "a a a x- x- x-", parallel, unavailable(4)), want: "Delete 5, Delete 4, Delete 3, Delete 2"},
		{name: "K-070 S-007 a stuck roll-out is rolled forward", in: slice(3, "a a x-"), want: "Delete 2"},
		{name: "K-070 rolled back", in: slice(3, "b b x-"), want: "Delete 2"},
		{name: "K-070 stuck at the first pod", in: slice(3, "x-"), want: "Delete 0"},
		{name: "K-070 unhealthy first", in: slice(3, "a- a a"), want: "Delete 0", held: map[int32]string{2: HeldBudget}},
		{name: "K-070 also before scaling", in: slice(2, "b x- x"), want: "Delete 1", held: map[int32]string{2: HeldScaleDown}},
		{name: "R-043 D-031 paused", in: slice(3, "a a a", paused), want: "", held: map[int32]string{0: HeldPaused}},
		{name: "R-044 S-019 paused, scaled up", in: slice(5, "a a a", paused, parallel), want: "Create 3b, Create 4b"},
		{name: "S-019 paused, scaled down", in: slice(2, "a a a", paused), want: "Delete 2"},
		{name: "S-019 paused, healed", in: slice(3, "a . a", paused), want: "Create 1b"},
		{name: "R-045 resumed", in: slice(3, "a a a"), want: "Delete 2"},
		{name: "K-062 scaled up at once", in: slice(5, "a a a"), want: "Create 3b"},
		{name: "D-035 K-062 scaled down at once", in: slice(3, "a a a a b"), want: "Delete 4"},
		{name: "a revision that the partition keeps", in: slice(3, "x a b", partition(2)), want: "", held: map[int32]string{0: HeldPartition}},
	})
}

// TestBudgetOfTerminatingPods: Terminating pods, also below the partition, count against the budget.
func TestBudgetOfTerminatingPods(t *testing.T) {
	for _, policy := range []bool{false, true} {
		for _, terminating := range [][]int{{}, {5}, {3}, {4}, {5, 4}, {5, 3}, {4, 3}, {5, 4, 3}, {2}, {1}} {
			t.Run(fmt.Sprintf("K-067 Parallel %v %v", policy, terminating), func(t *testing.T) {
				in := slice(6, "a a a a a a", partition(3), unavailable(2))
				in.Spec.Parallel = policy
				for _, ordinal := range terminating {
					in.Pods[ordinal].Terminating = true
				}
				if got, want := strings.Count(short(Decide(in)), "Delete"), max(0, 2-len(terminating)); got != want {
					t.Errorf("%d pods are deleted, want %d", got, want)
				}
			})
		}
	}
}

// TestManyPods uses the numbers of DaemonSet's tests.
func TestManyPods(t *testing.T) {
	many := func(n int, word string) string { return strings.Repeat(word+" ", n) }
	for _, c := range []struct {
		name        string
		pods        string
		unavailable int32
		want        int
	}{
		{"D-005 88 new and 2 old are unavailable", many(10, "a") + many(2, "a-") + many(88, "b-"), 10, 2},
		{"D-006 10 are healthy", many(10, "a") + many(10, "x-"), 9, 10},
		{"D-006 one more may go", many(10, "a") + many(10, "x-"), 11, 11},
		{"R-041 all are broken, maxUnavailable 100%", many(10, "x-"), 10, 10},
		{"D-004 all are broken", many(5, "a-"), 3, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := int32(len(strings.Fields(c.pods)))
			d := Decide(neverUp(slice(n, c.pods, parallel, unavailable(c.unavailable))))
			if got := strings.Count(short(d), "Delete"); got != c.want {
				t.Errorf("%d pods are deleted, want %d", got, c.want)
			}
		})
	}
}
