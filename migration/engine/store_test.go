package engine

import (
	"context"
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
)

// pruning is an API server whose definition lacks status.handoff.volumes while old is true. After the first
// write it answers a set number of writes with a conflict.
type pruning struct {
	old bool
	// refuses makes it refuse a status with the field instead of dropping the field.
	refuses                 bool
	stored                  api.Migration
	saves, tries, conflicts int
}

func (p *pruning) pruned(m *api.Migration) (api.Migration, error) {
	after := *m.DeepCopy()
	if !p.old || after.Status.Handoff == nil || after.Status.Handoff.Volumes == nil {
		return after, nil
	}
	if p.refuses {
		return p.stored, &records.NotStoredError{Fields: []string{"status"}, Refused: apierrors.NewInvalid(api.GroupVersion.WithKind("Migration").GroupKind(), "web", field.ErrorList{
			field.Invalid(field.NewPath("status", "handoff", "volumes"), "pv", "should be a string"),
		})}
	}
	after.Status.Handoff.Volumes = nil
	return after, &records.NotStoredError{Fields: []string{"status.handoff.volumes"}}
}

func (p *pruning) Save(_ context.Context, m *api.Migration) error {
	if p.saves > 0 && p.conflicts > 0 {
		p.conflicts--
		return apierrors.NewConflict(schema.GroupResource{Resource: "migrations"}, "web", errors.New("modified"))
	}
	p.saves++
	after, err := p.pruned(m)
	if unwritten(err) {
		return err
	}
	m.ResourceVersion += "1"
	after.ResourceVersion = m.ResourceVersion
	p.stored = after
	return err
}

func (p *pruning) Stores(_ context.Context, m *api.Migration) error {
	p.tries++
	_, err := p.pruned(m)
	return err
}

func (p *pruning) TurnBack(context.Context, *api.Migration) error { return nil }

// begins returns the record of a handoff that begins.
func begins() planner.Step {
	handoff := &api.Handoff{Ordinal: 2, Attempts: 1, Volumes: []api.HandoffVolume{{ClaimTemplate: "data", Name: "pv"}}}
	return planner.Step{Do: planner.SaveRecord, Decision: plan.Decision{Record: &plan.Record{
		Baseline: &api.Baseline{Replicas: 3}, Fence: &api.Fence{Epoch: 1, Holder: "h"}, Handoff: handoff, Accepted: true,
	}}}
}

// accepted returns a migration that has begun, and its engine.
func accepted(p *pruning) (*Engine, *api.Migration) {
	m := &api.Migration{ObjectMeta: metav1.ObjectMeta{UID: "m", ResourceVersion: "1"}}
	m.Status.Baseline, m.Status.Fence = &api.Baseline{Replicas: 3}, &api.Fence{Epoch: 1, Holder: "h"}
	p.stored = *m.DeepCopy()
	return &Engine{clock: clock.RealClock{}, status: statusStore{records: p}, state: planner.State{Holder: "h", Engaged: true}}, m
}

// TestStatusNotStored: a record with a field that was not stored does not count. The previous status is
// restored and says Stalled. The record is dry-run until the definition has the field, and is stored then (I7).
func TestStatusNotStored(t *testing.T) {
	server := &pruning{old: true}
	e, m := accepted(server)
	for i := range 3 {
		outcome, err := e.conclude(t.Context(), m, begins())
		hold := outcome.Decision.Hold
		if err != nil || hold == nil || hold.Reason != api.ReasonStatusNotStored || outcome.Stalls != (i == 0) || outcome.RequeueAfter != planner.RequeueRefused {
			t.Fatalf("%d: %v, %+v", i, err, outcome)
		}
		if !strings.Contains(hold.Message, "status.handoff.volumes") || !strings.Contains(hold.Remedy, "in cluster local: kubectl migrate install --crds-only") {
			t.Errorf("it says %q, %q", hold.Message, hold.Remedy)
		}
		for what, status := range map[string]api.MigrationStatus{"stored": server.stored.Status, "in memory": m.Status} {
			if status.Handoff != nil || !meta.IsStatusConditionTrue(status.Conditions, api.ConditionStalled) {
				t.Errorf("%d: %s: %+v", i, what, status)
			}
		}
		if server.saves != 2 || server.tries != i {
			t.Errorf("%d: %d writes, %d tries", i, server.saves, server.tries)
		}
	}
	server.old = false
	outcome, err := e.conclude(t.Context(), m, begins())
	if err != nil || outcome.Decision.Hold != nil || !outcome.GoesOn || len(server.stored.Status.Handoff.Volumes) != 1 {
		t.Errorf("it does not go on: %v, %+v", err, outcome)
	}
}

