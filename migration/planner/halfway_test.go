package planner

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// but lists changes of a snapshot, applied in their order.
type but []func(*plan.Snapshot)

// halfway returns the planners of an application of four replicas that is halfway: the source, in cluster east,
// has ordinals 0 and 1, the destination, in cluster west, has 2 and 3. All are available, and two may be
// unavailable at once. Process "h" holds the fence, in epoch 2.
func halfway(change func(*plan.Snapshot)) *planners {
	s := plan.Snapshot{
		Now: began.Add(time.Hour), UID: "m", Holder: "h", Engaged: true,
		Spec:        plan.Spec{Mode: api.ModeRun, Order: api.HighestFirst},
		Source:      plan.Side{Cluster: "east", Namespace: "shop", Reach: plan.Seen, Set: halfOf("s", 0), Pods: []plan.Pod{runs(0), runs(1)}},
		Destination: plan.Side{Cluster: "west", Namespace: "shop", Reach: plan.Seen, Set: halfOf("d", 2), Pods: []plan.Pod{runs(2), runs(3)}},
		Record: plan.Record{
			Baseline: &api.Baseline{Replicas: 4, Budget: 2, SourceUID: "s", DestinationUID: "d"},
			Fence:    &api.Fence{Epoch: 2, Holder: "h", Direction: api.Forward},
		},
	}
	if change != nil {
		change(&s)
	}
	return newPlanner(s)
}

// halfOf returns a slice of two replicas without a rollout.
func halfOf(uid types.UID, start int32) plan.Set {
	return plan.Set{Presence: plan.Seen, Name: "web", UID: uid, ResourceVersion: "1", Start: start, Replicas: 2, Observed: true, RolledOut: true, Fence: "m.2"}
}

// runs returns the available pod of an ordinal.
func runs(ordinal int32) plan.Pod {
	return plan.Pod{Ordinal: ordinal, UID: types.UID(fmt.Sprintf("pod-%d", ordinal)), Ready: true, Owned: true, Node: "node"}
}

// goDown makes the pods of ordinals unavailable.
func goDown(s *plan.Snapshot, ordinals ...int32) {
	for _, ordinal := range ordinals {
		for _, side := range []*plan.Side{&s.Source, &s.Destination} {
			if pod, found := side.Pod(ordinal); found {
				pod.Ready = false
				side.SetPod(pod)
			}
		}
	}
}

// nothingLeft limits the migration to two ordinals, which the destination already has.
func nothingLeft(s *plan.Snapshot) { s.Spec.Count = 2 }

// amounts describes a decision's write with its number, or the reason of its wait and the cluster.
func amounts(d *plan.Decision) string {
	switch {
	case d != nil && d.Effect != nil:
		return fmt.Sprintf("%s: %d", does(d), d.Effect.MaxUnavailable+d.Effect.After.Share)
	case d != nil && d.Hold != nil:
		return heldBy(d.Hold)
	}
	return does(d)
}

// heldBy returns the reason of a hold and its cluster; empty: there is no hold.
func heldBy(hold *plan.Hold) string {
	if hold == nil {
		return ""
	}
	text := []string{hold.Reason}
	for _, cluster := range []string{"east", "west"} {
		if strings.Contains(hold.Message, "cluster "+cluster) {
			text = append(text, cluster)
		}
	}
	return strings.Join(text, " ")
}
