package migration

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sliceshift/sliceshift/volumes"
)

// world is a small abstract model of both clusters: the two API servers hold the
// values of a Snapshot, and the Kubernetes controllers act on them one step at a
// time. The dry run iterates Plan over it, and the property tests interleave its
// steps with faults. It has no clock and no randomness of its own.
type world struct {
	state Snapshot
	// acted is the range that each StatefulSet controller acts on: it may lag
	// behind the spec.
	acted map[SideName]acted
	// only is the ordinal whose pods and claims the controllers look at; nil: all. In
	// a dry run no other one changes.
	only *int32
	// serial numbers resource versions and UIDs.
	serial int
	// attaches makes a VolumeAttachment for each volume of a running pod.
	attaches bool
}

type acted struct {
	start, replicas int32
	// keeps is the share that its roll-outs keep to, told what its status says of that;
	// rolls is true in a roll-out.
	keeps, told share
	rolls       bool
}

// share is a share of the disruption budget; of is false when there is none.
type share struct {
	of   bool
	most int32
}

// errConflict is what the API server answers when a precondition does not hold.
var errConflict = errors.New("the object has changed")

// newWorld starts from a snapshot that covers all ordinals.
func newWorld(s Snapshot) *world {
	w := &world{state: s.clone(), acted: map[SideName]acted{}}
	for _, name := range sideNames {
		set := w.side(name).Set
		now := share{set.Rolls.Shared, set.Rolls.Share}
		w.acted[name] = acted{start: set.Start, replicas: set.Replicas, keeps: now, told: now}
		w.heed(name)
		for i := range w.side(name).Budgets {
			w.side(name).Budgets[i].Evictions = 0 // here nobody asks for one
		}
	}
	return w
}

// clone returns a snapshot that shares no list with the first one.
func (s Snapshot) clone() Snapshot {
	for _, side := range []*Side{&s.Source, &s.Destination} {
		side.Pods = slices.Clone(side.Pods)
		side.Budgets = slices.Clone(side.Budgets)
		side.Names = slices.Clone(side.Names)
	}
	s.Volumes = slices.Clone(s.Volumes)
	return s
}

// snapshot is what an observer sees now.
func (w *world) snapshot() Snapshot { return w.state.clone() }

func (w *world) side(name SideName) *Side {
	if name == SourceSide {
		return &w.state.Source
	}
	return &w.state.Destination
}

func (w *world) version() string {
	w.serial++
	return "v" + strconv.Itoa(w.serial)
}

func (w *world) uid() types.UID {
	w.serial++
	return types.UID("u" + strconv.Itoa(w.serial))
}

// holding returns one side's view of a claim.
func (v *OrdinalVolume) holding(name SideName) *volumes.Holding {
	if name == SourceSide {
		return &v.Source
	}
	return &v.Destination
}

// putVolume stores a volume. In one cluster both sides see the same one.
func (w *world) putVolume(v *OrdinalVolume, name SideName, volume volumes.Volume) {
	if volume.Found {
		volume.ResourceVersion = w.version()
	}
	v.holding(name).Volume = volume
	if w.state.Spec.SameCluster {
		v.Source.Volume, v.Destination.Volume = volume, volume
	}
}

// attach stores the attachments of a volume, which are objects of their own.
func (w *world) attach(v *OrdinalVolume, name SideName, attachments []volumes.Attachment) {
	v.holding(name).Volume.Attachments = attachments
	if w.state.Spec.SameCluster {
		v.Source.Volume.Attachments, v.Destination.Volume.Attachments = attachments, attachments
	}
}

// putBudget stores a side's PodDisruptionBudget; nil: there is none. In one
// namespace both sides see the same one.
func (w *world) putBudget(name SideName, budget *Budget) {
	for _, at := range sideNames {
		if at != name && !w.state.Spec.SameNamespace {
			continue
		}
		w.side(at).Budgets = nil
		if budget != nil {
			budget.ResourceVersion = w.version()
			w.side(at).Budgets = []Budget{*budget}
		}
	}
}

// setPod stores or replaces a pod, keeping the order.
func (s *Side) setPod(pod Pod) {
	at, found := s.at(pod.Ordinal)
	if found {
		s.Pods[at] = pod
		return
	}
	s.Pods = slices.Insert(s.Pods, at, pod)
}

func (s *Side) removePod(ordinal int32) {
	if at, found := s.at(ordinal); found {
		s.Pods = slices.Delete(s.Pods, at, at+1)
	}
}

func (w *world) String() string {
	s := w.state
	return fmt.Sprintf("source %s destination %s handoff %+v", span(s.Source.Set.Start, s.Source.Set.Replicas), span(s.Destination.Set.Start, s.Destination.Set.Replicas), s.Record.Handoff)
}
