package volumes

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// TestFindClass: without a name the newest default class is found, and of the same age the first by name.
func TestFindClass(t *testing.T) {
	class := func(name string, hour int, annotation string) storagev1.StorageClass {
		c := storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(time.Date(2026, 1, 1, hour, 0, 0, 0, time.UTC))}}
		if annotation != "" {
			c.Annotations = map[string]string{annotation: "true"}
		}
		return c
	}
	ga, beta := defaultClass[0], defaultClass[1]
	for name, tc := range map[string]struct {
		asked   *string
		classes []storagev1.StorageClass
		want    string
	}{
		"named":                  {new("b"), []storagev1.StorageClass{class("a", 1, ga), class("b", 1, "")}, "b"},
		"named, and missing":     {new("c"), []storagev1.StorageClass{class("a", 1, ga)}, ""},
		"no class by intent":     {new(""), []storagev1.StorageClass{class("a", 1, ga)}, ""},
		"default":                {nil, []storagev1.StorageClass{class("a", 1, ""), class("b", 1, ga)}, "b"},
		"default by the old key": {nil, []storagev1.StorageClass{class("a", 1, ""), class("b", 1, beta)}, "b"},
		"the newest":             {nil, []storagev1.StorageClass{class("a", 1, ga), class("b", 3, ga), class("c", 2, ga)}, "b"},
		"of one age":             {nil, []storagev1.StorageClass{class("b", 1, ga), class("a", 1, ga)}, "a"},
		"none":                   {nil, []storagev1.StorageClass{class("a", 1, "")}, ""},
	} {
		got := ""
		if found := FindClass(tc.asked, tc.classes); found != nil {
			got = found.Name
		}
		if got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestNameClass: only a claim that names no class gets one, and no class is one, too.
func TestNameClass(t *testing.T) {
	none, slow := "", "slow"
	for name, tc := range map[string]struct {
		has  *string
		name string
		want *string
	}{
		"without a class":    {nil, "fast", new("fast")},
		"of another class":   {&slow, "fast", &slow},
		"no class by intent": {&none, "fast", &none},
		"none is known":      {nil, "", nil},
	} {
		claim := &corev1.PersistentVolumeClaim{}
		claim.Spec.StorageClassName = tc.has
		if NameClass(claim, tc.name); !ptr.Equal(claim.Spec.StorageClassName, tc.want) {
			t.Errorf("%s: %v", name, claim.Spec.StorageClassName)
		}
	}
}

// TestClassNamed: the annotation that precedes spec.storageClassName has priority, for claims and for volumes.
func TestClassNamed(t *testing.T) {
	old := map[string]string{corev1.BetaStorageClassAnnotation: "old"}
	claim, volume := &corev1.PersistentVolumeClaim{}, &corev1.PersistentVolume{}
	claim.Spec.StorageClassName, volume.Spec.StorageClassName = new("new"), "new"
	if got := *ClassNamed(claim); got != "new" || ClassOf(volume) != "new" {
		t.Errorf("%q, %q", got, ClassOf(volume))
	}
	claim.Annotations, volume.Annotations = old, old
	if got := *ClassNamed(claim); got != "old" || ClassOf(volume) != "old" {
		t.Errorf("with the annotation: %q, %q", got, ClassOf(volume))
	}
	if got := ClassNamed(&corev1.PersistentVolumeClaim{}); got != nil {
		t.Errorf("of none: %q", *got)
	}
}
