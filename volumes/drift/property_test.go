package drift

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"
)

var (
	classNames = []*string{nil, new(""), new("fast"), new("slow"), new("missing")}
	allModes   = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce, corev1.ReadOnlyMany, corev1.ReadWriteMany, corev1.ReadWriteOncePod}
)

// draw returns a claim or a template with drawn values.
func draw(t *rapid.T, name string) *corev1.PersistentVolumeClaim {
	spec := corev1.PersistentVolumeClaimSpec{
		StorageClassName:          rapid.SampledFrom(classNames).Draw(t, name+" class"),
		VolumeAttributesClassName: rapid.SampledFrom([]*string{nil, new(""), new("gold"), new("tape"), new("missing")}).Draw(t, name+" attributes"),
		AccessModes:               rapid.SliceOfNDistinct(rapid.SampledFrom(allModes), 1, 3, rapid.ID[corev1.PersistentVolumeAccessMode]).Draw(t, name+" modes"),
		VolumeMode:                rapid.SampledFrom([]*corev1.PersistentVolumeMode{nil, new(corev1.PersistentVolumeBlock), new(corev1.PersistentVolumeFilesystem)}).Draw(t, name+" volume mode"),
	}
	spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: drawSize(t, name)}
	return &corev1.PersistentVolumeClaim{Spec: spec}
}

// drawSize returns one of few sizes, in one of several units.
func drawSize(t *rapid.T, name string) resource.Quantity {
	gib := rapid.Int64Range(1, 4).Draw(t, name+" size")
	unit := rapid.SampledFrom([]string{"%dGi", "%dMi", "%d"}).Draw(t, name+" unit")
	factor := map[string]int64{"%dGi": 1, "%dMi": 1 << 10, "%d": 1 << 30}[unit]
	return resource.MustParse(fmt.Sprintf(unit, gib*factor))
}

func drawClasses(t *rapid.T) Classes {
	classes := known
	if rapid.Bool().Draw(t, "no StorageClasses are read") {
		classes.Storage = nil
	}
	if rapid.Bool().Draw(t, "no VolumeAttributesClasses are read") {
		classes.Attributes = nil
	}
	return classes
}

// bind gives a claim a volume of its size, as a controller does.
func bind(claim *corev1.PersistentVolumeClaim) {
	claim.Spec.VolumeName, claim.Status.Phase = "pv-0", corev1.ClaimBound
	claim.Status.Capacity = corev1.ResourceList{corev1.ResourceStorage: claim.Spec.Resources.Requests[corev1.ResourceStorage]}
	if name := claim.Spec.VolumeAttributesClassName; name != nil && *name != "" {
		claim.Status.CurrentVolumeAttributesClassName = name
	}
}

// created returns the claim that a StatefulSet controller and the API server create from a template, bound.
func created(t *rapid.T, template *corev1.PersistentVolumeClaim) *corev1.PersistentVolumeClaim {
	claim := template.DeepCopy()
	if claim.Spec.StorageClassName == nil {
		claim.Spec.StorageClassName = new("slow")
	}
	if claim.Spec.VolumeMode == nil {
		claim.Spec.VolumeMode = new(corev1.PersistentVolumeFilesystem)
	}
	claim.Spec.AccessModes = rapid.Permutation(claim.Spec.AccessModes).Draw(t, "order")
	bind(claim)
	has := claim.Status.Capacity[corev1.ResourceStorage]
	has.Add(*resource.NewQuantity(rapid.Int64Range(0, 1<<30).Draw(t, "rounded up by"), resource.BinarySI))
	claim.Status.Capacity[corev1.ResourceStorage] = has
	return claim
}

// TestNewClaimsNeverDiffer: a claim that controllers create from a template does not differ from it, whatever storage rounds
// its size to.
func TestNewClaimsNeverDiffer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		template := draw(t, "template")
		claim := created(t, template)
		classes := drawClasses(t)
		got := Compare(Pair{Template: template, Claim: claim}, classes)
		if len(got.Differences) > 0 || len(got.Ignored) > 0 {
			t.Fatalf("%+v", got)
		}
		if unknown := template.Spec.StorageClassName == nil && classes.Storage == nil; unknown != (len(got.Unknown) > 0) {
			t.Fatalf("unknown: %+v", got.Unknown)
		}
	})
}

// follow changes a claim until it is as its template requires.
func follow(p Pair) {
	p.Claim.Spec = *p.Template.Spec.DeepCopy()
	if p.Claim.Spec.StorageClassName == nil {
		p.Claim.Spec.StorageClassName = new("slow")
	}
	bind(p.Claim)
}

// TestCompare: a comparison has no effect on its input and is the same each time. Each difference is one, has a reason and
// a need that its classes support. A field is not in two lists. A claim that follows its template does not differ.
func TestCompare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Pair{Template: draw(t, "template"), Claim: draw(t, "claim")}
		if rapid.Bool().Draw(t, "bound") {
			bind(p.Claim)
		}
		if class := rapid.SampledFrom([]string{"", "fast", "slow", "unread"}).Draw(t, "class of the volume"); class != "unread" && p.Claim.Spec.VolumeName != "" {
			p.Volume = volume(class, "disks")
		}
		before := Pair{Template: p.Template.DeepCopy(), Claim: p.Claim.DeepCopy(), Volume: p.Volume.DeepCopy()}
		classes := drawClasses(t)
		got := Compare(p, classes)
		if diff := cmp.Diff(before, p) + cmp.Diff(got, Compare(p, classes)); diff != "" {
			t.Fatalf("it changed:\n%s", diff)
		}
		var fields []Field
		for _, d := range got.Differences {
			fields = append(fields, d.Field)
			supported(t, p, classes, d)
		}
		for _, note := range slices.Concat(got.Unknown, got.Ignored) {
			fields = append(fields, note.Field)
			if note.Reason == "" {
				t.Fatalf("%+v has no reason", note)
			}
		}
		slices.Sort(fields)
		if len(slices.Compact(slices.Clone(fields))) != len(fields) {
			t.Fatalf("a field has two results: %+v", got)
		}
		follow(p)
		p.Volume = nil
		if left := Compare(p, known); len(left.Differences) > 0 {
			t.Fatalf("a claim that follows its template differs: %+v", left)
		}
	})
}

// supported checks a difference.
func supported(t *rapid.T, p Pair, classes Classes, d Difference) {
	bound := p.Claim.Spec.VolumeName != ""
	switch {
	case d.Claim == d.Template:
		t.Fatalf("%+v is none", d)
	case d.Reason == "" || !slices.Contains(effort, d.Needs):
		t.Fatalf("%+v lacks a reason or a need", d)
	case (d.Needs == Recreate) == bound:
		t.Fatalf("%+v: bound %t", d, bound)
	case d.Needs == Expand && (d.Field != Size || !allowsExpansion(classes.Storage, p.Claim) && !ChangeOf(p.Claim).Grows):
		t.Fatalf("%+v cannot grow", d)
	case d.Needs == Modify && (d.Field != AttributesClass || classes.Attributes == nil):
		t.Fatalf("%+v cannot be modified", d)
	case d.Field == StorageClass && bound && d.Needs != Copy:
		t.Fatalf("%+v: a volume never changes its class", d)
	}
}

func allowsExpansion(classes []storagev1.StorageClass, claim *corev1.PersistentVolumeClaim) bool {
	return claim.Spec.StorageClassName != nil && slices.ContainsFunc(classes, func(c storagev1.StorageClass) bool {
		return c.Name == *claim.Spec.StorageClassName && c.AllowVolumeExpansion != nil && *c.AllowVolumeExpansion
	})
}
