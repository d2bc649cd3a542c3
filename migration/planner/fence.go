package planner

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/pdb"
)

// fencePlanner acquires the fences of both StatefulSets, and releases them (I7).
type fencePlanner struct{ *View }

// Fence returns the value of the fence annotation in an epoch.
func Fence(uid types.UID, epoch int64) string { return fmt.Sprintf("%s.%d", uid, epoch) }

// lastEpoch bounds valid epochs. Epochs increase by one, so a larger number was written by hand, and must not
// block every other process permanently.
const lastEpoch = 1 << 40

// FenceEpoch returns the epoch of a fence; 0 when it has none.
func FenceEpoch(fence string) int64 {
	_, number, _ := strings.Cut(fence, ".")
	epoch, err := strconv.ParseInt(number, 10, 64)
	if err != nil || epoch < 0 || epoch > lastEpoch {
		return 0
	}
	return epoch
}

// newest returns the newest epoch of this migration on any object that was read: a StatefulSet, which a new
// process writes first, a budget, or a volume.
func (p fencePlanner) newest() int64 {
	var newest int64
	see := func(fence string) {
		if api.FenceOwner(fence) == p.UID {
			newest = max(newest, FenceEpoch(fence))
		}
	}
	for _, name := range plan.SideNames {
		side := p.Side(name)
		if side.Set.Presence == plan.Seen {
			see(side.Set.Fence)
		}
		for _, budget := range side.Budgets {
			see(budget.Fence)
		}
		for i := range p.Volumes {
			see(p.Volumes[i].Holding(name).Volume.Fence)
		}
	}
	return newest
}

// ensureFence writes a fence with this process's epoch and direction on both StatefulSets. It precedes every write
// that starts or stops a pod. Each such write carries the resourceVersion of an object read after the new epoch
// was written, so the late write of a process that lost its leadership is refused.
func (p fencePlanner) ensureFence() *plan.Decision {
	current := p.Record.Fence
	switch {
	case current == nil || !p.Engaged:
		return p.nextFence()
	case current.Holder == p.Holder && current.Direction != p.direction():
		return p.nextFence()
	case current.Holder != p.Holder:
		return plan.Stalled(api.ReasonSuperseded, fmt.Sprintf("process %q has taken over the migration", current.Holder), "no action is needed: this process stops")
	case p.newest() > current.Epoch:
		// Another process may have taken over unnoticed. Its change of the record makes this write of the record
		// fail.
		return p.nextFence()
	}
	want := p.fence()
	for _, name := range plan.SideNames {
		side := p.Side(name)
		set := side.Set
		if set.Presence != plan.Seen || set.Fence == want && !set.Rolls.Unmarked {
			continue
		}
		if owner := api.FenceOwner(set.Fence); owner != "" && owner != p.UID {
			return stalledBy(HeldByAnother(*side, p.Source))
		}
		return writeSet(set, plan.Effect{Verb: plan.WriteFence, Side: name}, func(s *plan.SetState) { s.Fence, s.Unmarked = want, false })
	}
	return nil
}

func (p fencePlanner) nextFence() *plan.Decision {
	next := p.Record
	fence := api.Fence{Epoch: p.newest() + 1, Holder: p.Holder, Direction: p.direction()}
	turned := false
	if p.Record.Fence != nil {
		fence.Epoch = max(fence.Epoch, p.Record.Fence.Epoch+1)
		turned = p.Record.Fence.Direction != fence.Direction
	}
	if turned {
		next.Hooks, next.HookTurns = nil, p.hookTurn()
	}
	next.Fence, next.Baseline = &fence, p.withServices()
	next.Further = slices.Clone(next.Further)
	for i := range next.Further {
		p.takeOver(&next.Further[i], turned)
	}
	if next.Handoff != nil {
		handoff := *next.Handoff
		p.takeOver(&handoff, turned)
		next.Handoff = &handoff
	}
	return &plan.Decision{Record: &next}
}

// takeOver counts the new driver of a handoff, or its new direction.
func (p fencePlanner) takeOver(handoff *api.Handoff, turned bool) {
	handoff.Attempts++
	if turned {
		handoff.StartTime = metav1.NewMicroTime(p.Now)
	}
}

