package simulate

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/pdb/pdbtest"
	"github.com/sliceshift/sliceshift/volumes"
)

// TestWorldGone: a pod is removed once it terminates, and not before.
func TestWorldGone(t *testing.T) {
	for name, tc := range map[string]struct {
		pods []plan.Pod
		want bool
	}{
		"it ends":             {withPod(podsUp(0, 1, 2), 1, goesDown), true},
		"it runs":             {podsUp(0, 1, 2), false},
		"it is not there":     {podsUp(0, 2), false},
		"and the next one is": {withPod(podsUp(0, 2), 1, goesDown), false},
	} {
		w := &World{State: plan.Snapshot{Source: plan.Side{Pods: slices.Clone(tc.pods)}}}
		want := tc.pods
		if tc.want {
			want = podsUp(0, 2)
		}
		if got := w.Gone(plan.SourceSide, 1); got != tc.want || !cmp.Equal(want, w.State.Source.Pods) {
			t.Errorf("%s: it says that it acts: %t, and leaves %+v", name, got, w.State.Source.Pods)
		}
	}
}

// attachedAt is a world in which the volumes of ordinal 1 are attached to both sides, and those of ordinal 0 to
// the source.
func attachedAt(t *testing.T, sameCluster bool) *World {
	t.Helper()
	w := &World{State: twoVolumes(sameCluster)}
	for i := range w.State.Volumes {
		v := &w.State.Volumes[i]
		w.Attach(v, plan.SourceSide, []volumes.Attachment{AttachedTo(plan.SourceSide)})
		if v.Ordinal == 1 {
			w.Attach(v, plan.SourceSide, []volumes.Attachment{AttachedTo(plan.SourceSide), AttachedTo(plan.DestinationSide)})
		}
	}
	return w
}

// TestWorldDetach: the volumes of an ordinal are detached only from the node of its former pod, and only once the
// pod is deleted (I2).
func TestWorldDetach(t *testing.T) {
	w := attachedAt(t, true)
	before := w.Snapshot()
	if w.Detach(plan.SourceSide, 1) || !cmp.Equal(before, w.State) {
		t.Error("a volume is detached from a pod that runs")
	}
	w.State.Source.RemovePod(1)
	if !w.Detach(plan.SourceSide, 1) {
		t.Error("nothing was detached")
	}
	for i, v := range w.State.Volumes {
		want := []volumes.Attachment{AttachedTo(plan.SourceSide)}
		if v.Ordinal == 1 {
			want[0] = AttachedTo(plan.DestinationSide)
		}
		if !cmp.Equal(want, v.Source.Volume.Attachments) || !cmp.Equal(want, v.Destination.Volume.Attachments) {
			t.Errorf("volume %d: attached to %+v and %+v", i, v.Source.Volume.Attachments, v.Destination.Volume.Attachments)
		}
	}
	if w.Detach(plan.SourceSide, 1) {
		t.Error("it was detached twice")
	}
	if apart := attachedAt(t, false); len(apart.State.Volumes[lastClaim].Destination.Volume.Attachments) > 0 {
		t.Error("between clusters the other side's volume is attached as well")
	}
}

