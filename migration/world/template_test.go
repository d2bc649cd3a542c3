package world

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// TestTemplateChangeIsOne: a change of the source's template is missing at the destination, unless the destination
// was created from this template and differs intentionally.
func TestTemplateChangeIsOne(t *testing.T) {
	hash := TemplateHash(&userNamespaced().Spec.Template)
	with := func(change func(*appsv1.StatefulSet)) *appsv1.StatefulSet {
		set := userNamespaced()
		change(set)
		return set
	}
	mirrored := func(s *appsv1.StatefulSet) { s.Spec.Template.Spec.Containers[0].Image = "mirror/web:1" }
	madeOf := func(hash string) func(*appsv1.StatefulSet) {
		return func(s *appsv1.StatefulSet) {
			mirrored(s)
			s.Annotations = map[string]string{api.TemplateAnnotationKey: hash}
		}
	}
	differs := plan.TemplateChange{Fields: "spec.template.spec.containers[0].image", Hash: hash}
	for name, tc := range map[string]struct {
		source, destination *appsv1.StatefulSet
		want                plan.TemplateChange
	}{
		"the same":           {userNamespaced(), userNamespaced(), plan.TemplateChange{}},
		"another image":      {userNamespaced(), with(mirrored), differs},
		"it was made of it":  {userNamespaced(), with(madeOf(hash)), plan.TemplateChange{}},
		"made of an older":   {userNamespaced(), with(madeOf("older")), differs},
		"no source":          {nil, userNamespaced(), plan.TemplateChange{}},
		"no destination":     {userNamespaced(), nil, plan.TemplateChange{}},
		"neither of the two": {nil, nil, plan.TemplateChange{}},
	} {
		if diff := cmp.Diff(tc.want, templateChange(tc.source, tc.destination)); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

// TestTemplateHash: a template has a unique hash of a fixed length, because an annotation stores it and a later
// version compares it.
func TestTemplateHash(t *testing.T) {
	one, other := userNamespaced(), userNamespaced()
	other.Spec.Template.Spec.Containers[0].Image = "web:2"
	if a, b := TemplateHash(&one.Spec.Template), TemplateHash(&other.Spec.Template); a == b || len(a) != 16 || a != TemplateHash(&userNamespaced().Spec.Template) {
		t.Errorf("%q and %q", a, b)
	}
}

// TestOtherClaims: claim templates differ if their names do, in any order.
func TestOtherClaims(t *testing.T) {
	of := func(names ...string) *appsv1.StatefulSet {
		set := &appsv1.StatefulSet{}
		for _, name := range names {
			set.Spec.VolumeClaimTemplates = append(set.Spec.VolumeClaimTemplates, corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}})
		}
		return set
	}
	for want, sets := range map[string][2]*appsv1.StatefulSet{
		"":                                {of("wal", "data"), of("data", "wal")},
		"storage; the source has data":    {of("data"), of("storage")},
		"data, wal; the source has data":  {of("data"), of("data", "wal")},
		"none; the source has data, more": {of("data", "more"), of()},
	} {
		if got := otherClaims(sets[0], sets[1]); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := otherClaims(of("data"), nil) + otherClaims(nil, of("data")); got != "" {
		t.Errorf("without one of both: %q", got)
	}
}

// TestTemplateChange: a difference that the destination's cluster or owner has made is no change; a later change of
// the source is.
func TestTemplateChange(t *testing.T) {
	set := func(image string, annotations map[string]string) *appsv1.StatefulSet {
		return &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Annotations: annotations}, Spec: appsv1.StatefulSetSpec{
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: image}}}},
		}}
	}
	copyOf := func(image string) map[string]string {
		return map[string]string{api.TemplateAnnotationKey: TemplateHash(&set(image, nil).Spec.Template)}
	}
	for name, tc := range map[string]struct {
		source, destination *appsv1.StatefulSet
		want                string
	}{
		"no destination yet":               {set("web:1", nil), nil, ""},
		"the same":                         {set("web:1", nil), set("web:1", nil), ""},
		"rewritten where it was made":      {set("web:1", nil), set("mirror/web:1", copyOf("web:1")), ""},
		"changed at the source":            {set("web:2", nil), set("web:1", copyOf("web:1")), "spec.template.spec.containers[0].image"},
		"changed on both sides":            {set("web:2", nil), set("web:2", copyOf("web:1")), ""},
		"changed, in another form":         {set("web:2", nil), set("mirror/web:2", copyOf("web:2")), ""},
		"not made here, and not the same":  {set("web:2", nil), set("web:1", nil), "spec.template.spec.containers[0].image"},
		"changed at the destination alone": {set("web:1", nil), set("web:2", copyOf("web:1")), ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := templateChange(tc.source, tc.destination); got.Fields != tc.want {
				t.Errorf("got %+v, want %q", got, tc.want)
			}
		})
	}
}

// userNamespaced returns a StatefulSet whose pods run in user namespaces.
func userNamespaced() *appsv1.StatefulSet {
	return &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Spec: appsv1.StatefulSetSpec{
		Replicas: new(int32(3)), Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			HostUsers: new(false), Containers: []corev1.Container{{Name: "web", Image: "web:1"}},
		}},
	}}
}
