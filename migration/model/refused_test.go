package model

import (
	"fmt"
	"slices"
	"testing"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/pdb/pdbtest"
)

// A precondition of the migration may end while it waits. A side accepts no pods any more, because of a full
// quota or a changed policy. An object that pods need is replaced at the source by one with which the copy
// cannot be updated.

// shutReasons are the reasons of stalls while a side accepts no pods, and of waits for the pods that it does
// not create.
var shutReasons = []string{
	api.ReasonWriteRefused, api.ReasonPodMissing, api.ReasonPodNotReady, api.ReasonReplicaUnavailable, api.ReasonSourceNotHealthy, api.ReasonControllerBehind,
	api.ReasonPodTerminating, api.ReasonPodRunning, api.ReasonRolloutInProgress,
}

var closings = []edit{
	{name: "the destination lets no pod in", do: shuts(plan.DestinationSide), reasons: shutReasons},
	{name: "the source lets no pod in", do: shuts(plan.SourceSide), reasons: shutReasons},
	{name: "what pods need is replaced at the source, and cannot be changed", do: replacesOrigin, reasons: []string{api.ReasonAwaitingDeletion, api.ReasonPodNotReady, api.ReasonPodMissing}},
}

// shuts makes a side create no pods, and refuse dry runs.
func shuts(name plan.SideName) func(*model) func(*model) {
	return func(w *model) func(*model) {
		if w.shut != "" {
			return nil
		}
		w.shut = name
		return func(w *model) { w.shut = "" }
	}
}

// replacesOrigin replaces an immutable object that is copied. There is no reversal.
func replacesOrigin(w *model) func(*model) {
	if !w.replaceOrigin() {
		return nil
	}
	return func(*model) {}
}

// replaceOrigin replaces an immutable object that is copied.
func (m *machine) replaceOrigin() bool {
	for i := range m.State.Dependencies.List {
		if d := &m.State.Dependencies.List[i]; d.Copy.Found && d.Origin == d.Copy.Hash {
			d.Origin, d.Rigid = d.Origin+"'", true
			begin := m.begin.Clone()
			begin.Dependencies.List[i].Origin, begin.Dependencies.List[i].Rigid = d.Origin, true
			m.begin = &begin
			return true
		}
	}
	return false
}

// askArrival returns a process's knowledge about the next ordinal's start on the other side. The process asks
// when a decision depends on it, and again while the answer is negative.
func (m *machine) askArrival(p *process, s *plan.Snapshot, ordinal *int32) {
	taker := planner.Giver(*s).Other()
	switch {
	case ordinal != nil:
		p.arrived = &plan.Arrival{Ordinal: *ordinal, Side: taker}
	case p.arrived == nil || p.arrived.Finding == nil || p.arrived.Side != taker:
		p.arrived = nil
		return
	}
	said := *p.arrived
	if said.Finding = nil; m.shut == taker {
		said.Finding = &plan.Finding{Reason: api.ReasonWriteRefused, Message: "it lets no pod in", Remedy: "let it in"}
	}
	p.arrived = &said
	s.Arrival = &said
}

// letIn checks that no ordinal is stopped that would not start on the other side, if no other party has acted
// since the pass began.
func (m *machine) letIn(e plan.Effect) {
	if m.shut == e.Side.Other() && !goesBackDown(m.State, e) {
		m.breaks("I6: %s although the %s lets no pod in", e, m.shut)
	}
}

// uncopied returns the copy that the pods at the destination lack although the source has its origin.
func (m *machine) uncopied() string {
	for _, d := range m.State.Dependencies.List {
		if len(m.State.Destination.Pods) > 0 && m.State.Spec.Dependencies.Copy && d.Origin != "" && !d.Copy.Found {
			return fmt.Sprintf("liveness: pods at the destination need %s %s, which is not there", d.Kind, d.Name)
		}
	}
	return ""
}

// onItsWay reports whether an ordinal in flight has left the source, and does not run at the destination.
func onItsWay(s plan.Snapshot) bool {
	return slices.ContainsFunc(s.Record.InFlight(), func(h api.Handoff) bool {
		pod, found := s.Destination.Pod(h.Ordinal)
		return !s.Source.Set.Has(h.Ordinal) && (!found || !pod.Ready || pod.Terminating)
	})
}

// endingBounds returns the worlds in which a precondition ends during the move.
func endingBounds() []bound {
	kinds := kindsOfFault{closes, slow, turns}
	return []bound{
		{"1 claim, a side shuts", plantest.Scenario{Replicas: 1, Templates: oneClaim, Budget: pdbtest.MaxUnavailable(1)}, 1, kinds, nil},
		{"2, a side shuts, 2", plantest.Scenario{Replicas: 2, Budget: pdbtest.MaxUnavailable(1)}, 2, kindsOfFault{closes, turns}, nil},
		{"2, what is copied is replaced, 2", plantest.Scenario{Replicas: 2, Copies: 1}, 2, kindsOfFault{closes, turns, deletion}, nil},
		{"1 claim, refused writes", plantest.Scenario{Replicas: 1, Templates: oneClaim, Budget: pdbtest.MaxUnavailable(1)}, 1, kindsOfFault{bars}, nil},
		{"2, refused writes", plantest.Scenario{Replicas: 2, Budget: pdbtest.MaxUnavailable(1)}, 1, kindsOfFault{bars}, nil},
		{"1, what is copied is replaced, writes, 2", plantest.Scenario{Replicas: 1, Copies: 1}, 2, kindsOfFault{closes, faulty}, nil},
	}
}

// TestModelOfWhatEnds explores every state of small migrations in which a precondition ends during the move. No
// ordinal is stopped that would not start on the other side, and no pod lacks an object that it needs. Each run
// ends, or reports a true reason (I6, I7).
func TestModelOfWhatEnds(t *testing.T) { exploreAll(t, endingBounds(), ofRebind) }
