package world

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/inplace"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/drift"
)

// compare sets the work that gives a claim its wanted template and its former one, and what its driver has left to do. Only
// the templates that are asked for count.
func (r *replaced) compare(v *plan.OrdinalVolume, held volumes.Holding) {
	v.Needs, v.Returns = drift.Nothing, drift.Nothing
	claim := r.source.claims[held.Ref.Name]
	if claim == nil || !asksFor(r.m, v.Template) {
		return
	}
	wanted := r.against(r.wanted[v.Template], claim)
	v.Needs, v.Why, v.Returns = needOf(wanted), wanted.Why(), r.returns(r.former[v.Template], claim)
	v.Asks = inplace.Request{Size: claim.Spec.Resources.Requests.Storage().Value(), Attributes: ptr.Deref(claim.Spec.VolumeAttributesClassName, "")}
	v.Change = r.source.changeOf(claim)
}

// asksFor reports whether spec.volumes names a claim template, or has asked for a change of it at acceptance, which records all
// templates.
func asksFor(m *api.Migration, template string) bool {
	if slices.ContainsFunc(m.Spec.Volumes, func(asked api.VolumeSpec) bool { return asked.ClaimTemplate == template }) {
		return true
	}
	return m.Status.Baseline != nil && !equality.Semantic.DeepEqual(api.AskedOf(m.Status.Baseline.Volumes, template), api.AskedOf(nil, template))
}

// needOf returns the work of a comparison. A field that cannot be compared is not equal.
func needOf(result drift.Result) drift.Need {
	if need := result.Needs(); need != drift.Nothing || len(result.Unknown) == 0 {
		return need
	}
	return drift.Undecided
}

// against compares a claim with a template; without one the work is undecided.
func (r *replaced) against(to, claim *corev1.PersistentVolumeClaim) drift.Result {
	if to == nil {
		return drift.Result{Differences: []drift.Difference{{Needs: drift.Undecided, Reason: "the claim template does not exist"}}}
	}
	return drift.Compare(drift.Pair{Template: to, Claim: claim, Volume: r.source.volumes[claim.Spec.VolumeName]}, r.classes)
}

// returns is the work by which a claim returns to its former template. A volume that this migration has filled returns in
// all fields, and any other one only in its class of attributes: no volume shrinks.
func (r *replaced) returns(to, claim *corev1.PersistentVolumeClaim) drift.Need {
	back := r.against(to, claim)
	if r.filled(claim) {
		return needOf(back)
	}
	for _, d := range back.Differences {
		if d.Needs == drift.Modify {
			return drift.Modify
		}
	}
	return drift.Nothing
}

// filled reports whether this migration has filled the volume of a claim. Its seal stays on the volume after its end.
func (r *replaced) filled(claim *corev1.PersistentVolumeClaim) bool {
	volume := r.source.volumes[claim.Spec.VolumeName]
	return volume != nil && volumes.SealedBy(volume.Annotations[api.SealAnnotationKey], r.m.UID)
}

// changeOf returns what the driver of a claim has left to do, with times by our clock.
func (f *observed) changeOf(claim *corev1.PersistentVolumeClaim) drift.Change {
	change := drift.ChangeOf(claim)
	for _, at := range []*time.Time{&change.Since, &change.FileSystem} {
		*at = f.endpoint.Ours(*at)
	}
	return change
}
