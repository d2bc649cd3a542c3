package model

import (
	"fmt"
	"slices"
	"strings"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// edit is a change by another client of an object that the migration owns, its reversal, and the possible
// stalls.
type edit struct {
	name string
	// do changes the world and returns the reversal; nil if the change is not possible.
	do func(w *model) func(w *model)
	// reasons are the reasons of a stall while the edit stands, or because of its effects.
	reasons []string
	// excuses are the invariants that the edit itself breaks. scars are the reasons of a stall that remains
	// after the reversal, because not everything can be restored.
	excuses excuse
	scars   []string
	// late is true for an edit that is also possible while the source is cleaned up.
	late bool
	// back and was belong to an edit that stands: its reversal, and the former state.
	back func(w *model)
	was  string
}

// excuse is a set of invariants that another client has broken.
type excuse uint8

const (
	ofPlaces excuse = 1 << iota // I1, and claims that are created empty
	ofBudget                    // I4, I5
)

func (e excuse) covers(wrong string) bool {
	return e&ofPlaces != 0 && strings.HasPrefix(wrong, "I1") || e&ofBudget != 0 && (strings.HasPrefix(wrong, "I4") || strings.HasPrefix(wrong, "I5"))
}

var scaleReasons = []string{
	api.ReasonForeignScale, volumes.ReasonAnotherDisk, volumes.ReasonForeignClaim, volumes.ReasonClaimNotBound, volumes.ReasonClaimMissing,
	api.ReasonVolumeUnbound, api.ReasonReplicaUnavailable, api.ReasonPodNotReady, api.ReasonPodMissing, api.ReasonPodRunning, api.ReasonPodTerminating,
	api.ReasonControllerBehind, api.ReasonNothingToMove, api.ReasonSourceNotHealthy, api.ReasonRolloutInProgress,
}

var edits = []edit{
	{name: "the source is scaled up", do: scaled(plan.SourceSide, 0, 1), reasons: scaleReasons, excuses: ofPlaces | ofBudget},
	{name: "the source is scaled down", do: scaled(plan.SourceSide, 0, -1), reasons: scaleReasons, excuses: ofPlaces | ofBudget},
	{name: "the source's start is moved", do: scaled(plan.SourceSide, 1, 0), reasons: scaleReasons, excuses: ofPlaces | ofBudget},
	{name: "the destination is scaled up", do: scaled(plan.DestinationSide, 0, 1), reasons: scaleReasons, excuses: ofPlaces | ofBudget},
	{name: "the destination is scaled down", do: scaled(plan.DestinationSide, 0, -1), reasons: scaleReasons, excuses: ofPlaces | ofBudget},
	{name: "the destination's start is moved", do: scaled(plan.DestinationSide, -1, 0), reasons: scaleReasons, excuses: ofPlaces | ofBudget},
	{name: "the source's volume is pointed elsewhere", do: pointed(plan.SourceSide), reasons: pointedReasons},
	{name: "the destination's volume is pointed elsewhere", do: pointed(plan.DestinationSide), reasons: pointedReasons},
}

var pointedReasons = []string{volumes.ReasonAnotherDisk, volumes.ReasonForeignVolume, volumes.ReasonClaimNotBound, api.ReasonVolumeUnbound, api.ReasonReplicaUnavailable, api.ReasonPodNotReady, api.ReasonAwaitingDeletion}

// doEdit applies an edit of another client, one at a time.
func (w *model) doEdit(e *edit) bool {
	if w.edit != nil || w.State.Record.Baseline == nil {
		return false
	}
	back := e.do(w)
	if back == nil {
		return false
	}
	next := *e
	next.back = back
	next.was = fmt.Sprint(w.State.Record.Handoff == nil, w.State.Source.Set.Start, w.State.Source.Set.Replicas, w.State.Destination.Set.Start, w.State.Destination.Set.Replicas)
	w.edit = &next
	w.excused |= e.excuses
	w.scars = append(slices.Clip(w.scars), e.scars...)
	w.interleaved++
	w.note("%s by somebody else", e.name)
	return true
}

func (w *model) undo() bool {
	w.edit.back(w)
	w.note("%s: changed back", w.edit.name)
	w.edit = nil
	w.interleaved++
	return true
}

// scaled moves the start and the end of a slice.
func scaled(name plan.SideName, start, replicas int32) func(*model) func(*model) {
	return func(w *model) func(*model) {
		set := &w.State.Side(name).Set
		if set.Presence != plan.Seen || set.Replicas+replicas < 0 || set.Start+start < 0 || set.Replicas == 0 && start != 0 {
			return nil
		}
		was := *set
		w.rescale(name, set.Start+start, set.Replicas+replicas, "hpa")
		return func(w *model) {
			set := w.State.Side(name).Set
			if set.Start == was.Start && set.Replicas == was.Replicas {
				return // the migration has done it
			}
			w.rescale(name, set.Start-start, set.Replicas-replicas, "")
		}
	}
}

func (w *model) rescale(name plan.SideName, start, replicas int32, by string) {
	set := &w.State.Side(name).Set
	before := *set
	if set.Presence != plan.Seen {
		return
	}
	set.Start, set.Replicas, set.ScalesBy, set.Observed = max(start, 0), max(replicas, 0), by, false
	set.ResourceVersion = w.NewVersion()
	for ordinal := set.Start; ordinal < set.End(); ordinal++ {
		if !before.Has(ordinal) {
			w.alien[spot{name, ordinal}] = true
			delete(w.idle, ordinal)
			delete(w.held, ordinal) // the migration does not hold it down any more
		}
	}
}

// pointed makes the volume of an ordinal without a pod refer to another user's claim.
func pointed(name plan.SideName) func(*model) func(*model) {
	return func(w *model) func(*model) {
		handoff := w.State.Record.Handoff
		if handoff == nil {
			return nil
		}
		for i := range w.State.Volumes {
			h := w.State.Volumes[i].Holding(name)
			if w.State.Volumes[i].Ordinal != handoff.Ordinal || !h.Volume.Found || w.used(handoff.Ordinal) {
				continue
			}
			was := h.Volume.ClaimRef
			w.repoint(i, name, volumes.Ref{Namespace: "else", Name: "elsewhere"})
			return func(w *model) {
				if w.State.Volumes[i].Holding(name).Volume.ClaimRef.Name == "elsewhere" {
					w.repoint(i, name, was)
				}
			}
		}
		return nil
	}
}

func (w *model) used(ordinal int32) bool {
	for _, name := range plan.SideNames {
		if _, found := w.State.Side(name).Pod(ordinal); found {
			return true
		}
	}
	return false
}

func (w *model) repoint(i int, name plan.SideName, ref volumes.Ref) {
	v := &w.State.Volumes[i]
	volume := v.Holding(name).Volume
	volume.ClaimRef = ref
	w.PutVolume(v, name, volume)
}
