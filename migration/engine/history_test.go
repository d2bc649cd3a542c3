package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// mostHistory is the maximum size of a history, in bytes of encoded JSON.
const mostHistory = 24 << 10

// historian renders one status after the other, as passes do.
type historian struct {
	m    *api.Migration
	now  time.Time
	seen observations
	// slices changes the snapshots of the next passes.
	slices func(*plan.Snapshot)
}

func newHistorian() *historian {
	m := &api.Migration{Status: api.MigrationStatus{Baseline: &api.Baseline{Replicas: 3}, Fence: &api.Fence{Epoch: 1, Holder: "one", Direction: api.Forward}}}
	renderHistory(m, api.MigrationStatus{}, time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), nil, &observations{})
	return &historian{m: m, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
}

// pass changes the status after a time, and optionally finishes a handoff.
func (h *historian) pass(after time.Duration, available int32, change func(*api.MigrationStatus), finished *api.Handoff) {
	h.now = h.now.Add(after)
	before := *h.m.Status.DeepCopy()
	change(&h.m.Status)
	s := plan.Snapshot{Now: h.now}
	s.Source.Reach, s.Destination.Reach = plan.Seen, plan.Seen
	s.Source.Set = plan.Set{Presence: plan.Seen, Replicas: available}
	for k := range available {
		s.Source.Pods = append(s.Source.Pods, plan.Pod{Ordinal: k, Ready: true, Owned: true})
	}
	if h.slices != nil {
		h.slices(&s)
	}
	h.seen.note(&api.Migration{Status: before}, s)
	h.seen.fewestIn(&before)
	h.seen.noteFewest(h.m, s)
	h.seen.fewestIn(&h.m.Status)
	renderHistory(h.m, before, s.Now, finished, &h.seen)
}

func (h *historian) begin(ordinal int32) func(*api.MigrationStatus) {
	return func(s *api.MigrationStatus) {
		s.Handoff = &api.Handoff{Ordinal: ordinal, StartTime: metav1.NewMicroTime(h.now), Attempts: 1}
	}
}

// progressing sets the condition that shows whether a migration continues.
func (h *historian) progressing(status metav1.ConditionStatus, reason string) func(*api.MigrationStatus) {
	return func(s *api.MigrationStatus) {
		was := s.DeepCopy().Conditions
		since := metav1.NewTime(h.now)
		if len(was) > 0 && was[0].Status == status {
			since = was[0].LastTransitionTime
		}
		s.Conditions = []metav1.Condition{{Type: api.ConditionProgressing, Status: status, Reason: reason, Message: "why", LastTransitionTime: since}}
	}
}

