package plan

import (
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/methods"
)

// OrdinalVolume is one claim template's claim of one ordinal on both sides.
type OrdinalVolume struct {
	Ordinal  int32
	Template string
	// Method is how its data reaches the other side; empty: the API's default.
	Method api.VolumeMethod
	// Word is what a person has said of the template.
	Word                volumes.Word
	Source, Destination volumes.Holding
	// Copy is for methods Copy and Snapshot; nil: nothing was looked at.
	Copy *volumes.Copying
}

// Way is how its data reaches the other side.
func (v OrdinalVolume) Way() volumes.Method { return methods.Of(v.Method) }

// Separate says whether each side has a volume of its own.
func (v OrdinalVolume) Separate() bool { return v.Way().Separate() }

// Shared says whether both sides have one volume: in one cluster, where the method carries it over.
func (v OrdinalVolume) Shared(spec Spec) bool { return spec.SameCluster && !v.Separate() }

// fillsAhead says whether its volume at the taker is made while the ordinal still runs.
func (v OrdinalVolume) fillsAhead() bool {
	_, ahead := v.Way().(volumes.Ahead)
	return ahead
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

// BesideOf is where the ordinal of a volume has its other ones. all are in the order of the claim templates. Which way
// each was begun is recorded with the handoff.
func BesideOf(all []OrdinalVolume, v OrdinalVolume, giver SideName, handoff *api.Handoff) volumes.Beside {
	var beside volumes.Beside
	behind := true
	for _, other := range all {
		if other.Ordinal != v.Ordinal {
			continue
		}
		if other.Template == v.Template {
			behind = false
			continue
		}
		from, to := other.Holding(giver), other.Holding(giver.Other())
		if attempt := RecordedVolume(handoff, other.Ordinal, other.Template).Copy; attempt.Number > 0 && attempt.Giver != string(giver) {
			beside.Taken = append(beside.Taken, other.returnsTo(giver)...)
			continue
		}
		switch {
		case other.Copy != nil && other.Copy.Incoming.Bound():
			beside.Taken = append(beside.Taken, other.Copy.Incoming.Volume.Name)
		case to.Bound():
			beside.Taken = append(beside.Taken, to.Volume.Name)
		case !other.Separate() && from.Volume.Found:
			beside.Given = append(beside.Given, from.Volume.Name)
		case other.Copy != nil && beside.Unplaced == "" && other.comesFirst(v, behind):
			beside.Unplaced = other.Copy.Incoming.Ref.Name
		}
	}
	return beside
}

// returnsTo names the volume at the taker that its claim is given back, where the move has turned round since another one was begun
// to be filled: that one is at the giver, and nobody waits for it. None: it was taken over, and what is at the taker is older.
func (v *OrdinalVolume) returnsTo(giver SideName) []string {
	had := v.Holding(giver.Other()).Volume
	if !had.Found || v.Copy != nil && v.Copy.Incoming.Volume.ClaimRef.Names(v.Holding(giver).Ref) {
		return nil
	}
	return []string{had.Name}
}

// Holding returns one side's view of a claim.
func (v *OrdinalVolume) Holding(name SideName) *volumes.Holding {
	if name == SourceSide {
		return &v.Source
	}
	return &v.Destination
}
