package planner

import (
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/inplace"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/drift"
)

// growingSnapshot returns a set whose claims of method Rebind grow to 2Gi. Those in asked were asked to, and those in moved
// have.
func growingSnapshot(asked, moved []int32) plan.Snapshot {
	s := inPlaceSnapshot()
	wanted := manifestOf(wantedSet, "slow", 2<<30)
	s.Storage.Wanted, s.Storage.Set.Manifest = wanted, wanted
	s.Record.Storage.Written = inplace.Record{Written: wanted.Templates}.Status().Written
	rebound(&s)
	s.Record.Baseline.Volumes[0].Method = api.MethodRebind
	for i := range s.Volumes {
		s.Volumes[i].Needs, s.Volumes[i].Asks = drift.Expand, inplace.Request{Size: 1 << 30}
	}
	for _, k := range append(asked, moved...) {
		s.Volumes[k].Needs, s.Volumes[k].Asks, s.Volumes[k].Change = drift.Nothing, inplace.Request{Size: 2 << 30}, drift.Change{Grows: true}
	}
	for _, k := range moved {
		s.Volumes[k].Change = drift.Change{}
	}
	return s
}

// TestStorageGrows: the claims of one ordinal after the other ask for the new size, each in one write to the judged version,
// and the next one follows when the former has arrived.
func TestStorageGrows(t *testing.T) {
	d := Plan(AsSlices(growingSnapshot(nil, []int32{2})))
	e := d.Effect
	if e == nil || e.Verb != plan.ChangeClaim || e.Name != "data-web-1" || e.UID != "claim-1" || e.ResourceVersion != "1" || e.Ordinal != 1 || e.Request.Quantity() != "2Gi" || d.Step != "" {
		t.Errorf("got %+v", d)
	}
	if d := Plan(AsSlices(growingSnapshot([]int32{1}, []int32{2}))); d.Hold == nil || d.Hold.Stalled || d.Hold.Reason != volumes.ReasonVolumeChanging {
		t.Errorf("while one grows: %+v", d)
	}
	if d := Plan(AsSlices(growingSnapshot(nil, []int32{0, 1, 2}))); d.Record == nil || d.Record.Completed != api.ReasonMoved {
		t.Errorf("at the end: %+v", d)
	}
}

