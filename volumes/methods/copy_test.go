package methods

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	mcsv1alpha1 "sigs.k8s.io/mcs-api/pkg/apis/v1alpha1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// TestIncoming: the claim that a copy is written to has the size, the mode and the class of the source, if
// nothing else is requested.
func TestIncoming(t *testing.T) {
	for name, tc := range map[string]struct {
		size        string
		class, want string
	}{
		"M-051: as the source's":                    {"", "", "3Gi slow"},
		"M-051: a size and a class that were given": {"5Gi", "fast", "5Gi fast"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSides(t)
			from := &corev1.PersistentVolumeClaim{}
			if err := s.Giver.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "data-web-0"}, from); err != nil {
				t.Fatal(err)
			}
			from.Status.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("3Gi")}
			if err := s.Giver.Status().Update(t.Context(), from); err != nil {
				t.Fatal(err)
			}
			if tc.size != "" {
				s.Copy.Size, s.StorageClass = new(resource.MustParse(tc.size)), &tc.class
			}
			made, err := Write(t.Context(), s.Carrier, volumes.Action{Verb: volumes.CreateIncoming, Fence: owner + ".1", Ref: volumes.Ref{Namespace: "team", Name: "in"}}, s.pair)
			if err != nil {
				t.Fatal(err)
			}
			spec := made.(*corev1.PersistentVolumeClaim).Spec
			size := spec.Resources.Requests[corev1.ResourceStorage]
			if got := size.String() + " " + *spec.StorageClassName; got != tc.want || *spec.VolumeMode != corev1.PersistentVolumeBlock || spec.VolumeName != "" {
				t.Errorf("%s: %+v", got, spec)
			}
		})
	}
}

// TestModes: claims have the requested access modes, or those of the side's own claim, or those of the other
// side. The ordinal's claim gets the modes of the claim in which its volume was filled.
func TestModes(t *testing.T) {
	const once, many, pod = corev1.ReadWriteOnce, corev1.ReadWriteMany, corev1.ReadWriteOncePod
	made := func(name string, mode corev1.PersistentVolumeAccessMode) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name}, Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{mode},
		}}
	}
	create := volumes.Action{Verb: volumes.CreateIncoming, Fence: owner + ".1", Ref: volumes.Ref{Namespace: "team", Name: "in"}}
	own := volumes.Action{Verb: volumes.CreateClaim, Fence: owner + ".1", Ref: volumes.Ref{Namespace: "team", Name: "data-web-0"}, Copy: volumes.CopyAction{Attempt: 1}}
	for name, tc := range map[string]struct {
		action volumes.Action
		asked  []corev1.PersistentVolumeAccessMode
		there  *corev1.PersistentVolumeClaim
		want   corev1.PersistentVolumeAccessMode
	}{
		"as the other side's":                 {create, nil, nil, once},
		"as was asked for":                    {create, []corev1.PersistentVolumeAccessMode{many}, nil, many},
		"as the side has had it":              {create, nil, made("data-web-0", many), many},
		"asked for anew":                      {create, []corev1.PersistentVolumeAccessMode{pod}, made("data-web-0", many), pod},
		"as it was filled":                    {own, nil, made("in", many), many},
		"as it was filled, asked anew":        {own, []corev1.PersistentVolumeAccessMode{pod}, made("in", many), many},
		"that in which it was filled is gone": {own, []corev1.PersistentVolumeAccessMode{pod}, nil, pod},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSides(t)
			s.AccessModes = tc.asked
			s.pair.Copy = &volumes.Copying{Incoming: volumes.Holding{Ref: create.Ref}}
			if tc.there != nil {
				if err := s.Taker.Create(t.Context(), tc.there); err != nil {
					t.Fatal(err)
				}
			}
			made, err := Write(t.Context(), s.Carrier, tc.action, s.pair)
			if err != nil {
				t.Fatal(err)
			}
			if got := made.(*corev1.PersistentVolumeClaim).Spec.AccessModes; len(got) != 1 || got[0] != tc.want {
				t.Errorf("access modes %v, want %s", got, tc.want)
			}
		})
	}
}

// TestY15Attributes: the claim that is filled has the VolumeAttributesClass of the other side only with the other
// side's class, and that of the side's own claim with the class of that claim. The ordinal's claim gets that of the
// claim in which its volume was filled, and none if that is not known.
func TestY15Attributes(t *testing.T) {
	made := func(name, class string, attributes *string) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name}, Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &class, VolumeAttributesClassName: attributes,
		}}
	}
	fill := volumes.Action{Verb: volumes.CreateIncoming, Fence: owner + ".1", Ref: volumes.Ref{Namespace: "team", Name: "in"}}
	again, own := fill, volumes.Action{Verb: volumes.CreateClaim, Volume: "pv-in", Fence: owner + ".1", Ref: volumes.Ref{Namespace: "team", Name: "data-web-0"}, Copy: volumes.CopyAction{Attempt: 1, Class: "fast"}}
	again.Copy.Class = "fast"
	for name, tc := range map[string]struct {
		action volumes.Action
		mapped *string
		there  *corev1.PersistentVolumeClaim
		want   *string
	}{
		"as the other side's":            {fill, nil, nil, new("gold")},
		"of a named class":               {fill, new("fast"), nil, nil},
		"back to the side's own":         {again, nil, made("data-web-0", "fast", new("silver")), new("silver")},
		"back to a claim without":        {again, nil, made("data-web-0", "fast", nil), nil},
		"the side's own of another":      {fill, new("fast"), made("data-web-0", "old", new("silver")), nil},
		"as it was filled":               {own, nil, made("in", "fast", new("silver")), new("silver")},
		"as it was filled without":       {own, nil, made("in", "fast", nil), nil},
		"it is not known how it was":     {own, nil, nil, nil},
		"filled in a claim of other kin": {own, nil, made("in", "old", new("silver")), nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSides(t)
			s.StorageClass = tc.mapped
			s.pair.Copy = &volumes.Copying{Incoming: volumes.Holding{Ref: fill.Ref}}
			from := &corev1.PersistentVolumeClaim{}
			if err := s.Giver.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "data-web-0"}, from); err != nil {
				t.Fatal(err)
			}
			from.Spec.VolumeAttributesClassName = new("gold")
			if err := s.Giver.Update(t.Context(), from); err != nil {
				t.Fatal(err)
			}
			if tc.there != nil {
				if err := s.Taker.Create(t.Context(), tc.there); err != nil {
					t.Fatal(err)
				}
			}
			written, err := Write(t.Context(), s.Carrier, tc.action, s.pair)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, written.(*corev1.PersistentVolumeClaim).Spec.VolumeAttributesClassName); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// TestClaimOfTemplate: the ordinal's claim has the form of a claim template, and names the volume that is reserved for it.
