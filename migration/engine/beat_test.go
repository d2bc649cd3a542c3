package engine

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
)

// TestV3Heart: a heartbeat is due 15 s after the last one, and immediately after a change of mode, by the clock
// of the API server. This also holds if an older resource definition does not store it. A Migration without a
// current handoff has none.
func TestV3Heart(t *testing.T) {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	m := &api.Migration{Spec: api.MigrationSpec{Mode: api.ModeRun}, Status: api.MigrationStatus{Baseline: &api.Baseline{}, Handoff: &api.Handoff{Ordinal: 2}}}
	h := newHeart(Options{Records: records.Resource{}, ServerTime: func(local time.Time) time.Time { return local.Add(time.Hour) }})
	expect := func(what string, at time.Time, want time.Duration, beats bool) {
		t.Helper()
		if left, due := h.left(m, at); left != want || due != beats {
			t.Errorf("%s: %s, %t", what, left, due)
		}
	}
	expect("the first", noon, 0, true)
	h.last = h.beat(m, noon)
	if m.Status.Heartbeat == nil || !m.Status.Heartbeat.Time.Time.Equal(noon.Add(time.Hour)) {
		t.Fatalf("it says %+v", m.Status.Heartbeat)
	}
	expect("soon", noon.Add(10*time.Second), 5*time.Second, true)
	if after := h.requeue(m, noon.Add(10*time.Second), planner.RequeueAtLatest); after != 5*time.Second {
		t.Errorf("it looks again after %s", after)
	}
	if after := h.requeue(m, noon.Add(time.Minute), planner.RequeueAtLatest); after != planner.RequeueUnobserved {
		t.Errorf("late, it looks again after %s", after)
	}
	m.Status.Heartbeat = nil
	expect("not stored", noon.Add(10*time.Second), 5*time.Second, true)
	expect("not stored, and due", noon.Add(15*time.Second), 0, true)
	m.Spec.Mode = api.ModePause
	expect("another mode", noon.Add(time.Second), 0, true)
	m.Status.Handoff = nil
	expect("a Migration that waits", noon.Add(time.Hour), 0, false)
	if h = newHeart(Options{Records: records.ConfigMap{}}); !h.run {
		t.Error("a ConfigMap is not taken for the record of a run")
	}
	expect("a run that waits", noon, 0, true)
}

// TestV3HeldBeats: a manager that cannot connect to a cluster while an ordinal is down writes one heartbeat every
// 15 s, and no more.
func TestV3HeldBeats(t *testing.T) {
	inFlight := func(m *api.Migration) {
		m.Status.Handoff = &api.Handoff{Ordinal: 0}
		m.Status.Heartbeat = &api.Heartbeat{Time: metav1.NewTime(time.Now().Add(-time.Minute)), Mode: api.ModeRun}
	}
	d := newDesk(t, west("a", 1, hasBegun, inFlight))
	writes := 0
	d.Client = interceptor.NewClient(d.Client.(client.WithWatch), interceptor.Funcs{SubResourcePatch: func(ctx context.Context, c client.Client, sub string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
		writes++
		return c.SubResource(sub).Patch(ctx, object, patch, options...)
	}})
	hold := func() {
		t.Helper()
		if _, err := d.hold(t.Context(), d.get("a"), *plan.Stalled(api.ReasonClusterUnreachable, "no answer", ""), time.Second); err != nil {
			t.Fatal(err)
		}
	}
	hold()
	hold()
	if writes != 1 {
		t.Fatalf("the stall and its heartbeat took %d writes", writes)
	}
	m := d.get("a")
	if m.Status.Heartbeat == nil || time.Since(m.Status.Heartbeat.Time.Time) > records.HeartbeatEvery {
		t.Fatalf("the heartbeat is %+v", m.Status.Heartbeat)
	}
	m.Status.Heartbeat.Time = metav1.NewTime(time.Now().Add(-records.HeartbeatEvery))
	if err := d.Client.Status().Update(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	hold()
	hold()
	if writes != 2 {
		t.Errorf("the next heartbeat took %d writes", writes-1)
	}
}

// TestV3OwnWrite: a pass that changes nothing else in the status writes a heartbeat once 15 s have passed since
// the last write, and not before.
func TestV3OwnWrite(t *testing.T) {
	server := &pruning{}
	e, m := accepted(server)
	now := clocktesting.NewFakePassiveClock(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	e.clock, m.Status.Handoff = now, &api.Handoff{Ordinal: 2, Step: api.StepAwaitRelease}
	for i, want := range []int{1, 1, 2, 2, 2, 3} { // 0 s, 7 s, 15 s, 22 s, 29 s, 30 s
		now.SetTime(time.Date(2026, 1, 1, 12, 0, []int{0, 7, 15, 22, 29, 30}[i], 0, time.UTC))
		if _, err := e.conclude(t.Context(), m, planner.Stall(*plan.Stalled(api.ReasonPodNotReady, "no answer", "").Hold)); err != nil {
			t.Fatal(err)
		}
		if server.saves != want {
			t.Errorf("%d: %d writes, want %d", i, server.saves, want)
		}
	}
	if at := server.stored.Status.Heartbeat; at == nil || !at.Time.Time.Equal(now.Now()) {
		t.Errorf("the last heartbeat is %+v", at)
	}
}
