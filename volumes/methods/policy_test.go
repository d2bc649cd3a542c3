package methods

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/snapshot/manifest"
)

// waysToADisk lists the verbs by which each method creates an object at the taker that names a disk of the
// giver's choice. A method without such a verb uses new volumes that a class provisions.
var waysToADisk = map[api.VolumeMethod][]volumes.Verb{
	api.MethodRebind: {volumes.CreateVolume}, api.MethodSnapshot: {volumes.CreateContent}, api.MethodCopy: nil, api.MethodEmpty: nil,
}

// TestK14EveryWay: every method checks the one policy before it names a disk at the taker, or a snapshot of
// one. A driver that is not allowed is allowed for none of them.
func TestK14EveryWay(t *testing.T) {
	for _, name := range Names() {
		verbs, listed := waysToADisk[name]
		if !listed {
			t.Errorf("%s: say by which verbs it names a disk at the taker", name)
		}
		for _, verb := range verbs {
			for driver, made := range map[string]bool{"allowed.example.com": true, "another.example.com": false} {
				s := newSides(t)
				s.Policy = volumes.Policy{Drivers: []string{"allowed.example.com"}}
				volume := &corev1.PersistentVolume{
					ObjectMeta: metav1.ObjectMeta{Name: "pv", UID: "u", Annotations: map[string]string{api.OriginalReclaimPolicyAnnotationKey: "Delete " + owner}},
					Spec: corev1.PersistentVolumeSpec{
						PersistentVolumeSource:        corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: "h"}},
						PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain, ClaimRef: &corev1.ObjectReference{Namespace: "shop", Name: "data-web-0_parked"},
					},
				}
				claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "data-web-0"}}
				s.Giver = fake.NewClientBuilder().WithObjects(volume, claim).Build()
				s.pair.Giver.Volume = volumes.ViewVolume(volume, owner)
				action := volumes.Action{Verb: verb, Volume: "pv", UID: "u", Ref: volumes.Ref{Namespace: "team", Name: "content"}}
				action.Copy.Snapshot = volumes.SnapshotAction{Driver: driver, Handle: "snapshot-of-a-victim"}
				_, err := Write(t.Context(), s.Carrier, action, s.pair)
				var volumesThere corev1.PersistentVolumeList
				contents := &unstructured.UnstructuredList{}
				contents.SetGroupVersionKind(manifest.ContentKind.GroupVersion().WithKind(manifest.ContentKind.Kind + "List"))
				if err := s.Taker.List(t.Context(), &volumesThere); err != nil {
					t.Fatal(err)
				}
				if err := s.Taker.List(t.Context(), contents); client.IgnoreNotFound(err) != nil {
					t.Fatal(err)
				}
				if there := len(volumesThere.Items)+len(contents.Items) > 0; there != made || made != (err == nil) {
					t.Errorf("%s, %s of driver %s: made: %t, %v", name, verb, driver, there, err)
				}
			}
		}
	}
}
