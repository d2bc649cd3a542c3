package plan

import (
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// Besides finds where ordinals have their other volumes.
type Besides struct {
	// All are the volumes, in the order of the claim templates.
	All []OrdinalVolume
	// Giver is the side that gives ordinals away. Which way each volume was begun to be filled is recorded with Handoff.
	Giver   SideName
	Handoff *api.Handoff
	// Ahead says whether a volume is filled while its ordinal runs.
	Ahead func(OrdinalVolume) bool
}

// Of is where the ordinal of a volume has its other ones.
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

// place is the volume that a claim has or will have at the taker; empty: nobody knows where that will be. given: it is still at
// the giver; returns: the claim is given back what it had.
type place struct {
	volume         string
	given, returns bool
}

func (b Besides) placed(v OrdinalVolume) place {
	from, to := v.Holding(b.Giver), v.Holding(b.Giver.Other())
	attempt := RecordedVolume(b.Handoff, v.Ordinal, v.Template).Copy
	turned := attempt.Number > 0 && attempt.Giver != string(b.Giver) // the move has turned round since: what is filled is at the giver
	switch {
	case turned && v.Copy != nil && v.Copy.Incoming.Volume.ClaimRef.Names(from.Ref):
		return place{} // that was taken over, so that what is at the taker is older: it gets a new one
	case turned:
		return place{volume: to.Volume.Name, returns: true}
	case v.Copy != nil && v.Copy.Incoming.Volume.Found: // on its way to its claim, too
		return place{volume: v.Copy.Incoming.Volume.Name}
	case to.Bound():
		return place{volume: to.Volume.Name}
	case !v.Separate() && from.Volume.Found:
		return place{volume: from.Volume.Name, given: true}
	}
	return place{}
}

// comesFirst says whether it gets its volume before another one of the ordinal, which is behind it in the order of templates or not. Nobody
// can say where a driver makes a volume that waits for no pod, so that the others are made where that is.
func (v OrdinalVolume) comesFirst(other OrdinalVolume, behind bool) bool {
	switch {
	case v.fillsAhead() != other.fillsAhead():
		return v.fillsAhead()
	case v.madeAtOnce() != other.madeAtOnce():
		return v.madeAtOnce()
	}
	return behind
}

// madeAtOnce says whether its new claim is there and gets a volume without any pod. Nobody waits for one that is not there: it may never be.
func (v OrdinalVolume) madeAtOnce() bool {
	return v.Copy != nil && v.Copy.Incoming.Claim.Found && !v.Copy.WaitsForPod
}