// TestHistory: the history lists handoffs with their lowest number of available replicas, stops with their
// reasons, also consecutive ones, and the drivers.
func TestHistory(t *testing.T) {
	h, same := newHistorian(), func(*api.MigrationStatus) {}
	begun := h.now
	at := func(seconds int) metav1.Time { return metav1.NewTime(begun.Add(time.Duration(seconds) * time.Second)) }
	micro := func(seconds int) metav1.MicroTime { return metav1.NewMicroTime(at(seconds).Time) }
	h.pass(0, 3, h.begin(2), nil)
	h.pass(5*time.Second, 2, same, nil)
	h.pass(time.Second, 3, same, nil)
	h.pass(time.Second, 3, h.begin(1), h.m.Status.Handoff)
	h.pass(3*time.Second, 1, h.progressing(metav1.ConditionFalse, api.ReasonPodNotReady), nil)
	h.pass(10*time.Second, 1, h.progressing(metav1.ConditionFalse, api.ReasonPaused), nil)
	h.pass(20*time.Second, 2, func(s *api.MigrationStatus) {
		h.progressing(metav1.ConditionTrue, api.ReasonMoving)(s)
		s.Fence = &api.Fence{Epoch: 2, Holder: "two", Direction: api.Back}
		s.Handoff = &api.Handoff{Ordinal: 1, StartTime: metav1.NewMicroTime(h.now), Attempts: 2}
	}, nil)
	h.pass(5*time.Second, 3, func(s *api.MigrationStatus) { s.Handoff = nil }, h.m.Status.Handoff)
	want := &api.History{
		Handoffs: []api.PastHandoff{
			{Ordinal: 2, Direction: api.Forward, StartTime: micro(0), EndTime: micro(7), Attempts: 1, Epoch: 1, FewestAvailable: new(int32(2))},
			{Ordinal: 1, Direction: api.Forward, StartTime: micro(7), EndTime: micro(40), Outcome: api.HandoffTurnedBack, Stayed: true, Attempts: 1, Epoch: 1, FewestAvailable: new(int32(1))},
			{Ordinal: 1, Direction: api.Back, StartTime: micro(40), EndTime: micro(45), Stayed: true, Attempts: 2, Epoch: 2, FewestAvailable: new(int32(2))},
		},
		Stops: []api.PastStop{
			{Reason: api.ReasonPodNotReady, Message: "why", Ordinal: new(int32(1)), StartTime: at(10), EndTime: at(20)},
			{Reason: api.ReasonPaused, Message: "why", Ordinal: new(int32(1)), StartTime: at(20), EndTime: at(40)},
		},
		Drivers: []api.Driver{
			{Epoch: 1, Holder: "one", Direction: api.Forward, StartTime: at(0)},
			{Epoch: 2, Holder: "two", Direction: api.Back, StartTime: at(40)},
		},
	}
	if diff := cmp.Diff(want, h.m.Status.History); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestFewest: the lowest number of replicas of a handoff is kept over passes that write nothing, but not into
// the next handoff. It includes the observations of an earlier process.
func TestFewest(t *testing.T) {
	of := func(available int32) plan.Snapshot {
		s := plan.Snapshot{Now: time.Unix(100, 0)}
		s.Source.Reach, s.Destination.Reach = plan.Seen, plan.Seen
		s.Source.Set = plan.Set{Presence: plan.Seen, Replicas: available}
		for k := range available {
			s.Source.Pods = append(s.Source.Pods, plan.Pod{Ordinal: k, Ready: true, Owned: true})
		}
		return s
	}
	at := func(second int64) metav1.MicroTime { return metav1.NewMicroTime(time.Unix(second, 0)) }
	handoff := &api.Handoff{Ordinal: 1, StartTime: at(1)}
	unseen := of(0)
	unseen.Destination.Reach = plan.Unreachable
	var f fewest
	for _, s := range []plan.Snapshot{of(3), of(2), unseen, of(3)} {
		f.note(handoff, s)
	}
	f.note(nil, of(0))
	if got := f.in(handoff).FewestAvailable; got == nil || *got != 2 {
		t.Errorf("kept: %v, want 2", got)
	}
	if handoff.FewestAvailable != nil {
		t.Error("the one that is given was changed")
	}
	if got := f.in(&api.Handoff{Ordinal: 1, StartTime: at(1), FewestAvailable: new(int32(1))}).FewestAvailable; *got != 1 {
		t.Errorf("with 1 seen by an earlier process: %d", *got)
	}
	for _, other := range []*api.Handoff{nil, {Ordinal: 0, StartTime: at(1)}, {Ordinal: 1, StartTime: at(2)}} {
		if got := f.in(other); got != other {
			t.Errorf("another handoff, %+v, has %+v", other, got)
		}
	}
	before, after := &api.Migration{}, &api.Migration{}
	before.Status.Handoff, after.Status.Handoff = handoff, f.in(handoff)
	if changed(before, after) {
		t.Error("it is a reason to write")
	}
	after.Status.Handoff.Attempts++
	if !changed(before, after) || after.Status.Handoff.FewestAvailable == nil {
		t.Errorf("another attempt is none, or it is not written with that: %+v", after.Status.Handoff)
	}
	f.note(&api.Handoff{Ordinal: 0, StartTime: at(2)}, of(3))
	if got := f.in(&api.Handoff{Ordinal: 0, StartTime: at(2)}).FewestAvailable; got == nil || *got != 3 {
		t.Errorf("of the next one: %v, want 3", got)
	}
}

// TestHistoryOfTheEnd: the completion of a migration is not a stop, even if it is reversed later.
func TestHistoryOfTheEnd(t *testing.T) {
	h := newHistorian()
	h.pass(0, 3, func(s *api.MigrationStatus) {
		s.Conditions = []metav1.Condition{
			{Type: api.ConditionProgressing, Status: metav1.ConditionFalse, Reason: api.ReasonRolledBack},
			{Type: api.ConditionCompleted, Status: metav1.ConditionTrue, Reason: api.ReasonRolledBack},
		}
	}, nil)
	h.pass(time.Hour, 3, h.progressing(metav1.ConditionTrue, api.ReasonMoving), nil)
	if got := h.m.Status.History.Stops; len(got) != 0 {
		t.Errorf("stops: %+v", got)
	}
}

// TestHistoryIsBounded: however long a migration runs, its history is bounded and in order, and counts the
// dropped entries.
func TestHistoryIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := newHistorian()
		handoffs, stops := 0, 0
		for i := range rapid.IntRange(1, 200).Draw(t, "passes") {
			switch rapid.IntRange(0, 2).Draw(t, "what") {
			case 0:
				h.pass(time.Second, 3, h.begin(int32(i)), h.m.Status.Handoff)
				if handoffs++; handoffs == 1 && h.m.Status.History.Handoffs == nil {
					handoffs = 0 // no current handoff
				}
			case 1:
				h.pass(time.Second, 2, h.progressing(metav1.ConditionFalse, api.ReasonPodNotReady), nil)
				h.pass(time.Second, 2, h.progressing(metav1.ConditionTrue, api.ReasonMoving), nil)
				stops++
			default:
				h.pass(time.Second, 2, func(s *api.MigrationStatus) {
					s.Fence = &api.Fence{Epoch: int64(i), Holder: strings.Repeat("h", 253), Direction: api.Forward}
				}, nil)
			}
		}
		got := h.m.Status.History
		if len(got.Handoffs) > mostHandoffs || len(got.Stops) > mostStops || len(got.Drivers) > mostDrivers {
			t.Fatalf("%d handoffs, %d stops, %d drivers", len(got.Handoffs), len(got.Stops), len(got.Drivers))
		}
		if n := len(got.Handoffs) + int(got.Dropped); n != handoffs {
			t.Fatalf("%d handoffs are known of %d", n, handoffs)
		}
		if n := len(got.Stops) + int(got.DroppedStops); n != stops {
			t.Fatalf("%d stops are known of %d", n, stops)
		}
		for i := range got.Handoffs {
			if i > 0 && got.Handoffs[i].EndTime.Time.Before(got.Handoffs[i-1].EndTime.Time) {
				t.Fatal("handoffs are not in order")
			}
		}
	})
}