// TestWorldMoving: in a dry run the controllers process the claims of the moving ordinal, if there is one.
func TestWorldMoving(t *testing.T) {
	s := plantest.Scenario{Replicas: 3, Start: 1, Templates: []string{"data", "wal"}}.Build()
	for name, tc := range map[string]struct {
		only *int32
		want []int
	}{
		"all":                {nil, []int{0, 1, 2, 3, 4, 5}},
		"the first":          {new(int32(1)), []int{0, 1}},
		"one between":        {new(int32(2)), []int{2, 3}},
		"the last":           {new(int32(3)), []int{4, 5}},
		"one without claims": {new(int32(4)), []int{}},
		"one below":          {new(int32(0)), []int{}},
	} {
		w, got := &World{State: s.Clone(), only: tc.only}, []int{}
		own := w.moving()
		for at := range own {
			for i := range w.State.Volumes {
				if &own[at] == &w.State.Volumes[i] {
					got = append(got, i)
				}
			}
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

// TestWorldSettlePods: terminating pods are removed, starting ones become Ready, and leftover attachments are
// detached; in a dry run only for the moving ordinal.
func TestWorldSettlePods(t *testing.T) {
	two, nine := new(int32(2)), new(int32(9))
	for name, tc := range map[string]struct {
		pods []plan.Pod
		only *int32
		want []plan.Pod
		acts bool
	}{
		"nothing to do":                  {podsUp(1, 2), nil, podsUp(1, 2), false},
		"one ends":                       {withPod(podsUp(1, 2), 0, goesDown), nil, podsUp(2), true},
		"the last one ends":              {withPod(podsUp(1, 2), 1, goesDown), nil, podsUp(1), true},
		"one starts":                     {withPod(podsUp(1, 2), 0, startsUp), nil, podsUp(1, 2), true},
		"the last one starts":            {withPod(podsUp(1, 2), 1, startsUp), nil, podsUp(1, 2), true},
		"one ends, one starts":           {withPod(withPod(podsUp(1, 2), 0, goesDown), 1, startsUp), nil, podsUp(2), true},
		"one starts, one ends":           {withPod(withPod(podsUp(1, 2), 0, startsUp), 1, goesDown), nil, podsUp(1), true},
		"of two that end, the one moves": {withPod(withPod(podsUp(1, 2, 3), 1, goesDown), 2, goesDown), two, withPod(podsUp(1, 3), 1, goesDown), true},
		"of two that start as well":      {withPod(withPod(podsUp(1, 2), 0, startsUp), 1, startsUp), two, withPod(podsUp(1, 2), 0, startsUp), true},
		"another one moves":              {withPod(podsUp(1, 2), 0, goesDown), two, withPod(podsUp(1, 2), 0, goesDown), false},
		"the one that moves is gone":     {withPod(podsUp(1, 2), 0, goesDown), nine, withPod(podsUp(1, 2), 0, goesDown), false},
	} {
		w := &World{State: plan.Snapshot{Source: plan.Side{Pods: slices.Clone(tc.pods)}}, only: tc.only}
		acts := w.settlePods(plan.SourceSide)
		for i := range w.State.Source.Pods {
			w.State.Source.Pods[i].ReadySince = podsUp(1)[0].ReadySince
		}
		if diff := cmp.Diff(tc.want, w.State.Source.Pods); diff != "" || acts != tc.acts {
			t.Errorf("%s: it says that it acts: %t, -want +got\n%s", name, acts, diff)
		}
	}
}

// TestWorldSettlePodsDetaches: a pod that becomes Ready counts although nothing is detached, and a detached volume
// counts although no pod has changed.
func TestWorldSettlePodsDetaches(t *testing.T) {
	w := attachedAt(t, true)
	if w.settlePods(plan.SourceSide) {
		t.Error("nothing is to be done, and it acts")
	}
	if w.State.Source.Pods[1].Ready = false; !w.settlePods(plan.SourceSide) || !w.State.Source.Pods[1].Ready {
		t.Errorf("a pod starts beside volumes that stay: %+v", w.State.Source.Pods)
	}
	w.State.Source.RemovePod(1)
	if !w.settlePods(plan.SourceSide) || len(w.State.Volumes[lastClaim].Source.Volume.Attachments) != 1 {
		t.Errorf("attached to %+v", w.State.Volumes[lastClaim].Source.Volume.Attachments)
	}
	one := &World{State: twoVolumes(true)}
	one.Attach(&one.State.Volumes[lastClaim], plan.SourceSide, []volumes.Attachment{AttachedTo(plan.SourceSide)})
	one.State.Source.RemovePod(1)
	if !one.settlePods(plan.SourceSide) || len(one.State.Volumes[lastClaim].Source.Volume.Attachments) > 0 {
		t.Errorf("the only attachment stays: %+v", one.State.Volumes[lastClaim].Source.Volume.Attachments)
	}
}

// TestWorldSettle: every controller of the two sides has acted when the world has settled, and the result reports
// whether any of them had something to do.
func TestWorldSettle(t *testing.T) {
	for name, unsettle := range map[string]func(*World, plan.SideName){
		"nothing is to be done":   nil,
		"a range is to be learnt": func(w *World, name plan.SideName) { w.State.Side(name).Set.Observed = false },
		"a share is to be told": func(w *World, name plan.SideName) {
			w.Controllers[name] = Controller{Replicas: w.Controllers[name].Replicas, CapObserved: Cap{Set: true}}
		},
		"a pod is to end":          func(w *World, name plan.SideName) { w.State.Side(name).SetPod(plan.Pod{Ordinal: 5, Ready: true}) },
		"a budget is to be seen":   func(w *World, name plan.SideName) { w.State.Side(name).Budgets[0].Observed = false },
		"a claim is to be bound":   func(w *World, name plan.SideName) { w.State.Volumes[0].Holding(name).Volume.Phase = "" },
		"a pod is to become Ready": func(w *World, name plan.SideName) { w.State.Side(name).SetPod(plan.Pod{Ordinal: 0}) },
		"a volume is to be let go": func(w *World, name plan.SideName) {
			w.Attach(&w.State.Volumes[1], name, []volumes.Attachment{AttachedTo(name)})
		},
		"a claim is to be finished": func(w *World, name plan.SideName) {
			w.State.Volumes[1].Holding(name).Claim = volumes.Claim{Terminating: true}
		},
	} {
		for _, side := range plan.SideNames {
			w := halves()
			want := w.Snapshot()
			if unsettle != nil {
				unsettle(w, side)
			}
			if acts := w.Settle(); acts != (unsettle != nil) {
				t.Errorf("%s on the %s: it says that it acts: %t", name, side, acts)
			}
			if diff := cmp.Diff(settledState(want), settledState(w.Snapshot())); diff != "" {
				t.Errorf("%s on the %s: -want +got\n%s", name, side, diff)
			}
			if told := w.Controllers[side].CapObserved; told != (Cap{}) || w.Settle() {
				t.Errorf("%s on the %s: it has not settled, %+v is told", name, side, told)
			}
		}
	}
}

// halves is a settled world: each side has ordinal 0, with its budget and its volume.
func halves() *World {
	s := plantest.Scenario{Replicas: 1, Templates: []string{"data", "wal"}, Budget: pdbtest.MaxUnavailable(1), Prepared: true, Slices: true}.Build()
	s.Volumes[1] = plan.OrdinalVolume{Ordinal: 1}
	s.Volumes[0].Destination.Claim, s.Volumes[0].Destination.Volume = s.Volumes[0].Source.Claim, s.Volumes[0].Source.Volume
	s.Destination.Pods, s.Destination.Set.Replicas, s.Destination.Set.Rolls = slices.Clone(s.Source.Pods), 1, s.Source.Set.Rolls
	return NewWorld(s)
}

// settledState returns a snapshot without the times at which pods became Ready, and without versions.
func settledState(s plan.Snapshot) plan.Snapshot {
	s = s.Clone()
	for _, side := range []*plan.Side{&s.Source, &s.Destination} {
		for i := range side.Pods {
			side.Pods[i] = plan.Pod{Ordinal: side.Pods[i].Ordinal, Ready: side.Pods[i].Ready, Terminating: side.Pods[i].Terminating}
		}
	}
	for i := range s.Volumes {
		for _, h := range []*volumes.Holding{&s.Volumes[i].Source, &s.Volumes[i].Destination} {
			h.Volume.ResourceVersion = ""
			if len(h.Volume.Attachments) == 0 {
				h.Volume.Attachments = nil
			}
		}
	}
	return s
}

// TestWorldSettleWithAPodThatWaits: a created pod counts although it does not become Ready.
func TestWorldSettleWithAPodThatWaits(t *testing.T) {
	w := halves()
	lost := &w.State.Volumes[0].Destination
	lost.Claim.Volume, lost.Claim.Phase = "gone", corev1.ClaimLost
	w.State.Destination.RemovePod(0)
	if !w.Settle() || len(w.State.Destination.Pods) != 1 || w.State.Destination.Pods[0].Ready {
		t.Errorf("it says that nothing is done, or has made %+v", w.State.Destination.Pods)
	}
}
