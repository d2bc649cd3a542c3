package simulate

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/pdb/pdbtest"
	"github.com/sliceshift/sliceshift/volumes"
)

// asAttached returns a snapshot of clusters whose controllers attach volumes to the nodes of their pods. With
// left, the ordinal in flight has left its attachments.
func asAttached(s plan.Snapshot, left bool) plan.Snapshot { //nolint:gocyclo // one condition after the other, each a line
	s = s.Clone()
	node := func(name plan.SideName, ordinal int32) string {
		return fmt.Sprintf("%s-node-%d", s.Side(name).Cluster, ordinal%2)
	}
	for _, name := range plan.SideNames {
		for i := range s.Side(name).Pods {
			pod := &s.Side(name).Pods[i]
			pod.Node = node(name, pod.Ordinal)
		}
	}
	w := World{State: s}
	handoff := s.Record.Handoff
	if handoff != nil && handoff.Load != nil && handoff.Load.Node != "" {
		now, load := *handoff, *handoff.Load
		load.Node = node(plan.SideName(load.Node), handoff.Ordinal)
		now.Load, w.State.Record.Handoff = &load, &now
	}
	for i := range w.State.Volumes {
		v := &w.State.Volumes[i]
		if c := v.Copy; c != nil && c.Warm.Node != "" { // it is on the node of the ordinal's own pod
			c.Warm.Node = node(plan.SideName(c.Warm.Node), v.Ordinal)
		}
		for _, name := range plan.SideNames {
			h := v.Holding(name)
			_, runs := w.State.Side(name).Pod(v.Ordinal)
			_, elsewhere := w.State.Side(name.Other()).Pod(v.Ordinal)
			leaves := left && !runs && !elsewhere && handoff != nil && handoff.Ordinal == v.Ordinal && planner.Giver(w.State) == name &&
				handoff.Load != nil && handoff.Load.Node == string(name)
			if h.Volume.Found && (runs && h.Bound() || leaves) {
				w.Attach(v, name, []volumes.Attachment{{Name: "csi-" + string(h.Volume.UID), Node: node(name, v.Ordinal)}})
			}
		}
	}
	return w.State
}

// shown returns the comparable result of a dry run.
func shown(s plan.Snapshot) Result {
	result := Run(s)
	for i := range result.Steps {
		result.Steps[i].Effect.Carriage, result.Steps[i].Effect.Volume.Copy.Node = plan.Carriage{}, ""
	}
	return result
}

// differ returns the differences between two dry runs. The sender of a last pass is created before the stop only if its
// volume is not attached, so the steps of senders are left out, with their claims and keys.
func differ(s, attached plan.Snapshot) string {
	if !slices.ContainsFunc(s.Volumes, func(v plan.OrdinalVolume) bool { return v.Method == api.MethodCopy }) {
		return cmp.Diff(shown(s), shown(attached))
	}
	kept := func(s plan.Snapshot) []string {
		result := shown(s)
		all := []string{result.Outcome}
		for _, step := range result.Steps {
			text := step.Description
			if a := step.Effect.Volume; a.Copy.Role != volumes.RoleSender && a.Verb != volumes.TellMover && a.Part() != volumes.PartOutgoing && !strings.Contains(text, "sliceshift-out-") {
				all = append(all, text)
			}
		}
		return all
	}
	return cmp.Diff(kept(s), kept(attached))
}