// TestHistoryIsSmall: a history full of the longest texts is within its size limit.
func TestHistoryIsSmall(t *testing.T) {
	h := newHistorian()
	for i := range int32(3 * mostHandoffs) {
		h.pass(time.Second, 3, h.begin(1_000_000_000+i), h.m.Status.Handoff)
		h.pass(time.Second, 2, h.progressing(metav1.ConditionFalse, api.ReasonPodNotReady), nil)
		h.m.Status.Conditions[0].Message = strings.Repeat("<", 10_000)
		h.pass(time.Second, 2, h.progressing(metav1.ConditionTrue, api.ReasonMoving), nil)
		h.pass(0, 2, func(s *api.MigrationStatus) {
			s.Fence = &api.Fence{Epoch: int64(i), Holder: fmt.Sprintf("%0253d", i), Direction: api.Forward}
		}, nil)
	}
	for i := range h.m.Status.History.Handoffs {
		past := &h.m.Status.History.Handoffs[i]
		past.StopTime, past.Outcome = metav1.NewMicroTime(h.now), api.HandoffTurnedBack
	}
	kept := &api.Migration{Status: api.MigrationStatus{History: h.m.Status.History}}
	if got := sized(t, kept); got > mostHistory {
		t.Errorf("it has %d bytes", got)
	}
}