// The claim that it replaces does not exist any more.
func TestClaimOfTemplate(t *testing.T) {
	s := newSides(t)
	from := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "data-web-0"}}
	if err := s.Giver.Delete(t.Context(), from); err != nil {
		t.Fatal(err)
	}
	template := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "data", Labels: map[string]string{"app": "web"}, Annotations: map[string]string{"team": "shop"}},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: new("fast"), VolumeAttributesClassName: new("gold"),
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("512Mi")}},
		},
	}
	action := volumes.Action{Verb: volumes.CreateClaim, AtGiver: true, Volume: "pv-new", Fence: owner + ".1", Ref: volumes.Ref{Namespace: "shop", Name: "data-web-0"}, Copy: volumes.CopyAction{Like: template}}
	made, err := Write(t.Context(), s.Carrier, action, s.pair)
	if err != nil {
		t.Fatal(err)
	}
	got, want := made.(*corev1.PersistentVolumeClaim), template.DeepCopy()
	want.Namespace, want.Name, want.Spec.VolumeName, want.ResourceVersion = "shop", "data-web-0", "pv-new", got.ResourceVersion
	want.Annotations = map[string]string{"team": "shop", api.OwnerAnnotationKey: owner, api.FenceAnnotationKey: owner + ".1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if template.Spec.VolumeName != "" {
		t.Errorf("the template was changed: %+v", template)
	}
}

// TestDeleteEntrance: a Service is deleted in the version that was judged, and a Service that has replaced it
// is not.
func TestDeleteEntrance(t *testing.T) {
	s := newSides(t)
	var deleted []string
	s.Taker = fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{Delete: func(_ context.Context, _ client.WithWatch, o client.Object, options ...client.DeleteOption) error {
		asked := (&client.DeleteOptions{}).ApplyOptions(options).Preconditions
		deleted = append(deleted, fmt.Sprintf("%T %s %s %s", o, client.ObjectKeyFromObject(o), *asked.UID, *asked.ResourceVersion))
		return nil
	}}).Build()
	action := volumes.Action{Verb: volumes.DeleteEntrance, Ref: volumes.Ref{Namespace: "west", Name: "in"}, UID: "judged", ResourceVersion: "7"}
	if _, err := Write(t.Context(), s.Carrier, action, s.pair); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"*v1.Service west/in judged 7"}, deleted); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestExportOfAnEntrance: a receiver's Service and its export have the same name and marks, and the claim owns
// both.
func TestExportOfAnEntrance(t *testing.T) {
	for version, want := range map[string]client.Object{"v1beta1": &mcsv1beta1.ServiceExport{}, "v1alpha1": &mcsv1alpha1.ServiceExport{}} {
		s := newSides(t)
		s.Copy.ServiceType = api.ServiceTypeExport
		scheme := runtime.NewScheme()
		if err := errors.Join(corev1.AddToScheme(scheme), mcsv1alpha1.Install(scheme), mcsv1beta1.Install(scheme)); err != nil {
			t.Fatal(err)
		}
		s.Taker = fake.NewClientBuilder().WithScheme(scheme).Build()
		action := volumes.Action{Fence: owner + ".1", Ref: volumes.Ref{Namespace: "team", Name: "in"}, UID: "claim", Copy: volumes.CopyAction{Attempt: 7, ExportVersion: version}}
		made := map[volumes.Verb]client.Object{}
		for _, verb := range []volumes.Verb{volumes.CreateEntrance, volumes.ExportEntrance} {
			action.Verb = verb
			object, err := Write(t.Context(), s.Carrier, action, s.pair)
			if err != nil {
				t.Fatalf("%s %s: %v", version, verb, err)
			}
			made[verb] = object
		}
		service, export := made[volumes.CreateEntrance], made[volumes.ExportEntrance]
		if service.(*corev1.Service).Spec.ClusterIP != corev1.ClusterIPNone || reflect.TypeOf(export) != reflect.TypeOf(want) {
			t.Errorf("%s: %+v and %T", version, service, export)
		}
		marks := func(o client.Object) []any {
			return []any{o.GetNamespace(), o.GetName(), o.GetLabels(), o.GetAnnotations(), o.GetOwnerReferences()}
		}
		if diff := cmp.Diff(marks(service), marks(export)); diff != "" || len(export.GetOwnerReferences()) != 1 || export.GetOwnerReferences()[0].UID != "claim" {
			t.Errorf("%s (-Service +ServiceExport):\n%s\n%+v", version, diff, export.GetOwnerReferences())
		}
	}
}
