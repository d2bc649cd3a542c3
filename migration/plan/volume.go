package plan

import (
	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/inplace"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/drift"
	"github.com/sliceshift/sliceshift/volumes/methods"
)

// OrdinalVolume is the claim of one template for one ordinal, on both sides.
type OrdinalVolume struct {
	Ordinal  int32
	Template string
	// Method is the way in which its data reaches the other side; empty: the API's default.
	Method api.VolumeMethod
	// Word is the user's statement about the template.
	Word                volumes.Word
	Source, Destination volumes.Holding
	// Copy is set for methods Copy and Snapshot; nil: nothing was read.
	Copy *volumes.Copying
	// Needs and Returns are the work that gives the claim its wanted template, and its former one, in a migration in place.
	// Why is the reason of Needs, Asks the request of the claim to its volume, and Change the part that is not done yet.
	Needs, Returns drift.Need
	Why            string
	Asks           inplace.Request
	Change         drift.Change
}

// Way returns the method by which its data reaches the other side.
func (v OrdinalVolume) Way() volumes.Method { return methods.Of(v.Method) }

// Separate reports whether each side has its own volume.
func (v OrdinalVolume) Separate() bool { return v.Way().Facts().Separate }

// Shared reports whether both sides use one volume: in one cluster, if the method rebinds it.
func (v OrdinalVolume) Shared(spec Spec) bool { return spec.SameCluster && !v.Separate() }

// FillsAhead reports whether its method fills volumes at the taker while the ordinal still runs.
func (v OrdinalVolume) FillsAhead() bool { return v.Way().Facts().Fills != nil }

// Holding returns one side's view of a claim.
func (v *OrdinalVolume) Holding(name SideName) *volumes.Holding {
	if name == SourceSide {
		return &v.Source
	}
	return &v.Destination
}