// TestSealsInHistory: seals are listed only for volumes that were copied from the side that the ordinal has
// left.
func TestSealsInHistory(t *testing.T) {
	sealed := func(giver plan.SideName, root string) api.CopyAttempt {
		return api.CopyAttempt{Giver: string(giver), Seal: api.CopySeal{Root: root, Verify: api.CopyVerifyFull, Bytes: 1, Files: 2, Trusted: 3}}
	}
	dropped := sealed(plan.SourceSide, "dropped")
	dropped.Dropped = true
	volumes := []api.HandoffVolume{
		{ClaimTemplate: "data", Copy: sealed(plan.SourceSide, "forward")},
		{ClaimTemplate: "wal", Copy: sealed(plan.DestinationSide, "back")},
		{ClaimTemplate: "old", Copy: dropped},
		{ClaimTemplate: "shared"},
	}
	for direction, want := range map[api.Direction]api.PastSeal{
		api.Forward: {Ordinal: 2, ClaimTemplate: "data", Direction: api.Forward, Root: "forward", Verify: api.CopyVerifyFull, Bytes: 1, Files: 2, Trusted: 3},
		api.Back:    {Ordinal: 2, ClaimTemplate: "wal", Direction: api.Back, Root: "back", Verify: api.CopyVerifyFull, Bytes: 1, Files: 2, Trusted: 3},
	} {
		h := newHistorian()
		h.m.Status.Fence.Direction = direction
		h.pass(0, 3, h.begin(2), nil)
		h.m.Status.Handoff.Volumes = volumes
		h.pass(time.Second, 3, func(s *api.MigrationStatus) { s.Handoff = nil }, h.m.Status.Handoff)
		want.EndTime = metav1.NewMicroTime(h.now)
		if diff := cmp.Diff([]api.PastSeal{want}, h.m.Status.History.Seals); diff != "" {
			t.Errorf("%s: -want +got:\n%s", direction, diff)
		}
	}
	h := newHistorian()
	for ordinal := range int32(mostSeals + 1) {
		h.pass(0, 3, h.begin(ordinal), nil)
		h.m.Status.Handoff.Volumes = volumes
		h.pass(time.Second, 3, func(s *api.MigrationStatus) { s.Handoff = nil }, h.m.Status.Handoff)
	}
	if got := h.m.Status.History; len(got.Seals) != mostSeals || got.DroppedSeals != 1 || got.Seals[0].Ordinal != 1 {
		t.Errorf("%d seals, of which the first is of ordinal %d; %d are dropped", len(got.Seals), got.Seals[0].Ordinal, got.DroppedSeals)
	}
}

// longOutage has parts of days, to the millisecond.
func longOutage() api.OutageParts {
	const part = 999*time.Hour + 59*time.Minute + 59*time.Second + 999*time.Millisecond
	long := metav1.Duration{Duration: part}
	return api.OutageParts{Stop: long, Detach: long, Carry: long, Copy: long, Start: long}
}

