package simulate

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/volumes"
)

// World is a small abstract model of the two clusters. Its two API servers hold the values of a Snapshot, and its
// Kubernetes controllers act on them one step at a time. The dry run iterates Plan over it, and the property tests
// interleave its steps with faults. It has no clock and no randomness of its own.
type World struct {
	// State is the state of the API servers.
	State plan.Snapshot
	// Controllers holds the range that each StatefulSet controller has observed: it may lag behind the spec.
	Controllers map[plan.SideName]Controller
	// only is the ordinal whose pods and claims the controllers process; nil: all. In a dry run no other ordinal
	// changes.
	only *int32
	// begun counts the handoffs that have begun in a dry run.
	begun int
	// restoring is true when the last write of a dry run restored a reclaim policy.
	restoring bool
	// tally is set in a dry run; nil in a world that others change, too.
	tally tally
	// serial numbers resource versions and UIDs.
	serial int
	// passes is true in a dry run: a warm pass takes time, so it ends only when nothing else is left to do.
	passes bool
	// Mute prevents the movers of a last pass from completing.
	Mute bool
	// Attaches creates a VolumeAttachment for each volume of a running pod.
	Attaches bool
}

// Controller is the state of a StatefulSet controller.
type Controller struct {
	Start, Replicas int32
	// Cap limits its rollouts, and CapObserved is the limit in its status. RollsOut is true during a rollout.
	Cap, CapObserved Cap
	RollsOut         bool
}

// Has reports whether the controller has observed an ordinal as its own.
func (c Controller) Has(ordinal int32) bool {
	return c.Start <= ordinal && ordinal < c.Start+c.Replicas
}

// Cap is how many pods a rollout may take down at once; Set is false when there is no limit.
type Cap struct {
	Set  bool
	Most int32
}

// ErrConflict is the API server's error when a precondition does not hold.
var ErrConflict = errors.New("the object has changed")

// NewWorld returns a world that starts from a snapshot of all ordinals.
func NewWorld(s plan.Snapshot) *World {
	w := &World{State: s.Clone(), Controllers: map[plan.SideName]Controller{}}
	for _, name := range plan.SideNames {
		set := w.State.Side(name).Set
		now := Cap{set.Rolls.Shared, set.Rolls.Share}
		w.Controllers[name] = Controller{Start: set.Start, Replicas: set.Replicas, Cap: now, CapObserved: now}
		w.observeCap(name)
		for i := range w.State.Side(name).Budgets {
			w.State.Side(name).Budgets[i].Evictions = 0 // no eviction is requested here
		}
	}
	w.allHooks()
	return w
}

// Snapshot returns what an observer sees now.
func (w *World) Snapshot() plan.Snapshot { return w.State.Clone() }

// Read returns the result of reads with caches that are up to date.
func (w *World) Read(reads planner.Reads) plan.Snapshot {
	s := w.State.Clone()
	s.VolumesRead = reads.Volumes
	if reads.Ordinal == nil {
		return s
	}
	s.Focused = true
	s.Volumes = slices.DeleteFunc(s.Volumes, func(v plan.OrdinalVolume) bool {
		return v.Ordinal != *reads.Ordinal && (reads.Next == nil || v.Ordinal != *reads.Next)
	})
	return s
}

// NewVersion returns an unused resourceVersion.
func (w *World) NewVersion() string {
	w.serial++
	return "v" + strconv.Itoa(w.serial)
}

// NewUID returns an unused UID.
func (w *World) NewUID() types.UID {
	w.serial++
	return types.UID("u" + strconv.Itoa(w.serial))
}

// PutVolume stores a volume. In one cluster both sides share it.
func (w *World) PutVolume(v *plan.OrdinalVolume, name plan.SideName, volume volumes.Volume) {
	if volume.Found {
		volume.ResourceVersion = w.NewVersion()
	}
	v.Holding(name).Volume = volume
	if w.State.Spec.SameCluster && !v.Separate() {
		v.Source.Volume, v.Destination.Volume = volume, volume
	}
}

// Attach stores the attachments of a volume, which are separate objects.
func (w *World) Attach(v *plan.OrdinalVolume, name plan.SideName, attachments []volumes.Attachment) {
	v.Holding(name).Volume.Attachments = attachments
	if w.State.Spec.SameCluster && !v.Separate() {
		v.Source.Volume.Attachments, v.Destination.Volume.Attachments = attachments, attachments
	}
}

// PutBudget stores a side's PodDisruptionBudget; nil: there is none. In one namespace both sides share it.
func (w *World) PutBudget(name plan.SideName, budget *plan.Budget) {
	for _, at := range plan.SideNames {
		if at != name && !w.State.Spec.SameNamespace {
			continue
		}
		w.State.Side(at).Budgets = nil
		if budget != nil {
			budget.ResourceVersion = w.NewVersion()
			w.State.Side(at).Budgets = []plan.Budget{*budget}
		}
	}
}

func (w *World) String() string {
	s := w.State
	return fmt.Sprintf("source %s destination %s handoff %+v", plan.Span(s.Source.Set.Start, s.Source.Set.Replicas), plan.Span(s.Destination.Set.Start, s.Destination.Set.Replicas), s.Record.Handoff)
}
