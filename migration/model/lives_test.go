package model

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/migration/simulate"
	"github.com/sliceshift/sliceshift/pdb"
	"github.com/sliceshift/sliceshift/pdb/pdbtest"
	"github.com/sliceshift/sliceshift/volumes"
)

// life is a migration that begins in the state that another one has left.
type life struct {
	// back is true if it moves in the other direction: its source is the former destination.
	back  bool
	count int32
	// deletes is true if it deletes its source at the end.
	deletes bool
	// retains is true if the owner sets the volumes to Retain before it begins.
	retains bool
}

// follows reports whether such a migration has something to do.
func (l life) follows(s plan.Snapshot) bool {
	giver, taker := s.Source.Set, s.Destination.Set
	if l.back {
		giver, taker = taker, giver
	}
	return giver.Presence == plan.Seen && giver.Replicas > 0 && l.count <= giver.Replicas && (taker.Presence != plan.Seen || !taker.Terminating)
}

// begins starts another migration. Nothing that the former one created or wrote belongs to it, and writes of
// the former one that are in flight may still arrive.
func (m *machine) begins(l life) {
	s := &m.State
	if l.back {
		m.exchange()
	}
	m.lived++
	s.UID, s.Record, s.Deleting = types.UID(fmt.Sprintf("migration-%d", m.lived)), plan.Record{}, false
	s.Spec.Mode, s.Spec.Count, s.Spec.DeleteSource = api.ModeRun, l.count, l.deletes
	s.Spec.Order = api.HighestFirst
	if from, to := s.Source.Set, s.Destination.Set; to.Presence == plan.Seen && to.Replicas > 0 && to.Start < from.Start {
		s.Spec.Order = api.LowestFirst
	}
	for _, name := range plan.SideNames {
		m.disown(m.State.Side(name))
	}
	for i := range s.Volumes {
		for _, h := range []*volumes.Holding{&s.Volumes[i].Source, &s.Volumes[i].Destination} {
			h.Claim.Ours, h.Volume.Ours = false, false
		}
	}
	if l.retains {
		m.retain()
	}
	begin := m.State.Clone()
	m.begin = &begin
	m.version++
	clear(m.held)
	clear(m.idle)
	m.tardy = false
	m.note("another migration begins: %+v", l)
}

// retain sets the source's volumes to Retain, as their owner does.
func (m *machine) retain() {
	for i := range m.State.Volumes {
		v := &m.State.Volumes[i]
		if volume := v.Source.Volume; v.Source.Bound() {
			volume.Policy = corev1.PersistentVolumeReclaimRetain
			m.PutVolume(v, plan.SourceSide, volume)
		}
	}
}

// disown removes the marks of the current migration from a side.
func (m *machine) disown(side *plan.Side) {
	side.Set.Ours, side.Export.Ours = false, false
	for i := range side.Budgets {
		side.Budgets[i].Ours, side.Budgets[i].Fence, side.Budgets[i].Wrote = false, "", ""
	}
	for i := range side.Names {
		side.Names[i].Service.Ours, side.Names[i].Export.Ours = false, false
	}
}

// exchange swaps the source and the destination.
func (m *machine) exchange() {
	s := &m.State
	s.Source, s.Destination = s.Destination, s.Source
	s.Source.Set.Templates = s.Destination.Set.Templates
	s.Source.Service.Needed = s.Destination.Service.Needed
	m.Controllers[plan.SourceSide], m.Controllers[plan.DestinationSide] = m.Controllers[plan.DestinationSide], m.Controllers[plan.SourceSide]
	m.allowed[plan.SourceSide], m.allowed[plan.DestinationSide] = m.allowed[plan.DestinationSide], m.allowed[plan.SourceSide]
	for i := range s.Volumes {
		v := &s.Volumes[i]
		v.Source, v.Destination = v.Destination, v.Source
		for _, h := range []*volumes.Holding{&v.Source, &v.Destination} {
			h.Volume.Attachments = slices.Clone(h.Volume.Attachments)
			for at := range h.Volume.Attachments {
				h.Volume.Attachments[at] = simulate.AttachedTo(plan.SideName(h.Volume.Attachments[at].Name).Other())
			}
		}
	}
	for _, name := range plan.SideNames {
		for i := range m.State.Side(name).Pods {
			pod := &m.State.Side(name).Pods[i]
			if pod.Node != "" {
				pod.Node = string(plan.SideName(pod.Node).Other())
			}
		}
	}
	alien := map[spot]bool{}
	for at := range m.alien {
		alien[spot{at.side.Other(), at.ordinal}] = true
	}
	m.alien = alien
	m.late = slices.Clone(m.late)
	for i := range m.late {
		m.late[i].effect.Side = m.late[i].effect.Side.Other()
	}
}