// withServices returns the baseline with the services of the move. A record of an older version lacks them. The
// process that takes the migration over records the services that the spec requests, before any other write, and
// they stay the same from then on.
func (p fencePlanner) withServices() *api.Baseline {
	if p.Record.Baseline == nil || p.Record.Baseline.Services != nil {
		return p.Record.Baseline
	}
	base, services := *p.Record.Baseline, p.Services()
	base.Services = &services
	return &base
}

// release removes the fences of both StatefulSets, as the last step.
func (p fencePlanner) release() *plan.Decision {
	return cmp.Or(p.releaseOf(plan.DestinationSide), p.releaseOf(plan.SourceSide))
}

// releaseOf removes the fence of one StatefulSet.
func (p fencePlanner) releaseOf(name plan.SideName) *plan.Decision {
	set := p.Side(name).Set
	if set.Presence != plan.Seen || api.FenceOwner(set.Fence) != p.UID {
		return nil
	}
	return writeSet(set, plan.Effect{Verb: plan.ReleaseFence, Side: name}, func(s *plan.SetState) {
		s.Fence, s.Shared, s.Share = "", false, 0
		s.Split, s.HandOver = p.Storage == nil && mayRun(p.Source.Set) && mayRun(p.Destination.Set), set.Replicas > 0 || p.Storage != nil
	})
}

// mayRun reports whether a StatefulSet may own ordinals: one that cannot be read may.
func mayRun(s plan.Set) bool {
	return s.Presence == plan.Seen && s.Replicas > 0 || s.Presence != plan.Seen && s.Presence != plan.Absent
}

// Unbelievable returns the reason that a record does not belong to the migration for which it is read; empty: none
// is known. A record in an object that others may write, such as the ConfigMap of a run, may be forged. So its
// source and clusters are compared with the observed ones, and its disruption budget with what the
// PodDisruptionBudgets allow (I4).
func Unbelievable(s plan.Snapshot) string {
	base, source := s.Record.Baseline, s.Source.Set
	allowed, err := recordable(s)
	switch {
	case base == nil:
		return ""
	case base.SourceCluster != s.Source.ClusterID:
		return fmt.Sprintf("it is of a source in the cluster whose namespace kube-system has the UID %s, and cluster %s has %s", base.SourceCluster, s.Source.Cluster, s.Source.ClusterID)
	case base.DestinationCluster != s.Destination.ClusterID:
		return fmt.Sprintf("it is of a destination in the cluster whose namespace kube-system has the UID %s, and cluster %s has %s", base.DestinationCluster, s.Destination.Cluster, s.Destination.ClusterID)
	case source.Presence == plan.Seen && source.UID != base.SourceUID && s.Record.Storage == nil: // in place, the set is recreated
		return fmt.Sprintf("it is of a StatefulSet with the UID %s, and %s has %s", base.SourceUID, s.Source.Object(), source.UID)
	case s.Unbounded() != nil:
		return s.Unbounded().Message
	case err != nil:
		return err.Error()
	case base.Budget > allowed:
		return fmt.Sprintf("it says that %d replicas may be unavailable, and no more than %d may", base.Budget, allowed)
	}
	return ""
}

// recordable returns the largest disruption budget that a record may have; compare checks.Allowance, which
// computed the recorded one.
func recordable(s plan.Snapshot) (int32, error) {
	base := s.Record.Baseline
	if base == nil {
		return 0, nil
	}
	var forms []pdb.Form
	for _, side := range []plan.Side{s.Source, s.Destination} {
		for _, b := range side.Budgets {
			forms = append(forms, b.AuthorForm())
		}
	}
	allowed := int32(0)
	for _, form := range forms { // one of them may still have an older form of its author
		n, err := pdb.Budget(form, base.Replicas)
		if err != nil {
			return 0, err
		}
		allowed = max(allowed, n)
	}
	switch {
	case s.Spec.MaxUnavailable != nil:
		asked, err := pdb.Budget(pdb.Form{MaxUnavailable: s.Spec.MaxUnavailable}, base.Replicas)
		if err != nil {
			return 0, err
		}
		if len(forms) == 0 || asked < allowed {
			return asked, nil
		}
	case len(forms) == 0:
		return 1, nil // the default without a PodDisruptionBudget: the record's own statement about one may be forged, too
	}
	return allowed, nil
}
