package outlook

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/inplace"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// methods finds copies that the method of a template cannot make. Package planner finds the claims and methods that no
// change in place supports.
func methods(s State) []plan.Finding {
	var found []plan.Finding
	for i := range s.Claims {
		if finding := s.unfit(&s.Claims[i]); finding != nil {
			found = append(found, *finding)
		}
	}
	return found
}

// unfit returns the finding for a claim that would not become as its template; nil if it would.
func (s State) unfit(c *Claim) *plan.Finding {
	if c.Found == nil || c.Found.Spec.VolumeName == "" {
		return nil
	}
	add := func(why, remedy string) *plan.Finding {
		return &plan.Finding{Reason: api.ReasonStorageUnfit, Object: s.claimed(c), Message: s.claimed(c) + ": " + why, Remedy: remedy}
	}
	work := s.judge(c).Work
	switch result := s.compare(c); {
	case work == Impossible && len(result.Unknown) > 0:
		return add(result.Unknown[0].Reason, s.Kubectl.Migrate("storage", s.Set.Name, "-n", s.Set.Namespace, "-o", "wide"))
	case work == Snapshot && s.shrinks(c):
		return add("method Snapshot cannot restore into a smaller volume", "use method Copy: --volume "+c.Template.Name+"=method=copy,image=IMAGE")
	case work == Copy && s.shrinks(c) && ptr.Deref(c.Found.Spec.VolumeMode, corev1.PersistentVolumeFilesystem) == corev1.PersistentVolumeBlock:
		return add("it is a block device, which is copied whole, and its new volume would be smaller", "request at least the present size")
	}
	return nil
}

// shrinks reports whether the new volume of a claim would be smaller.
func (s State) shrinks(c *Claim) bool { return requestOf(c.Template).Value() < sizeOf(c) }

// room finds smaller volumes. Data that were measured and do not fit are refused.
func room(s State) []plan.Finding {
	var found []plan.Finding
	for i := range s.Claims {
		c := &s.Claims[i]
		if c.Found == nil || s.judge(c).Work != Copy || !s.shrinks(c) {
			continue
		}
		size := requestOf(c.Template)
		finding := plan.Finding{Reason: volumes.ReasonCopySizeTooSmall, Object: s.claimed(c), Remedy: "request a larger size, or delete data", Warning: true}
		switch {
		case c.Used == 0:
			finding.Message = fmt.Sprintf("%s gets a volume of %s instead of %s, and its bytes in use are not known yet: the warm pass measures them, and its ordinal is not stopped if they do not fit with %d%% to spare", s.claimed(c), size, capacityOf(c), s.MarginPercent)
		case inplace.Fits(c.Used, size.Value(), int64(s.MarginPercent)):
			continue
		default:
			finding.Warning = false
			finding.Message = fmt.Sprintf("%s has %d bytes in use, and its new volume of %s must keep %d%% free: they do not fit", s.claimed(c), c.Used, size, s.MarginPercent)
		}
		found = append(found, finding)
	}
	return found
}

func capacityOf(c *Claim) string {
	if c.Volume == nil {
		return requestOf(c.Found).String()
	}
	capacity := c.Volume.Spec.Capacity[corev1.ResourceStorage]
	return capacity.String()
}
