package planner

import (
	"fmt"
	"testing"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// claimState is the progress of the claim in which a copy is made.
type claimState string

const (
	unbegun   claimState = "unbegun"
	dropped   claimState = "dropped"
	unclaimed claimState = "unclaimed"
	claimed   claimState = "claimed"
	bound     claimState = "bound"
)

// at sets the progress of a copy of ordinal 2, before any of its pods.
func at(template string, state claimState, warm api.CopyWarmMode) func(*plan.Snapshot) {
	return to(template, func(v *plan.OrdinalVolume, a *api.CopyAttempt) {
		v.Copy.Asked.Warm, a.Filling = warm, false
		switch state {
		case unbegun:
			*a, v.Copy.Incoming = api.CopyAttempt{}, volumes.Holding{}
		case dropped:
			a.Dropped, v.Copy.Incoming = true, volumes.Holding{}
		case unclaimed:
			v.Copy.Incoming.Claim, v.Copy.Incoming.Volume = volumes.Claim{}, volumes.Volume{}
		case claimed:
			v.Copy.Incoming.Claim.Volume, v.Copy.Incoming.Claim.Phase, v.Copy.Incoming.Volume = "", "Pending", volumes.Volume{}
			v.Copy.WaitsForPod = true
		case bound:
		}
	})
}

// beforeStop makes ordinal 2 run at the giver, with two volumes that are copied from there.
func beforeStop(changes ...func(*plan.Snapshot)) []func(*plan.Snapshot) {
	copied := func(s *plan.Snapshot) {
		s.Record.Handoff.Volumes = nil
		for i := range s.Volumes {
			v := &s.Volumes[i]
			if v.Ordinal != 2 {
				continue
			}
			before := v.Source
			release(s, v)
			v.Source, v.Copy.Outgoing = before, volumes.Holding{}
		}
	}
	return append([]func(*plan.Snapshot){unbudgeted, logged, sends(2), copied}, changes...)
}

// TestClaimsBeforePods: all claims for an ordinal's copies exist before any of them gets a pod, whatever their
// order and whether they are copied while it runs. A class that waits for no pod creates its volume then, and the
// pods run where that is. Each claim is created without waiting for another one.
func TestClaimsBeforePods(t *testing.T) {
	states := []claimState{unbegun, dropped, unclaimed, claimed, bound}
	modes := []api.CopyWarmMode{api.CopyWarmMount, api.CopyWarmNone}
	for _, down := range []bool{false, true} {
		for _, data := range states {
			for _, logs := range states {
				for i := range len(modes) * len(modes) {
					ofData, ofLogs := modes[i%2], modes[i/2]
					t.Run(fmt.Sprintf("down=%v/%s,%s/%s,%s", down, data, ofData, logs, ofLogs), func(t *testing.T) {
						changes := []func(*plan.Snapshot){at("data", data, ofData), at("logs", logs, ofLogs)}
						next := func() *plan.Decision { return midway(beforeStop(changes...)...).way(2, atGiver) }
						if down {
							next = func() *plan.Decision { return midway(twice(changes...)...).way(2, atNeither) }
						}
						got := next()
						all := (data == claimed || data == bound) && (logs == claimed || logs == bound)
						switch e := got.Effect; {
						case all && e != nil && e.Volume.Verb == volumes.CreateIncoming:
							t.Error("a claim is made twice")
						case !all && got.Record == nil && (e == nil || e.Volume.Verb != volumes.CreateIncoming):
							t.Errorf("a claim is still to be made, but next is %q", inShort(got))
						}
					})
				}
			}
		}
	}
}

// TestPlacedBeforeTheStop: of two volumes that are created where a pod runs, the first is copied only after the
// stop, and the other one before. The first is only placed before the stop: the other one waits for that, and the
// stop for the other one.
func TestPlacedBeforeTheStop(t *testing.T) {
	runs := func(s *plan.Snapshot) {
		for i := range s.Source.Pods {
			s.Source.Pods[i].Node = "node"
		}
	}
	for name, tc := range map[string]struct {
		data, logs     claimState
		ofData, ofLogs api.CopyWarmMode
		want           string // the template for which a receiver is created; empty: none
	}{
		"the first is placed":             {claimed, claimed, api.CopyWarmNone, api.CopyWarmMount, "data"},
		"and then the other one":          {bound, claimed, api.CopyWarmNone, api.CopyWarmMount, "logs"},
		"nobody waits for the second":     {claimed, claimed, api.CopyWarmMount, api.CopyWarmNone, "data"},
		"neither is copied while it runs": {claimed, claimed, api.CopyWarmNone, api.CopyWarmNone, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := midway(beforeStop(runs, at("data", tc.data, tc.ofData), at("logs", tc.logs, tc.ofLogs))...).way(2, atGiver)
			made := ""
			if e := got.Effect; e != nil && e.Volume.Verb == volumes.CreateMover && e.Volume.Copy.Role == volumes.RoleReceiver {
				for _, template := range []string{"data", "logs"} {
					if e.Volume.Ref == volumes.IncomingRef(volumes.Ref{Namespace: e.Volume.Ref.Namespace, Name: template + "-web-2"}, "migration", 7) {
						made = template
					}
				}
			}
			if made != tc.want {
				t.Errorf("a receiver is made of %q, want %q; next is %q", made, tc.want, inShort(got))
			}
		})
	}
}

// TestColdClaimIsMadeBeforeTheStop: the new volume of a claim that is not copied while its ordinal runs is provisioned
// and mounted before the ordinal is stopped. No sender reads beside its pod. Nothing is created while a gate is closed.
func TestColdClaimIsMadeBeforeTheStop(t *testing.T) {
	cold := func(a *api.CopyAttempt, c *volumes.Copying) {
		begunCopy(a, c)
		c.Asked.Warm = api.CopyWarmNone
	}
	mounts := func(a *api.CopyAttempt, c *volumes.Copying) {
		poised(a, c)
		a.Warm, a.Filling, c.Asked.Warm, c.Sender = api.CopyWarm{}, false, api.CopyWarmNone, volumes.Mover{}
	}
	for name, tc := range map[string]struct {
		change func(*api.CopyAttempt, *volumes.Copying)
		want   volumes.Verb
	}{"it has no claim": {cold, volumes.CreateIncoming}, "it is mounted": {mounts, volumes.Secure}} {
		if got := midway(unbudgeted, sends(2), byCopy(tc.change)).way(2, atGiver); got.Effect == nil || got.Effect.Volume.Verb != tc.want {
			t.Errorf("%s: got %q", name, inShort(got))
		}
	}
	if got := midway(unbudgeted, sends(2), byCopy(cold), closedGate("Numbers")).way(2, atGiver); got.Effect != nil || got.Hold == nil || got.Hold.Reason != "Numbers" {
		t.Errorf("while a gate is closed: got %q", inShort(got))
	}
}

// TestNothingIsClaimedOfWhatIsLost: no claim is created for a copy from a lost cluster.
func TestNothingIsClaimedOfWhatIsLost(t *testing.T) {
	for _, lost := range []bool{false, true} {
		p := midway(twice(at("data", unbegun, api.CopyWarmMount), func(s *plan.Snapshot) { s.Destination.Lost = lost })...)
		for _, v := range p.Volumes {
			if got := (carryPlanner{p.View}).claim(v); v.Ordinal == 2 && v.Template == "data" && got.Done() != lost {
				t.Errorf("lost=%v: %+v", lost, got)
			}
		}
	}
}
