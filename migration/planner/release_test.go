package planner

import (
	"strings"
	"testing"
	"time"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// parkedOut is an ordinal of one claim whose volume is parked at the giver. Some pods reference the claim, some of
// them with a node, and a record of its volume exists.
func parkedOut(left api.LeftVolume, users, mounters []string, changes ...func(*plan.Snapshot)) *planners {
	return halfwayOut(func(s *plan.Snapshot) {
		s.Source.Set.Templates, s.Volumes = []string{"data"}, s.Volumes[:1]
		source := &s.Volumes[0].Source
		source.Volume.ClaimRef = volumes.Parked(source.Ref)
		source.Claim.Users, source.Claim.Mounters = users, mounters
		s.Record.Handoff.Volumes = []api.HandoffVolume{{ClaimTemplate: "data", Name: source.Volume.Name, Left: left}}
		for _, change := range changes {
			change(s)
		}
	})
}

// TestH4MayHave: once a volume was taken from the giver's claim, only the pods listed after that with a node hold
// it, as long as they are the same pods. Before, and without such a list, all pods do (I2).
func TestH4MayHave(t *testing.T) {
	here := api.LeftVolume{Side: string(plan.SourceSide)}
	with := func(pods string) api.LeftVolume { return api.LeftVolume{Side: here.Side, Pods: pods} }
	backup, mounts := []string{"backup"}, []string{"backup/u"}
	back := func(s *plan.Snapshot) {
		s.Volumes[0].Source.Volume.ClaimRef = volumes.Ref{Namespace: "shop", Name: "data-web-1"}
	}
	for name, tc := range map[string]struct {
		left            api.LeftVolume
		users, mounters []string
		change          func(*plan.Snapshot)
		want            string
	}{
		"nobody names it":              {here, nil, nil, nil, ""},
		"not listed yet":               {api.LeftVolume{}, backup, mounts, nil, api.ReasonClaimInUse},
		"not listed, and without node": {api.LeftVolume{}, backup, nil, nil, api.ReasonClaimInUse},
		"it came later":                {here, backup, mounts, nil, ""},
		"it was there":                 {with("backup/u"), backup, mounts, nil, api.ReasonClaimInUse},
		"one of several":               {with("a/1,backup/u"), backup, mounts, nil, api.ReasonClaimInUse},
		"another pod of that name":     {with("backup/old"), backup, mounts, nil, ""},
		"listed on the other side":     {api.LeftVolume{Side: string(plan.DestinationSide)}, backup, mounts, nil, api.ReasonClaimInUse},
		"the volume was pointed back":  {here, backup, mounts, back, api.ReasonClaimInUse},
		"the volume was not found":     {here, backup, mounts, func(s *plan.Snapshot) { s.Volumes[0].Source.Volume = volumes.Volume{} }, api.ReasonClaimInUse},
	} {
		change := tc.change
		if change == nil {
			change = func(*plan.Snapshot) {}
		}
		if got := heldBy(parkedOut(tc.left, tc.users, tc.mounters, change).released(1)); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestH4ListLeft: the list is recorded once, as soon as a pod references the claim, and removed once the giver has
// its volume again.
func TestH4ListLeft(t *testing.T) {
	here, backup := api.LeftVolume{Side: string(plan.SourceSide)}, []string{"backup"}
	back := func(s *plan.Snapshot) {
		s.Volumes[0].Source.Volume.ClaimRef = volumes.Ref{Namespace: "shop", Name: "data-web-1"}
	}
	for name, tc := range map[string]struct {
		p    *planners
		want *api.LeftVolume
	}{
		"nobody names it":          {parkedOut(api.LeftVolume{}, nil, nil), nil},
		"a pod without a node":     {parkedOut(api.LeftVolume{}, backup, nil), &here},
		"a pod that may have it":   {parkedOut(api.LeftVolume{}, backup, []string{"backup/u"}), &api.LeftVolume{Side: here.Side, Pods: "backup/u"}},
		"listed already":           {parkedOut(here, backup, []string{"backup/u"}), nil},
		"too many":                 {parkedOut(api.LeftVolume{}, backup, []string{strings.Repeat("b", longestLeft+1)}), nil},
		"not parked yet":           {parkedOut(api.LeftVolume{}, backup, nil, back), nil},
		"pointed back since":       {parkedOut(here, backup, nil, back), &api.LeftVolume{}},
		"from a side that is lost": {parkedOut(api.LeftVolume{}, backup, nil, func(s *plan.Snapshot) { s.Destination.Lost = true }), nil},
	} {
		decision := tc.p.listLeft(tc.p.Volumes)
		switch {
		case tc.want == nil && decision == nil:
		case tc.want == nil, decision == nil, decision.Record == nil, decision.Record.Handoff.Volumes[0].Left != *tc.want:
			t.Errorf("%s: got %+v", name, decision)
		}
	}
}

// TestH4LimitBeforeWaits: an ordinal whose copy takes too long moves back, whatever it waits for.
func TestH4LimitBeforeWaits(t *testing.T) {
	for _, step := range []api.Step{api.StepAwaitRelease, api.StepCarryVolumes} {
		p := parkedOut(api.LeftVolume{}, []string{"backup"}, []string{"backup/u"}, func(s *plan.Snapshot) {
			v := &s.Volumes[0]
			v.Method, v.Copy = api.MethodCopy, &volumes.Copying{}
			v.Copy.Asked.Limit = time.Minute
			s.Record.Handoff.Step = step
			s.Record.Handoff.StepTime.Time = s.Now.Add(-2 * time.Minute)
		})
		if got := p.way(1, atNeither); got.Record == nil || got.Record.TurnedBack == nil {
			t.Errorf("%s: got %+v", step, got)
		}
	}
}

// TestH7Going: a deletion reports the object and its finalizers, and stalls when it exceeds the deadline of a
// step.
func TestH7Going(t *testing.T) {
	p := halfway(func(s *plan.Snapshot) { s.Spec.Deadline = time.Minute }).View
	for name, tc := range map[string]struct {
		ago     time.Duration
		stalled bool
	}{"just now": {time.Second, false}, "long ago": {2 * time.Minute, true}} {
		d := &volumes.Deletion{Object: "claim shop/data-web-1", Keeps: []string{"example.com/keep"}, Look: "kubectl get pvc", At: p.Now.Add(-tc.ago).Unix()}
		hold := p.going(d)
		if hold.Stalled != tc.stalled || !strings.Contains(hold.Message, "claim shop/data-web-1 is deleted") || !strings.Contains(hold.Message, "example.com/keep") || !strings.Contains(hold.Remedy, "kubectl get pvc") {
			t.Errorf("%s: got %+v", name, hold)
		}
	}
}

// TestH7GateOnDeletion: no ordinal is stopped while its claim or volume on either side is being deleted.
func TestH7GateOnDeletion(t *testing.T) {
	for name, change := range map[string]func(*plan.OrdinalVolume){
		"the taker's claim": func(v *plan.OrdinalVolume) {
			v.Destination.Claim = volumes.Claim{Found: true, Terminating: true, Volume: v.Source.Volume.Name}
		},
		"the giver's claim":  func(v *plan.OrdinalVolume) { v.Source.Claim.Terminating = true },
		"the giver's volume": func(v *plan.OrdinalVolume) { v.Source.Volume.Terminating = true },
	} {
		p := halfway(func(s *plan.Snapshot) {
			s.Source.Set.Templates, s.Volumes = []string{"data"}, []plan.OrdinalVolume{carriedOut(1)}
			change(&s.Volumes[0])
		})
		if got := heldBy(p.shared(1)); got != api.ReasonAwaitingDeletion {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

// TestH7NamesDoNotHold: an ordinal does not stay down because another controller's finalizer keeps a Service or an
// export.
func TestH7NamesDoNotHold(t *testing.T) {
	p := halfway(nil)
	going := plan.Name{Ordinal: 1, Service: plan.PodService{Found: true, Ours: true, Terminating: true}, Export: plan.Export{Found: true, Ours: true, Terminating: true}}
	if got := p.unname(plan.SourceSide, going); got != nil {
		t.Errorf("got %+v", got)
	}
	if got := p.nameAt(plan.DestinationSide, going); does(got) != api.ReasonAwaitingDeletion {
		t.Errorf("the new name: got %+v", got)
	}
}