// TestStatusRefused: a status that the API server finds invalid is reported in the previous status, and not
// only in a log. If that is refused as well, the error is the one of the write.
func TestStatusRefused(t *testing.T) {
	server := &pruning{old: true, refuses: true}
	e, m := accepted(server)
	for i := range 2 {
		outcome, err := e.conclude(t.Context(), m, begins())
		hold := outcome.Decision.Hold
		if err != nil || hold == nil || hold.Reason != api.ReasonStatusNotStored || outcome.Stalls != (i == 0) || outcome.RequeueAfter != planner.RequeueRefused {
			t.Fatalf("%d: %v, %+v", i, err, outcome)
		}
		if !strings.Contains(hold.Message, "status.handoff.volumes") || !strings.Contains(hold.Message, "should be a string") || !strings.Contains(hold.Remedy, "install --crds-only") {
			t.Errorf("it says %q, %q", hold.Message, hold.Remedy)
		}
		for what, status := range map[string]api.MigrationStatus{"stored": server.stored.Status, "in memory": m.Status} {
			if status.Handoff != nil || !meta.IsStatusConditionTrue(status.Conditions, api.ConditionStalled) {
				t.Errorf("%d: %s: %+v", i, what, status)
			}
		}
	}
	server.old = false
	if outcome, err := e.conclude(t.Context(), m, begins()); err != nil || !outcome.GoesOn || len(server.stored.Status.Handoff.Volumes) != 1 {
		t.Errorf("it does not go on: %v, %+v", err, outcome)
	}
	server.old = true // now the field is already in the stored status
	if _, err := e.conclude(t.Context(), m, begins()); !apierrors.IsInvalid(err) {
		t.Errorf("got %v", err)
	}
}

// TestNothingIsWrittenOnPrunedRecords: if the previous record could not be restored either, it is kept, and
// stored before anything is written to a cluster. A process that has taken over since is not overwritten (I7).
func TestNothingIsWrittenOnPrunedRecords(t *testing.T) {
	stops := planner.Step{Do: planner.Write, Decision: plan.Decision{Effect: &plan.Effect{Verb: plan.ScaleDown, Side: plan.SourceSide, Name: "web"}}}
	fails := func() (*pruning, *Engine, *api.Migration) {
		server := &pruning{old: true, conflicts: 1}
		e, m := accepted(server)
		m.Status.HookTurns = 7
		if _, err := e.conclude(t.Context(), m, begins()); !apierrors.IsConflict(err) {
			t.Fatalf("got %v", err)
		}
		return server, e, server.stored.DeepCopy()
	}
	t.Run("the definition lacks what it had", func(t *testing.T) {
		server, e, _ := fails()
		e.status.kept.Status.Handoff = begins().Decision.Record.Handoff // it was stored once
		for range 2 {
			m := server.stored.DeepCopy()
			e.status.recall(m, e.state.Holder)
			outcome, err := e.conclude(t.Context(), m, stops) // a write would call a nil cluster
			if hold := outcome.Decision.Hold; err != nil || outcome.Wrote || hold == nil || hold.Reason != api.ReasonStatusNotStored {
				t.Fatalf("%v, %+v", err, outcome)
			}
			if !meta.IsStatusConditionTrue(server.stored.Status.Conditions, api.ConditionStalled) {
				t.Error("nobody is told")
			}
		}
	})
	t.Run("it is put back first", func(t *testing.T) {
		server, e, m := fails()
		if e.status.recall(m, e.state.Holder); m.Status.Handoff != nil || m.Status.HookTurns != 7 {
			t.Errorf("it has forgotten: %+v", m.Status)
		}
		hold := planner.Step{Do: planner.Report, Decision: plan.Decision{Hold: &plan.Hold{Reason: api.ReasonReplicaUnavailable}}}
		if _, err := e.conclude(t.Context(), m, hold); err != nil || server.stored.Status.Handoff != nil || server.stored.Status.HookTurns != 7 || e.status.kept != nil {
			t.Errorf("it is not stored again: %v, %+v", err, server.stored.Status)
		}
	})
	t.Run("another has taken over", func(t *testing.T) {
		_, e, m := fails()
		m.Status.Fence = &api.Fence{Epoch: 2, Holder: "other"}
		if e.status.recall(m, e.state.Holder); m.Status.Fence.Holder != "other" || e.status.kept != nil {
			t.Errorf("what it has written is taken back: %+v", m.Status)
		}
	})
}

// TestStatusNotStoredAhead: if a record of copies ahead of their turns is not stored, only these copies are
// held.
func TestStatusNotStoredAhead(t *testing.T) {
	server := &pruning{old: true}
	e, m := accepted(server)
	before := m.DeepCopy()
	applyRecord(m, *begins().Decision.Record)
	err := e.status.write(t.Context(), m)
	if err = e.holdUnstoredEarly(t.Context(), before, m, notStored(err), 1); err != nil {
		t.Fatal(err)
	}
	if server.stored.Status.Handoff != nil || m.Status.Handoff != nil || e.status.kept != nil || e.early.held[1].hold.Reason != api.ReasonStatusNotStored {
		t.Errorf("stored %+v, held %+v", server.stored.Status, e.early.held)
	}
	before = m.DeepCopy()
	if err = e.holdUnstoredEarly(t.Context(), before, m, &records.NotStoredError{Fields: []string{"status.ahead"}}, 1); err != nil || server.saves != 2 {
		t.Errorf("nothing was written that is to be put back: %v, %d writes", err, server.saves)
	}
}