// TestStorageBudgetOfZero: a budget of zero refuses a copy, and only warns about a growth, for which no pod is stopped.
func TestStorageBudgetOfZero(t *testing.T) {
	for name, tc := range map[string]struct {
		s       plan.Snapshot
		warning bool
	}{"a copy": {inPlaceSnapshot(), false}, "growth": {growingSnapshot(nil, nil), true}} {
		none := intstr.FromInt32(0)
		tc.s.Spec.MaxUnavailable = &none
		found := storageBudgets(AsSlices(tc.s))
		if len(found) != 1 || found[0].Reason != api.ReasonBudgetZero || found[0].Warning != tc.warning {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

// TestStorageOfSetsThatFail: a pod that is not available refuses a copy, and only warns about a growth, which may be its remedy.
// A policy for claims of ordinals that are scaled down is none about a change that scales nothing.
func TestStorageOfSetsThatFail(t *testing.T) {
	for name, tc := range map[string]struct {
		s       plan.Snapshot
		warning bool
	}{"a copy": {inPlaceSnapshot(), false}, "growth": {growingSnapshot(nil, nil), true}} {
		tc.s.Source.Set.DeletesClaims, tc.s.Source.Pods[1].Ready = true, false
		found := storageSource(AsSlices(tc.s))
		if len(found) != 1 || found[0].Reason != api.ReasonSourceNotHealthy || found[0].Warning != tc.warning {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

// TestStorageKeepsTheOther: of two claims of an ordinal, that of method Copy which needs none keeps its volume. The other one
// does not wait for a new volume of it, and gets its own within the reach of the present one.
func TestStorageKeepsTheOther(t *testing.T) {
	s := replacing(inPlaceSnapshot(), 2, func(*inplace.Handoff, *plan.OrdinalVolume) {})
	before := claimOfTest(2, false)
	before.Template, before.Needs, before.Source.Volume.Name = "archive", drift.Nothing, "kept"
	s.Volumes = append(s.Volumes[:2:2], before, s.Volumes[2])
	p := storagePlanner{viewOf(AsSlices(s))}
	in := p.observed()
	view := p.facing(in.Record.Handoff)
	v, _ := view.volumeOf(2, "data")
	beside := p.pairOf(view, in, v).Copy.Beside
	if beside.Unplaced != "" || !slices.Equal(beside.Given, []string{"kept"}) {
		t.Errorf("got %+v", beside)
	}
}

// TestStorageStartsAgain: an ordinal is not stopped if its pod would not be let in again, and that is asked before its stop.
func TestStorageStartsAgain(t *testing.T) {
	s := growingSnapshot([]int32{1}, []int32{2})
	s.Volumes[1].Change.FileSystem = s.Now.Add(-time.Hour)
	s.Source.Pods[1].Created = s.Now.Add(-2 * time.Hour)
	s.Record = *Plan(AsSlices(s)).Record
	d := Plan(AsSlices(s))
	if reads := (storagePlanner{viewOf(AsSlices(s))}).reads(d); d.Effect == nil || reads.Arrival == nil || *reads.Arrival != 1 {
		t.Fatalf("%+v reads %+v", d, reads)
	}
	s.Arrival = &plan.Arrival{Ordinal: 1, Finding: &plan.Finding{Reason: api.ReasonWriteRefused, Message: "denied", Remedy: "allow it"}}
	if d := Plan(AsSlices(s)); d.Hold == nil || d.Hold.Reason != api.ReasonWriteRefused || d.Hold.Remedy == "" {
		t.Errorf("it is refused: %+v", d)
	}
}

// TestStorageRestarts: a pod is restarted as a handoff without volumes: gates hold it, and its step is that of a stop.
func TestStorageRestarts(t *testing.T) {
	waiting := func() plan.Snapshot {
		s := growingSnapshot([]int32{1}, []int32{2})
		s.Volumes[1].Change.FileSystem = s.Now.Add(-time.Hour)
		s.Source.Pods[1].Created = s.Now.Add(-2 * time.Hour)
		return s
	}
	s := waiting()
	d := Plan(AsSlices(s))
	if d.Record == nil || d.Record.Handoff == nil || d.Record.Handoff.Ordinal != 1 || len(d.Record.Handoff.Volumes) > 0 || len(d.Record.Storage.Handoff.Claims) > 0 {
		t.Fatalf("got %+v, hold %+v", d, d.Hold)
	}
	s.Record = *d.Record
	if d := Plan(AsSlices(s)); d.Effect == nil || d.Effect.Verb != plan.EvictPod || d.Effect.Name != "web-1" || d.Effect.UID != "pod-1" || d.Step != api.StepScaleDown {
		t.Errorf("got %+v", d)
	}
	s.Source.Pods[0].Ready = false
	if d := Plan(AsSlices(s)); d.Hold == nil || d.Hold.Reason != api.ReasonReplicaUnavailable {
		t.Errorf("with a replica down: %+v", d)
	}
	s.Source.Pods[0].Ready, s.Source.Pods[1].Created = true, s.Now
	s.Volumes[1].Change = drift.Change{}
	if d := Plan(AsSlices(s)); d.Record == nil || d.Record.Handoff != nil || d.Record.Storage.Handoff != nil {
		t.Errorf("when it is Ready again: %+v", d)
	}
	down := waiting()
	down.Source.Pods[0].Ready = false
	if d := Plan(AsSlices(down)); d.Hold == nil || d.Hold.Reason != api.ReasonReplicaUnavailable {
		t.Errorf("with a replica down before: %+v", d)
	}
}
