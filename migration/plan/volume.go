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

// Holding returns one side's view of a claim.
func (v *OrdinalVolume) Holding(name SideName) *volumes.Holding {
	if name == SourceSide {
		return &v.Source
	}
	return &v.Destination
}