// TestProofsInHistory: the seal of a copy says when its source had been read whole after the start, or when the user
// accepted that it differs. Before that it says neither.
func TestProofsInHistory(t *testing.T) {
	h := newHistorian()
	attempt := api.CopyAttempt{Giver: string(plan.SourceSide), Seal: api.CopySeal{Root: "r", Verify: api.CopyVerifyLater, From: "a", To: "b"}}
	of := func(a api.CopyAttempt) []api.HandoffVolume {
		return []api.HandoffVolume{{ClaimTemplate: "data", Copy: a}}
	}
	h.pass(0, 3, h.begin(2), nil)
	h.m.Status.Handoff.Volumes = of(attempt)
	h.pass(time.Second, 3, func(s *api.MigrationStatus) {
		s.Handoff, s.Proofs = nil, []api.CopyAhead{{Ordinal: 2, Volumes: of(attempt)}}
	}, h.m.Status.Handoff)
	seal := func() *api.PastSeal { return &h.m.Status.History.Seals[0] }
	if got := seal(); !got.ProvenTime.IsZero() || !got.AcceptedTime.IsZero() || got.Verify != api.CopyVerifyLater {
		t.Errorf("at its start: %+v", got)
	}
	at := metav1.NewTime(h.now)
	attempt.Seal.Proof = api.CopyProof{Root: "s", From: "a", ReadTime: at}
	proves := func(s *api.MigrationStatus) { s.Proofs[0].Volumes = of(attempt) }
	if h.pass(time.Second, 3, proves, nil); !seal().ProvenTime.IsZero() {
		t.Errorf("another root: %+v", seal())
	}
	attempt.Seal.Proof.AcceptedTime = at
	if h.pass(time.Second, 3, proves, nil); !seal().AcceptedTime.Equal(&at) || !seal().ProvenTime.IsZero() {
		t.Errorf("accepted: %+v", seal())
	}
	attempt.Seal.Proof = api.CopyProof{Root: "r", From: "a", ReadTime: at}
	if h.pass(time.Second, 3, proves, nil); !seal().ProvenTime.Equal(&at) {
		t.Errorf("equal: %+v", seal())
	}
	// The ordinal returns by a copy with the same content, which another proof is about.
	h.m.Status.History.Seals = append(h.m.Status.History.Seals, api.PastSeal{Ordinal: 2, ClaimTemplate: "data", Direction: api.Back, Root: "r", Verify: api.CopyVerifyLater})
	attempt.Giver, attempt.Seal.Proof.ReadTime = string(plan.DestinationSide), metav1.NewTime(h.now)
	later := attempt.Seal.Proof.ReadTime
	if h.pass(time.Second, 3, proves, nil); !seal().ProvenTime.Equal(&at) || !h.m.Status.History.Seals[1].ProvenTime.Equal(&later) {
		t.Errorf("back: %+v", h.m.Status.History.Seals)
	}
}

// fullHistory returns the history of n ordinals that stalled and then moved.
func fullHistory(n int32) *api.History {
	h := newHistorian()
	h.m.Status.Fence.Holder = "sliceshift-manager-7d4b9c6f5d-x2x7k_0b8a3f0e-6f0c-4f0e-9a55-2f1f7f0f4a11"
	for ordinal := range n {
		h.pass(time.Second, 3, h.begin(ordinal), h.m.Status.Handoff)
		h.m.Status.Handoff.Volumes = []api.HandoffVolume{{ClaimTemplate: fmt.Sprintf("%063d", ordinal), Copy: api.CopyAttempt{Giver: string(plan.SourceSide), Seal: api.CopySeal{
			Root: "blake3:" + strings.Repeat("f", 64), Verify: api.CopyVerifyChanged, Bytes: 1 << 40, Files: 1 << 30, Trusted: 1 << 41,
		}}}}
		if n := len(h.m.Status.History.Handoffs); n > 0 {
			h.m.Status.History.Handoffs[n-1].Outage = longOutage()
		}
		if ordinal%100 == 0 {
			h.pass(time.Second, 3, h.progressing(metav1.ConditionFalse, api.ReasonPodNotReady), nil)
			h.m.Status.Conditions[0].Message = strings.Repeat("waiting until a pod is available; ", 6)
			h.pass(time.Second, 3, h.progressing(metav1.ConditionTrue, api.ReasonMoving), nil)
		}
	}
	return h.m.Status.History
}
