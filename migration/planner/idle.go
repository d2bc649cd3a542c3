package planner

import (
	"slices"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// longWaits lists the reasons of holds that end when a user acts, at a certain time, or when other migrations have
// ended. A wait for a controller ends soon, or stalls.
var longWaits = []string{api.ReasonPaused, api.ReasonOutsideWindow, api.ReasonTooManyHandoffs, volumes.ReasonCopyAwaitsWord}

// OnlyWaits reports whether the recorded handoff uses nothing that others could use: its ordinal still runs at the
// giver, no mover exists, and the wait may be long.
func OnlyWaits(s plan.Snapshot, decision plan.Decision) bool {
	handoff, hold := s.Record.Handoff, decision.Hold
	if handoff == nil || len(s.Record.Further) > 0 || hold == nil || s.Source.Reach != plan.Seen || s.Destination.Reach != plan.Seen {
		return false
	}
	p := viewOf(s)
	if p.giver.Set.Presence != plan.Seen || !p.giver.Set.Has(handoff.Ordinal) {
		return false
	}
	if moversOf(s, handoff.Ordinal) {
		return false
	}
	later := slices.ContainsFunc(s.Volumes, func(v plan.OrdinalVolume) bool {
		return v.Ordinal == handoff.Ordinal && v.Copy != nil && v.Copy.Asked.Cutover == api.CutoverAt && v.Copy.Asked.CutoverAt.After(s.Now)
	})
	return hold.Stalled || later || slices.Contains(longWaits, hold.Reason)
}

// moversOf reports whether a mover pod exists for a volume of an ordinal.
func moversOf(s plan.Snapshot, k int32) bool {
	return slices.ContainsFunc(s.Volumes, func(v plan.OrdinalVolume) bool {
		c := v.Copy
		return v.Ordinal == k && c != nil && (c.Receiver.Found || c.Warm.Found || c.Sender.Found || c.Placeholder.Found)
	})
}

// TakesPlace reports whether a write starts to use the shared capacity of handoffs: it stops the ordinal, or
// creates a mover.
func TakesPlace(s plan.Snapshot, effect plan.Effect) bool {
	return (effect.Stops() || effect.Fills()) && s.Early == nil && s.Record.Handoff != nil && viewOf(s).direction() == api.Forward
}
