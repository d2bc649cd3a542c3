package e2e

import (
	"context"
	"testing"

	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/sliceshift/sliceshift/migration"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// TestStorageClass maps the claim template to another class at the destination. On
// the way back the source's claims have the class that they had.
func TestStorageClass(t *testing.T) {
	t.Parallel()
	v := newMove(t, usual(2), acrossClusters)
	before := v.classes(v.here())
	class := "fast-" + v.app.Namespace
	_, err := v.destination.StorageV1().StorageClasses().Create(v.ctx, &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: class}, Provisioner: "example.com/none",
	}, metav1.CreateOptions{})
	v.must(err)
	v.m.Spec.Volumes = []api.VolumeSpec{{ClaimTemplate: "data", StorageClassName: new(class)}}
	mover := v.mover()
	arrived := 0
	v.drive(mover, func(_ *api.Migration, outcome migration.Outcome) error {
		if outcome.Finished == nil {
			return nil
		}
		if arrived++; arrived == 1 {
			v.expectClass(v.there(), "data-web-1", class)
			return mover.Store.SetMode(v.ctx, api.ModeRollback)
		}
		return nil
	})
	v.expectBack()
	for claim, was := range before {
		v.expectClass(v.here(), claim, was)
	}
	v.must(mover.Store.SetMode(v.ctx, api.ModeRun))
	v.drive(mover)
	v.expectMoved()
	for claim := range before {
		v.expectClass(v.there(), claim, class)
	}
	v.audit()
}

// classes are the storage classes of a slice's claims.
func (v *move) classes(at end) map[string]string {
	v.t.Helper()
	claims, err := at.client.CoreV1().PersistentVolumeClaims(at.namespace).List(v.ctx, metav1.ListOptions{})
	v.must(err)
	classes := map[string]string{}
	for _, claim := range claims.Items {
		classes[claim.Name] = *claim.Spec.StorageClassName
	}
	return classes
}

// expectClass checks the class of a claim and of its volume.
func (v *move) expectClass(at end, claim, want string) {
	v.t.Helper()
	if have := v.classes(at)[claim]; have != want {
		v.t.Errorf("claim %s has class %q, want %q", claim, have, want)
	}
	if have := volumeClass(v.ctx, at.client, at.namespace, claim); have != want {
		v.t.Errorf("the volume of claim %s has class %q, want %q", claim, have, want)
	}
}

// volumeClass is the class of the volume that a claim is bound to.
func volumeClass(ctx context.Context, client kubernetes.Interface, namespace, claim string) string {
	pvc, err := client.CoreV1().PersistentVolumeClaims(namespace).Get(ctx, claim, metav1.GetOptions{})
	if err != nil {
		return err.Error()
	}
	pv, err := client.CoreV1().PersistentVolumes().Get(ctx, pvc.Spec.VolumeName, metav1.GetOptions{})
	if err != nil {
		return err.Error()
	}
	return pv.Spec.StorageClassName
}
