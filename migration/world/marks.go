package world

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/dependencies"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// marks returns the volumes of a side that reference a claim of an ordinal, in any form in which a migration may have
// left them: bound, parked, or being moved to another claim.
func (f *observed) marks(templates []string) []plan.Mark {
	var marks []plan.Mark
	for _, volume := range f.volumes {
		ref := volume.Spec.ClaimRef
		if ref == nil || ref.Namespace != f.endpoint.Namespace {
			continue
		}
		for _, template := range templates {
			ordinal, whole, found := ordinalIn(ref.Name, template, f.endpoint.Set)
			if !found {
				continue
			}
			mark := plan.Mark{
				Ordinal: ordinal, Template: template, Volume: volume.Name, Disk: volumes.Disk(volumes.Handle(volume)), By: markedBy(volume),
				LeftOut: volume.Annotations[api.LeftOutAnnotationKey] != "",
				Filled:  volume.Annotations[api.ReleasedAnnotationKey] != "" || !whole,
			}
			claim := f.claims[ref.Name]
			mark.AtRest = mark.By == "" && whole && claim != nil && ref.UID == claim.UID && claim.Spec.VolumeName == volume.Name
			marks = append(marks, mark)
		}
	}
	slices.SortFunc(marks, func(a, b plan.Mark) int {
		return cmp.Or(cmp.Compare(a.Ordinal, b.Ordinal), cmp.Compare(a.Template, b.Template), cmp.Compare(a.Volume, b.Volume))
	})
	return marks
}

// markedBy returns the UID of the migration that has marked a volume that it moves; empty if there is no mark.
func markedBy(volume *corev1.PersistentVolume) types.UID {
	by := volumes.ParseNote(volume.Annotations[api.OriginalReclaimPolicyAnnotationKey]).By
	return cmp.Or(by, api.FenceOwner(volume.Annotations[api.FenceAnnotationKey]))
}

// ordinalIn returns the ordinal in the name of a claim, or in a name derived from it. whole is true if the name is
// the claim's own or the one under which its volume is parked.
func ordinalIn(claim, template, set string) (ordinal int32, whole, found bool) {
	rest, is := strings.CutPrefix(claim, template+"-"+set+"-")
	if !is {
		return 0, false, false
	}
	end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	number, more := rest, ""
	if end >= 0 {
		number, more = rest[:end], rest[end:]
	}
	ordinal, found = dependencies.OrdinalOf(set, set+"-"+number)
	parked := volumes.Parked(volumes.Ref{}).Name
	return ordinal, more == "" || more == parked, found && (more == "" || more == parked || strings.HasPrefix(more, "-"))
}
