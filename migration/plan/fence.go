package plan

import (
	"fmt"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	slicesapi "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// fencePlanner gets the fences of both StatefulSets, and lets go of them (I7).
type fencePlanner struct{ *View }

// Fence is the value of the fence annotation in an epoch.
func Fence(uid types.UID, epoch int64) string { return fmt.Sprintf("%s.%d", uid, epoch) }

// lastEpoch bounds what counts as an epoch: they are counted up by one, so a larger number
// was written by hand, and must not keep everybody else out for ever.
const lastEpoch = 1 << 40

// FenceEpoch is the epoch of a fence; 0 when it has none.
func FenceEpoch(fence string) int64 {
	_, number, _ := strings.Cut(fence, ".")
	epoch, err := strconv.ParseInt(number, 10, 64)
	if err != nil || epoch < 0 || epoch > lastEpoch {
		return 0
	}
	return epoch
}

// newest is the newest epoch of this migration that is on something that was looked at: on one of
// the StatefulSets, where whoever takes over writes first, on a budget or on a volume.
func (p fencePlanner) newest() int64 {
	var newest int64
	see := func(fence string) {
		if api.FenceOwner(fence) == p.UID {
			newest = max(newest, FenceEpoch(fence))
		}
	}
	for _, name := range SideNames {
		side := p.Side(name)
		if side.Set.Presence == Seen {
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

// ensureFence makes this process and this direction the ones that both StatefulSets
// speak of. It goes before everything that starts or stops a pod: each such write
// carries the resourceVersion of an object read after the new epoch was written,
// so the late write of a process that lost its leadership is refused.
func (p fencePlanner) ensureFence() *Decision {
	current := p.Record.Fence
	switch {
	case current == nil || !p.Engaged:
		return p.nextFence()
	case current.Holder == p.Holder && current.Direction != p.direction():
		return p.nextFence()
	case current.Holder != p.Holder:
		return Stalled(api.ReasonSuperseded, fmt.Sprintf("process %q has taken the migration over", current.Holder), "nothing is to be done: this process stops")
	case p.newest() > current.Epoch:
		// Another process may have taken over, and this one has not heard of it: then the record
		// has changed, and this write of it is refused.
		return p.nextFence()
	}
	want := p.fence()
	for _, name := range SideNames {
		side := p.Side(name)
		set := side.Set
		if set.Presence != Seen || set.Fence == want {
			continue
		}
		if owner := api.FenceOwner(set.Fence); owner != "" && owner != p.UID {
			return heldByAnother(*side)
		}
		return set.write(Effect{Verb: WriteFence, Side: name, Fence: want})
	}
	return nil
}

func (p fencePlanner) nextFence() *Decision {
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
	next.Fence = &fence
	if next.Handoff != nil {
		handoff := *next.Handoff
		handoff.Attempts++
		if turned {
			handoff.StartTime = metav1.NewMicroTime(p.Now)
		}
		next.Handoff = &handoff
	}
	return &Decision{Record: &next}
}

func heldByAnother(side Side) *Decision {
	finding := heldFinding(side)
	return Stalled(finding.Reason, finding.Message, finding.Remedy)
}

func heldFinding(side Side) Finding {
	return Finding{
		Reason: api.ReasonHeldByAnother,
		Object: side.object(),
		Message: fmt.Sprintf("%s belongs to the Migration with UID %s: two of them would start the same ordinal twice",
			side.object(), api.FenceOwner(side.Set.Fence)),
		Remedy: fmt.Sprintf("finish or delete that Migration; if it does not exist any more: kubectl annotate %s -n %s %s %s",
			side.Set.resource(), side.Namespace, side.Set.Name, side.Set.marks()),
	}
}

// marks are the annotations of a migration as kubectl takes them away.
func (s Set) marks() string {
	keys := []string{api.FenceAnnotationKey}
	if s.resource() == SliceResource {
		keys = append(keys, slicesapi.MigratingAnnotationKey, slicesapi.MaxUnavailableAnnotationKey)
	}
	return strings.Join(keys, "- ") + "-"
}

// release takes the fences off both StatefulSets: the last thing that is done.
func (p fencePlanner) release() *Decision {
	for _, name := range []SideName{DestinationSide, SourceSide} {
		side := p.Side(name)
		if side.Set.Presence == Seen && api.FenceOwner(side.Set.Fence) == p.UID {
			return effect(Effect{
				Verb: ReleaseFence, Side: name, Name: side.Set.Name, UID: side.Set.UID, ResourceVersion: side.Set.ResourceVersion,
				Split: p.Source.Set.mayRun() && p.Destination.Set.mayRun(),
			})
		}
	}
	return nil
}

// mayRun says whether a StatefulSet may own ordinals: of one that cannot be read nobody knows.
func (s Set) mayRun() bool {
	return s.Presence == Seen && s.Replicas > 0 || s.Presence != Seen && s.Presence != Absent
}
