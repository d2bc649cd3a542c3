package planner

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/pdb/pdbtest"
	"github.com/sliceshift/sliceshift/volumes"
)

// rollback reverses the migration: the destination gives ordinal 2 first.
func rollback(s *plan.Snapshot) { s.Spec.Mode = api.ModeRollback }

// TestTakesBackDown: true only in a rollback, and only if the ordinal does not serve (I8).
func TestTakesBackDown(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		want   bool
	}{
		"forward":   {func(s *plan.Snapshot) { goDown(s, 2) }, false},
		"it serves": {rollback, false},
		"it serves not so long": {func(s *plan.Snapshot) {
			rollback(s)
			s.Destination.Set.MinReady, s.Destination.Pods[0].ReadySince = time.Hour, s.Now
		}, false},
		"it is not there": {func(s *plan.Snapshot) { rollback(s); s.Destination.Pods = s.Destination.Pods[1:] }, true},
		"it is not Ready": {func(s *plan.Snapshot) { rollback(s); goDown(s, 2) }, true},
		"it stops":        {func(s *plan.Snapshot) { rollback(s); s.Destination.Pods[0].Terminating = true }, true},
	} {
		if got := halfway(tc.change).takesBackDown(2); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestGate: an ordinal is stopped when that costs no more than d, and is safe. In a rollback, an ordinal that is
// down costs nothing, but its move must still be safe (I5, I8).
func TestGate(t *testing.T) {
	tooMany := func(s *plan.Snapshot) { goDown(s, 0, 3) }
	back := func(s *plan.Snapshot) { rollback(s); tooMany(s) }
	numbers := func(s *plan.Snapshot) { s.Numbers = &plan.Finding{Reason: api.ReasonOrdinalsUnbounded} }
	for name, tc := range map[string]struct {
		ordinal int32
		change  func(*plan.Snapshot)
		want    string
	}{
		"it is open":                             {1, nil, ""},
		"two others are down":                    {1, tooMany, api.ReasonReplicaUnavailable},
		"it is not safe":                         {1, numbers, api.ReasonOrdinalsUnbounded},
		"back, it serves, two others are down":   {2, back, api.ReasonReplicaUnavailable},
		"back, it is down, two others are, too":  {2, func(s *plan.Snapshot) { back(s); goDown(s, 2) }, ""},
		"back, it is down, and that is not safe": {2, func(s *plan.Snapshot) { back(s); goDown(s, 2); numbers(s) }, api.ReasonOrdinalsUnbounded},
	} {
		if got := heldBy(halfway(tc.change).gate(tc.ordinal)); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestCosts: with d = 2 one other replica may be down, with d = 1 none. With OrderedReady none may be, because the
// controller starts no pod after one that is down (I5). The ordinal itself does not count.
func TestCosts(t *testing.T) {
	const east, west = api.ReasonRolloutInProgress + " east", api.ReasonRolloutInProgress + " west"
	one := func(s *plan.Snapshot) { s.Record.Baseline.Budget = 1 }
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		want   string
	}{
		"all are available":               {nil, ""},
		"with d = 1":                      {one, ""},
		"one is down":                     {func(s *plan.Snapshot) { goDown(s, 3) }, ""},
		"two are down":                    {func(s *plan.Snapshot) { goDown(s, 0, 3) }, api.ReasonReplicaUnavailable},
		"with d = 1 one is down":          {func(s *plan.Snapshot) { one(s); goDown(s, 3) }, api.ReasonReplicaUnavailable},
		"with d = 1 it is down itself":    {func(s *plan.Snapshot) { one(s); goDown(s, 1) }, ""},
		"in order":                        {func(s *plan.Snapshot) { s.Source.Set.Ordered = true }, ""},
		"in order, one is down":           {func(s *plan.Snapshot) { s.Source.Set.Ordered = true; goDown(s, 3) }, api.ReasonReplicaUnavailable},
		"in order there, one is down":     {func(s *plan.Snapshot) { s.Destination.Set.Ordered = true; goDown(s, 0) }, api.ReasonReplicaUnavailable},
		"the destination was not changed": {func(s *plan.Snapshot) { s.Template.Fields = "image" }, api.ReasonDestinationDiffers + " east west"},
		"the source rolls out":            {rollsOutAt(plan.SourceSide), east},
		"the destination rolls out":       {rollsOutAt(plan.DestinationSide), west},
		"back, a change is undone":        {func(s *plan.Snapshot) { rollback(s); s.Template.Fields = "image" }, ""},
	} {
		if got := heldBy(asked(halfway(tc.change).View, true)); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestRollingHold: while pods of a slice are replaced, no other is taken down. If all pods would be replaced at
// once, a user must decide (I5, I6).
func TestRollingHold(t *testing.T) {
	for name, tc := range map[string]struct {
		changes but
		want    string
		stalled bool
	}{
		"at rest":                {nil, "", false},
		"it is not there":        {but{rollsOutAt(plan.SourceSide), func(s *plan.Snapshot) { s.Source.Set.Presence = plan.Absent }}, "", false},
		"it has no pods":         {but{rollsOutAt(plan.SourceSide), func(s *plan.Snapshot) { s.Source.Set.Replicas = 0 }}, "", false},
		"one by one":             {but{rollsOutAt(plan.SourceSide)}, "waiting until the roll-out of StatefulSet shop/web in cluster east is done", false},
		"all at once":            {but{rollsOutAt(plan.SourceSide), changesRolls(plan.SourceSide, allAtOnce)}, "Recreate replaces all of its pods at once", true},
		"a pod is asked to go":   {but{changesRolls(plan.SourceSide, askedToLeave)}, "whose replacement was requested", false},
		"asked, and all at once": {but{changesRolls(plan.SourceSide, askedToLeave), changesRolls(plan.SourceSide, allAtOnce)}, "whose replacement was requested", false},
	} {
		got := rollingOut(ownHalves(tc.changes...).Source)
		switch {
		case tc.want == "" && got != nil:
			t.Errorf("%s: got %+v", name, got)
		case tc.want != "" && (got == nil || got.Reason != api.ReasonRolloutInProgress || !strings.Contains(got.Message, tc.want) || got.Stalled != tc.stalled):
			t.Errorf("%s: got %+v, want %q", name, got, tc.want)
		}
	}
}

// TestUnsafe: no ordinal is stopped that could not start again, whose claims would be deleted, or while a
// controller may still act on an earlier change (I3, I4, I6).
func TestUnsafe(t *testing.T) {
	left := func(s *plan.Snapshot) { s.Destination.Pods = slices.Insert(s.Destination.Pods, 0, runs(1)) }
	deletes := func(s *plan.Snapshot) { s.Destination.Set.DeletesClaims = true }
	used := func(s *plan.Snapshot) {
		s.Volumes = []plan.OrdinalVolume{carriedOut(1)}
		usesClaim(s, 0, plan.SourceSide)
	}
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		want   string
	}{
		"it is safe":                       {nil, ""},
		"the destination cannot take it":   {func(s *plan.Snapshot) { s.Numbers = &plan.Finding{Reason: api.ReasonOrdinalsUnbounded} }, api.ReasonOrdinalsUnbounded},
		"the budget is others', too":       {func(s *plan.Snapshot) { s.Source.Budgets = []plan.Budget{{Covers: "x"}} }, api.ReasonBudgetCoversOthers + " east"},
		"the budget there is others', too": {func(s *plan.Snapshot) { s.Destination.Budgets = []plan.Budget{{Covers: "x"}} }, api.ReasonBudgetCoversOthers + " west"},
		"the budget leaves pods out":       {func(s *plan.Snapshot) { s.Source.Budgets = []plan.Budget{{LeavesOut: "x"}} }, api.ReasonBudgetLeavesOut + " east"},
		"the budget there leaves pods out": {func(s *plan.Snapshot) { s.Destination.Budgets = []plan.Budget{{LeavesOut: "x"}} }, api.ReasonBudgetLeavesOut + " west"},
		"the giver deletes claims":         {func(s *plan.Snapshot) { s.Source.Set.DeletesClaims = true }, api.ReasonClaimsDeletedOnScale + " east"},
		"the taker deletes claims":         {deletes, ""},
		"back, the giver deletes claims":   {func(s *plan.Snapshot) { rollback(s); deletes(s) }, api.ReasonClaimsDeletedOnScale + " west"},
		"the giver's controller is behind": {func(s *plan.Snapshot) { s.Source.Set.Observed = false }, api.ReasonControllerBehind + " east"},
		"the taker's controller is behind": {func(s *plan.Snapshot) { s.Destination.Set.Observed = false }, api.ReasonControllerBehind + " west"},
		"a pod is still there":             {func(s *plan.Snapshot) { s.Source.Pods = append(s.Source.Pods, runs(2)) }, api.ReasonPodTerminating + " east"},
		"a pod is still there, at west":    {left, api.ReasonPodTerminating + " west"},
		"its claim is in use":              {used, api.ReasonClaimInUse},
	} {
		if got := heldBy(asked(halfway(tc.change).View, false)); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestBehind: a controller can only be behind for a StatefulSet that exists.
func TestBehind(t *testing.T) {
	for _, presence := range []plan.Presence{plan.Seen, plan.Absent, plan.Unreachable} {
		for _, observed := range []bool{false, true} {
			side := plan.Side{Cluster: "east", Set: plan.Set{Presence: presence, Observed: observed}}
			want := ""
			if presence == plan.Seen && !observed {
				want = api.ReasonControllerBehind + " east"
			}
			if got := heldBy(behind(side)); got != want {
				t.Errorf("%q, observed %t: %q, want %q", presence, observed, got, want)
			}
		}
	}
}

// carriedOut returns an ordinal's volume that is bound at the source, with nothing at the destination.
func carriedOut(ordinal int32) plan.OrdinalVolume {
	claim := plan.ClaimName("data", "web", ordinal)
	ref := volumes.Ref{Namespace: "shop", Name: claim}
	bound := ref
	bound.UID = types.UID("claim-" + claim)
	return plan.OrdinalVolume{Ordinal: ordinal, Template: "data", Destination: volumes.Holding{Ref: ref}, Source: volumes.Holding{
		Ref:    ref,
		Claim:  volumes.Claim{Found: true, UID: bound.UID, Phase: corev1.ClaimBound, Volume: "pv-" + claim},
		Volume: volumes.Volume{Found: true, Name: "pv-" + claim, Policy: corev1.PersistentVolumeReclaimDelete, ClaimRef: bound, Handle: "disk-" + claim},
	}}
}

// holdingAt returns one side of a volume.
func holdingAt(s *plan.Snapshot, at int, name plan.SideName) *volumes.Holding {
	if name == plan.SourceSide {
		return &s.Volumes[at].Source
	}
	return &s.Volumes[at].Destination
}

// usesClaim makes a foreign pod use the claim of a volume on a side.
func usesClaim(s *plan.Snapshot, at int, name plan.SideName) {
	holdingAt(s, at, name).Claim.Users = []string{"backup"}
}

// attaches connects the volume of a side to a node.
func attaches(s *plan.Snapshot, at int, name plan.SideName, node string) {
	h := holdingAt(s, at, name)
	h.Volume.Attachments = append(h.Volume.Attachments, volumes.Attachment{Name: "attached-" + node, Node: node})
}

// TestShared: other users of the ordinal's volumes, or of their place on the other side, are detected before the
// ordinal is stopped. Afterwards the volumes could not move anywhere (I2, I6).
func TestShared(t *testing.T) {
	const east, west = plan.SourceSide, plan.DestinationSide
	foreign := func(s *plan.Snapshot) { s.Volumes[1].Destination.Claim = volumes.Claim{Found: true, Volume: "another"} }
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		want   string
	}{
		"only its pod has it":           {nil, ""},
		"another ordinal's is in use":   {func(s *plan.Snapshot) { usesClaim(s, 0, east) }, ""},
		"its claim is in use":           {func(s *plan.Snapshot) { usesClaim(s, 1, east) }, api.ReasonClaimInUse},
		"its place is somebody's":       {foreign, volumes.ReasonForeignClaim},
		"it is attached where it runs":  {func(s *plan.Snapshot) { attaches(s, 1, east, "node") }, ""},
		"it is attached elsewhere, too": {func(s *plan.Snapshot) { attaches(s, 1, east, "node"); attaches(s, 1, east, "other") }, api.ReasonVolumeAttached},
		"it is in use there":            {func(s *plan.Snapshot) { usesClaim(s, 1, west) }, api.ReasonClaimInUse},
		"it is attached there":          {func(s *plan.Snapshot) { attaches(s, 1, west, "node") }, api.ReasonVolumeAttached},
		"it is released for movers there": {func(s *plan.Snapshot) {
			attaches(s, 1, west, "node")
			s.Volumes[1].Destination.Volume.Released = "m.2"
		}, ""},
		"in one cluster, in use there": {func(s *plan.Snapshot) { s.Spec.SameCluster = true; usesClaim(s, 1, west) }, api.ReasonClaimInUse},
		"its second volume is attached there": {func(s *plan.Snapshot) {
			s.Volumes = append(s.Volumes, carriedOut(1))
			attaches(s, 2, west, "node")
		}, api.ReasonVolumeAttached},
		"in one cluster it is one volume":  {func(s *plan.Snapshot) { s.Spec.SameCluster = true; attaches(s, 1, west, "node") }, ""},
		"back, it is in use at the source": {func(s *plan.Snapshot) { rollback(s); usesClaim(s, 1, east) }, ""},
		"back, it is in use where it is":   {func(s *plan.Snapshot) { rollback(s); usesClaim(s, 1, west) }, api.ReasonClaimInUse},
		"a pod of the migration uses it": {func(s *plan.Snapshot) {
			usesClaim(s, 1, east)
			s.Volumes[1].Source.Claim.Own = []string{"backup"}
		}, api.ReasonClaimInUse},
	} {
		p := halfway(func(s *plan.Snapshot) {
			s.Volumes = []plan.OrdinalVolume{carriedOut(0), carriedOut(1)}
			if tc.change != nil {
				tc.change(s)
			}
		})
		got := p.shared(1)
		foreign := tc.want == volumes.ReasonForeignClaim
		stalls := foreign || got != nil && strings.Contains(got.Message, "an ordinal that is stopped now would be down")
		if heldBy(got) != tc.want || got != nil && got.Stalled != stalls {
			t.Errorf("%s: %+v, want %q", name, got, tc.want)
		}
		if foreign && (!strings.HasPrefix(got.Message, "ordinal 1: ") || got.Remedy == "") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// asked returns the hold for ordinal 1 of the gates that cost something, or of the others.
func asked(v *View, costs bool) *plan.Hold {
	for _, gate := range gates {
		if gate.Costs != costs {
			continue
		}
		if hold := gate.Blocks(v, 1); hold != nil {
			return hold
		}
	}
	return nil
}

// TestGatesThatCost: in a rollback, an ordinal that is down passes the gates that protect availability, and none of those
// that protect its data or the slices (I5, I8).
func TestGatesThatCost(t *testing.T) {
	free := []string{"volumes asked for", "services asked for", "start ordinal", "start withdrawn", "stalled neighbor", "proofs", "slices", "volumes"}
	for _, gate := range gates {
		if gate.Costs == slices.Contains(free, gate.Name) {
			t.Errorf("gate %q costs: %t", gate.Name, gate.Costs)
		}
	}
}

// TestRegisterGate: a gate without a function, or with the name of another, is not registered.
func TestRegisterGate(t *testing.T) {
	open := func(*View, int32) *plan.Hold { return nil }
	for name, gate := range map[string]Gate{"no name": {Blocks: open}, "nothing to ask": {Name: "mute"}, "a taken name": {Name: "replicas", Blocks: open}} {
		t.Run(name, func(t *testing.T) {
			before := len(gates)
			defer func() {
				if recover() == nil || len(gates) != before {
					t.Error("it is registered")
				}
			}()
			RegisterGate(gate)
		})
	}
}

// TestOneRollOutAfterTheOther: the remedy to change the destination's template first waits for the source's
// rollout. Two native ones at once would take two replicas down under a budget of one (G14).
func TestOneRollOutAfterTheOther(t *testing.T) {
	for name, tc := range map[string]struct {
		rolledOut bool
		want      []string
	}{
		"the source still rolls out": {false, []string{"wait", "cluster east", "kubectl rollout status -n shop sts/web", "cluster west", "kubectl edit sts -n shop web", "kubectl rollout status -n shop sts/web", "kubectl annotate sts -n shop web --overwrite migration.sliceshift.io/template=1"}},
		"the source has rolled out":  {true, []string{"cluster west", "kubectl edit sts -n shop web", "kubectl rollout status -n shop sts/web"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := plantest.Healthy(0, 3, pdbtest.MaxUnavailable(1))
			s.Template = plan.TemplateChange{Fields: "spec.template.spec", Hash: "1"}
			s.Source.Set.RolledOut = tc.rolledOut
			hold := newPlanner(s).outdated()
			if hold == nil {
				t.Fatal("it is not held")
			}
			rest, found := hold.Remedy, false
			for _, part := range tc.want {
				if _, rest, found = strings.Cut(rest, part); !found {
					t.Fatalf("%q is not in its place in: %s", part, hold.Remedy)
				}
			}
			if tc.rolledOut && strings.Contains(hold.Remedy, "cluster east") {
				t.Errorf("it waits for what is done: %s", hold.Remedy)
			}
			if slices.Contains(strings.Fields(hold.Remedy), "scale") {
				t.Errorf("live replicas are scaled: %s", hold.Remedy)
			}
		})
	}
}