// TestP1AttachedVolumesMove: a dry run has the same steps whether clusters attach volumes or not. This holds in
// both directions, in one cluster, by each method, in either order, and for a part of the ordinals.
func TestP1AttachedVolumesMove(t *testing.T) {
	for name, change := range map[string]func(*plantest.Scenario){
		"to another cluster":   func(*plantest.Scenario) {},
		"to another namespace": func(c *plantest.Scenario) { c.Spec.SameCluster = true },
		"lowest first":         func(c *plantest.Scenario) { c.Spec.Order, c.Slices = api.LowestFirst, true },
		"one of them":          func(c *plantest.Scenario) { c.Spec.Count = 1 },
		"Copy":                 func(c *plantest.Scenario) { c.Method = api.MethodCopy },
		"Snapshot":             func(c *plantest.Scenario) { c.Method = api.MethodSnapshot },
		"Empty":                func(c *plantest.Scenario) { c.Method = api.MethodEmpty },
		"Copy in one cluster":  func(c *plantest.Scenario) { c.Method, c.Spec.SameCluster = api.MethodCopy, true },
		"in order":             func(c *plantest.Scenario) { c.Ordered = true },
	} {
		c := plantest.Scenario{Replicas: 3, Templates: []string{"data", "wal"}, Budget: pdbtest.MaxUnavailable(1)}
		change(&c)
		for ordinals := range int32(4) {
			for _, mode := range []api.Mode{api.ModeRun, api.ModeRollback} {
				s := c.Build()
				if ordinals > 0 && (c.Spec.Count == 0 || ordinals <= c.Spec.Count) {
					s = halfSimulated(t, c, plan.ScaleUp, int(ordinals)).Snapshot()
				}
				if s.Spec.Mode = mode; mode == api.ModeRollback && ordinals == 0 {
					continue
				}
				want := shown(s)
				if diff := differ(s, asAttached(s, true)); diff != "" || want.Outcome == "" {
					t.Errorf("%s, %d moved, %s: it ends with %q, held by %+v; -without attachments +with them\n%s", name, ordinals, mode, want.Outcome, want.Held, diff)
				}
			}
		}
	}
}

// TestP1AttachedAtAnyMoment: a dry run that begins at any moment of any move has the same steps, too.
func TestP1AttachedAtAnyMoment(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := someMoment(t)
		if diff := differ(s, asAttached(s, rapid.Bool().Draw(t, "left"))); diff != "" {
			t.Fatalf("-without attachments +with them\n%s", diff)
		}
	})
}

// TestP1AttachedElsewhereStalls: an attachment to another node than the pod's remains, and the dry run stalls.
func TestP1AttachedElsewhereStalls(t *testing.T) {
	c := plantest.Scenario{Replicas: 3, Templates: []string{"data"}}
	for name, s := range map[string]plan.Snapshot{
		"at the beginning": c.Build(),
		"it is down":       halfSimulated(t, c, plan.ScaleDown, 2).Snapshot(),
	} {
		for _, node := range []string{"gone", "source"} {
			s := asAttached(s, true)
			s.Volumes[1].Source.Volume.Attachments = append(slices.Clone(s.Volumes[1].Source.Volume.Attachments), volumes.Attachment{Name: "csi-another", Node: node})
			result := Run(s)
			if held := result.Held; result.Outcome != "" || held == nil || held.Reason != api.ReasonVolumeAttached || !strings.Contains(held.Message, "csi-another") {
				t.Errorf("%s, node %s: it ends with %q, held by %+v", name, node, result.Outcome, held)
			}
		}
	}
}

// TestP1MoversLetGo: a mover's attachment ends with the mover, even if the mover was deleted before the dry run.
func TestP1MoversLetGo(t *testing.T) {
	c := plantest.Scenario{Replicas: 2, Templates: []string{"data"}, Method: api.MethodCopy}
	tried := 0
	for n := range 60 {
		s := afterSteps(t, c, n)
		for i := range s.Volumes {
			seen := s.Volumes[i].Copy
			if seen.Attempt.Number == 0 || !seen.Incoming.Volume.Found || !seen.Incoming.Bound() && !seen.Incoming.Parked() {
				continue
			}
			tried++
			if seen.Receiver.Found {
				seen.Receiver.Node = "west-node-7"
			}
			seen.Incoming.Volume.Attachments = []volumes.Attachment{{Name: "csi-filled", Node: "west-node-7"}}
		}
		if result := Run(s); result.Outcome != api.ReasonMoved {
			t.Errorf("after %d decisions: it ends with %q, held by %+v", n, result.Outcome, result.Held)
		}
	}
	if tried == 0 {
		t.Error("nothing was tried")
	}
}

// afterSteps returns a move after n decisions.
func afterSteps(t *testing.T, c plantest.Scenario, n int) plan.Snapshot {
	t.Helper()
	w := NewWorld(c.Build())
	drive(t, w, func(plan.Decision) bool { n--; return n < 0 })
	return w.Snapshot()
}