// lifeAfter ends the current migration, and begins and ends another one.
func (y *play) lifeAfter(l life) plan.Decision {
	y.t.Helper()
	if !l.follows(y.State) {
		y.t.Fatalf("nothing is left for %+v: %s", l, y)
	}
	y.begins(l)
	y.p = y.newProcess()
	return y.end()
}

// TestSplitsLiveOn (G11): a migration begins on a split that another one has left. It moves the rest, a part of
// it, or moves it back, in either direction.
func TestSplitsLiveOn(t *testing.T) {
	base := plantest.Scenario{Replicas: 5, Templates: []string{"data"}, Budget: pdbtest.MaxUnavailable(1), Spec: plan.Spec{Count: 2}}
	lowest, cluster, namespace, two := base, base, base, base
	lowest.Spec.Order, cluster.Spec.SameCluster, namespace.Spec.SameNamespace, two.Budget = api.LowestFirst, true, true, pdbtest.MaxUnavailable(2)
	bare := plantest.Scenario{Replicas: 5, Start: 3, Spec: plan.Spec{Count: 2}}
	for name, c := range map[string]plantest.Scenario{"highest first": base, "lowest first": lowest, "one cluster": cluster, "one namespace": namespace, "d = 2": two, "bare": bare} {
		for what, lives := range map[string][]life{
			"the rest":                      {{}},
			"the rest, and deletes":         {{deletes: true}},
			"one more":                      {{count: 1}},
			"one more, then the rest":       {{count: 1}, {}},
			"all back":                      {{back: true}},
			"one back":                      {{back: true, count: 1}},
			"one back, then the rest again": {{back: true, count: 1}, {back: true}},
			"there and back again":          {{}, {back: true}, {back: true}},
		} {
			t.Run(name+": "+what, func(t *testing.T) {
				y := newPlay(t, c)
				y.end()
				for _, l := range lives {
					if last := y.lifeAfter(l); last.Done != api.ReasonMoved {
						t.Fatalf("got %+v\n%s", last, y.story())
					}
				}
			})
		}
	}
}

// TestSplitIsRolledBackToTheSplit (G11): ordinals that the destination had before remain there.
func TestSplitIsRolledBackToTheSplit(t *testing.T) {
	y := newPlay(t, plantest.Scenario{Replicas: 5, Templates: []string{"data"}, Budget: pdbtest.MaxUnavailable(2), Spec: plan.Spec{Count: 2}})
	y.end()
	y.begins(life{})
	y.p = y.newProcess()
	y.until(plan.ScaleDown, 2)
	y.setMode(api.ModeRollback)
	if last := y.end(); last.Done != api.ReasonRolledBack || y.State.Destination.Set.Replicas != 2 {
		t.Errorf("got %+v: %s", last, y)
	}
}

// TestBudgetOfASplit (G11): at a partial end, the two budgets together allow d. Neither is stuck at 0 if there
// is enough for both; otherwise the budget can be handed over at any time.
func TestBudgetOfASplit(t *testing.T) {
	for _, d := range []int32{1, 2, 3} {
		for count := int32(1); count < 5; count++ {
			t.Run(fmt.Sprintf("d %d, %d of 5", d, count), func(t *testing.T) {
				y := newPlay(t, plantest.Scenario{Replicas: 5, Budget: pdbtest.MaxUnavailable(d), Spec: plan.Spec{Count: count}})
				y.end()
				if have := y.shares(); have.Source+have.Destination != d || d > 1 && (have.Source == 0 || have.Destination == 0) {
					t.Errorf("the budgets allow %+v of %d", have, d)
				}
				for _, to := range []api.SplitBudget{api.SplitBudgetDestination, api.SplitBudgetSource} {
					y.State.Spec.SplitBudget = to
					y.version++
					y.end()
					most := min(d, 5-count)
					want := pdb.Share{Source: most, Destination: d - most}
					if to == api.SplitBudgetDestination {
						most = min(d, count)
						want = pdb.Share{Source: d - most, Destination: most}
					}
					if have := y.shares(); have != want {
						t.Errorf("to the %s: the budgets allow %+v, want %+v", to, have, want)
					}
				}
				y.quiet()
			})
		}
	}
}

