package plan

import (
	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// Besides finds the other volumes of an ordinal, and the side on which each one is.
type Besides struct {
	// All lists the volumes in the order of the claim templates.
	All []OrdinalVolume
	// Giver is the side that ordinals leave. Handoff records in which direction each copy of a volume was started.
	Giver   SideName
	Handoff *api.Handoff
	// Ahead reports whether a volume is filled while its ordinal runs.
	Ahead func(OrdinalVolume) bool
}

// Of returns where the other volumes of v's ordinal are.
func (b Besides) Of(v OrdinalVolume) volumes.Beside {
	var beside volumes.Beside
	behind := true
	for _, other := range b.All {
		if other.Ordinal != v.Ordinal {
			continue
		}
		if other.Template == v.Template {
			behind = false
			continue
		}
		switch at := b.placed(other); {
		case at.given:
			beside.Given = append(beside.Given, at.volume)
		case at.volume != "":
			beside.Taken = append(beside.Taken, at.volume)
		case at.returns || other.Copy == nil:
		case other.comesFirst(v, behind) && beside.Unplaced == "":
			beside.Unplaced = other.Copy.Incoming.Ref.Name
		case b.Ahead(other) && v.comesFirst(other, !behind):
			beside.Awaited = true
		}
	}
	return beside
}

// place is the volume that a claim has, or will have, at the taker; an empty name: not known yet. given means that
// the volume is still at the giver, returns that the claim gets its former volume back.
type place struct {
	volume         string
	given, returns bool
}

func (b Besides) placed(v OrdinalVolume) place {
	from, to := v.Holding(b.Giver), v.Holding(b.Giver.Other())
	attempt := RecordedVolume(b.Handoff, v.Ordinal, v.Template).Copy
	turned := attempt.Number > 0 && attempt.Giver != string(b.Giver) // the move has turned since: the copy is at the giver
	switch {
	case turned && v.Copy != nil && v.Copy.Incoming.Volume.ClaimRef.Names(from.Ref):
		return place{} // the giver's claim uses the copy now, so the taker's volume is older: the claim gets a new one
	case turned:
		return place{volume: to.Volume.Name, returns: true}
	case v.Copy != nil && v.Copy.Incoming.Volume.Found: // also while the claim is not bound to it yet
		return place{volume: v.Copy.Incoming.Volume.Name}
	case to.Bound():
		return place{volume: to.Volume.Name}
	case !v.Separate() && from.Volume.Found:
		return place{volume: from.Volume.Name, given: true}
	}
	return place{}
}

// comesFirst reports whether v gets its volume before another volume of the same ordinal; behind: other comes
// later in the order of templates. A driver chooses where to create a volume that waits for no pod, so the other
// volumes are created in the same place.
func (v OrdinalVolume) comesFirst(other OrdinalVolume, behind bool) bool {
	switch {
	case v.FillsAhead() != other.FillsAhead():
		return v.FillsAhead()
	case v.madeAtOnce() != other.madeAtOnce():
		return v.madeAtOnce()
	}
	return behind
}

// madeAtOnce reports whether the new claim exists and gets a volume without a pod. A claim that does not exist yet
// may never exist, so no other volume waits for it.
func (v OrdinalVolume) madeAtOnce() bool {
	return v.Copy != nil && v.Copy.Incoming.Claim.Found && !v.Copy.WaitsForPod
}
