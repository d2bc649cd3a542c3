package drift

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
)

// size compares the requests. The capacity of a volume does not count, because storage rounds it up.
func (c *comparison) size() {
	asked, asks := c.Template.Spec.Resources.Requests[corev1.ResourceStorage]
	has, requests := c.Claim.Spec.Resources.Requests[corev1.ResourceStorage]
	if !asks || !requests {
		return // an API server accepts neither
	}
	d := Difference{Field: Size, Claim: has.String(), Template: asked.String()}
	switch has.Cmp(asked) {
	case -1:
		d.Needs, d.Reason = c.grows()
		c.differs(d)
	case 0:
		c.growth(d)
	case 1:
		d.Needs, d.Reason = c.shrinks(asked)
		c.differs(d)
	}
}

// shrinks returns the work that makes the request of a claim smaller. An API server lets a request be lowered while its
// volume has not grown to it (kubernetes ValidatePersistentVolumeClaimUpdate).
func (c *comparison) shrinks(asked resource.Quantity) (Need, string) {
	if has := c.Claim.Status.Capacity[corev1.ResourceStorage]; ChangeOf(c.Claim).Grows && has.Cmp(asked) < 0 {
		return Expand, "the volume has not grown to the request, which can be lowered"
	}
	return Copy, "no volume shrinks in place; if the claim was grown on purpose, raise the template instead"
}

// grows returns the work that makes the claim larger. An API server refuses the growth of a claim whose class does not
// allow it, or does not exist (kubernetes plugin/pkg/admission/storage/persistentvolume/resize).
func (c *comparison) grows() (Need, string) {
	if c.classes.Storage == nil {
		return Undecided, "the StorageClasses cannot be read"
	}
	class := c.ownClass()
	switch {
	case class == nil:
		return Copy, "only a StorageClass allows expansion, and the claim names none that exists"
	case class.AllowVolumeExpansion == nil || !*class.AllowVolumeExpansion:
		return Copy, "StorageClass " + class.Name + " does not allow expansion"
	default:
		return Expand, "StorageClass " + class.Name + " allows expansion"
	}
}

// growth adds a difference if the claim asks for the size of the template, and its volume does not have it yet.
func (c *comparison) growth(d Difference) {
	change, has := ChangeOf(c.Claim), c.Claim.Status.Capacity[corev1.ResourceStorage]
	if !change.Grows {
		return
	}
	d.Claim, d.Needs, d.Reason = has.String(), Nothing, "the volume is growing"
	if change.GrowsNot {
		d.Needs, d.Reason = Copy, "the driver reports that it cannot grow the volume"
	}
	c.differs(d)
}

// accessModes compares the modes as sets.
func (c *comparison) accessModes() {
	asked, has := modes(c.Template), modes(c.Claim)
	if asked != has {
		c.differs(Difference{Field: AccessModes, Claim: has, Template: asked, Needs: Copy, Reason: "a claim keeps its access modes"})
	}
}

func modes(claim *corev1.PersistentVolumeClaim) string {
	var all []string
	for _, mode := range claim.Spec.AccessModes {
		all = append(all, string(mode))
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), ",")
}

// volumeMode compares the modes. A copy writes files to files, and blocks to blocks.
func (c *comparison) volumeMode() {
	asked, has := volumeMode(c.Template), volumeMode(c.Claim)
	if asked != has {
		c.differs(Difference{Field: VolumeMode, Claim: has, Template: asked, Needs: Refill, Reason: "no copy turns files into blocks, or blocks into files"})
	}
}

func volumeMode(claim *corev1.PersistentVolumeClaim) string {
	if claim.Spec.VolumeMode == nil {
		return string(corev1.PersistentVolumeFilesystem)
	}
	return string(*claim.Spec.VolumeMode)
}

// ignored notes the fields that only choose or fill a new volume.
func (c *comparison) ignored() {
	if !equality.Semantic.DeepEqual(c.Template.Spec.Selector, c.Claim.Spec.Selector) {
		c.ignore(Selector, "a selector only chooses a volume for a new claim")
	}
	if !equality.Semantic.DeepEqual(dataSource(c.Template), dataSource(c.Claim)) {
		c.ignore(DataSource, "a data source only fills the volume of a new claim")
	}
}

// dataSource returns the data source of a claim. An API server copies dataSource to dataSourceRef, and templates have only
// one of the two.
func dataSource(claim *corev1.PersistentVolumeClaim) *corev1.TypedObjectReference {
	if claim.Spec.DataSourceRef != nil || claim.Spec.DataSource == nil {
		return claim.Spec.DataSourceRef
	}
	from := claim.Spec.DataSource
	return &corev1.TypedObjectReference{APIGroup: from.APIGroup, Kind: from.Kind, Name: from.Name}
}