// TestBudgetOfASplitThatRollsOut: a rollout of the source has all of the budget between two handoffs. The final
// budgets have a share for each side.
func TestBudgetOfASplitThatRollsOut(t *testing.T) {
	y := newPlay(t, plantest.Scenario{Replicas: 4, Budget: pdbtest.MaxUnavailable(2), Spec: plan.Spec{Count: 2}})
	y.until(plan.ScaleDown, 2)
	y.machine.pass(y.p, y.fair())
	if !y.rollOut(plan.SourceSide) {
		t.Fatal("the source does not roll out")
	}
	for range enough {
		y.machine.pass(y.p, y.fair())
		y.settle(func(s step) bool { return s.kind != updates && s.kind != evicts })
	}
	if have := y.shares(); have != (pdb.Share{Source: 1, Destination: 1}) || y.State.Record.Completed == "" {
		t.Errorf("completed %q, and the budgets allow %+v\n%s", y.State.Record.Completed, have, y.story())
	}
}

// shares returns the number that each budget allows.
func (y *play) shares() pdb.Share {
	y.t.Helper()
	var have pdb.Share
	for _, name := range plan.SideNames {
		n, err := pdb.Budget(y.State.Side(name).Budgets[0].Form, y.State.Side(name).Set.Replicas)
		if err != nil {
			y.t.Fatal(err)
		}
		if name == plan.SourceSide {
			have.Source = n
		} else {
			have.Destination = n
		}
	}
	return have
}

// TestSplitFindings (G11): a slice adjacent to the source is taken for the rest of it, any other is refused,
// and no remedy says to scale running replicas down.
func TestSplitFindings(t *testing.T) {
	for name, tc := range map[string]struct {
		start, replicas int32
		order           api.Order
		want            string
	}{
		"above":                            {5, 2, api.HighestFirst, ""},
		"above, in the wrong order":        {5, 2, api.LowestFirst, api.ReasonSplitNotAdjacent},
		"below":                            {1, 1, api.LowestFirst, ""},
		"below, in the wrong order":        {1, 1, api.HighestFirst, api.ReasonSplitNotAdjacent},
		"over it":                          {3, 2, api.HighestFirst, api.ReasonDestinationNotEmpty},
		"with one missing between":         {6, 2, api.HighestFirst, api.ReasonDestinationNotEmpty},
		"the whole of it, another time":    {2, 3, api.HighestFirst, api.ReasonDestinationNotEmpty},
		"from 0, as nobody has shifted it": {0, 3, api.HighestFirst, api.ReasonDestinationNotEmpty},
	} {
		t.Run(name, func(t *testing.T) {
			s := plantest.Scenario{Replicas: 3, Start: 2, Prepared: true, Spec: plan.Spec{Order: tc.order}}.Build()
			s.Destination.Set.Start, s.Destination.Set.Replicas = tc.start, tc.replicas
			for ordinal := tc.start; ordinal < tc.start+tc.replicas; ordinal++ {
				s.Destination.Pods = append(s.Destination.Pods, plan.Pod{Ordinal: ordinal, Ready: true, ReadySince: plantest.Epoch, Owned: true})
			}
			findings := planner.Preflight(s)
			switch {
			case tc.want == "" && len(findings) > 0:
				t.Errorf("got %+v", findings)
			case tc.want != "" && (len(findings) == 0 || findings[0].Reason != tc.want):
				t.Errorf("got %+v, want %s", findings, tc.want)
			}
		})
	}
}

// TestPolicyOfAVolumeThatNeverLeft: the ordinal that must move back is down, because another client has deleted
// its StatefulSet. The move is reversed before it has written the ordinal's volume. The volume keeps its
// policy: the Retain of the parked volume on the other side is not its owner's choice (I9).
func TestPolicyOfAVolumeThatNeverLeft(t *testing.T) {
	y := newPlay(t, plantest.Scenario{Replicas: 2, Templates: oneClaim, Spec: plan.Spec{Count: 1}})
	y.end()
	y.begins(life{back: true})
	y.p = y.newProcess()
	for y.State.Record.Handoff == nil {
		y.machine.pass(y.p, y.fair())
	}
	was, w := y.State.Source.Set, &model{machine: y.machine}
	w.dropSet(plan.SourceSide, false)
	w.again(plan.SourceSide, was)
	y.setMode(api.ModeRollback)
	y.end()
	if policy := y.volumeOf(1).Source.Volume.Policy; policy != corev1.PersistentVolumeReclaimDelete {
		t.Errorf("its policy is %s\n%s", policy, y.story())
	}
}
