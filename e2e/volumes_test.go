package e2e

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
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
	v.m.Spec.Volumes = []api.VolumeSpec{{ClaimTemplate: "data", StorageClassName: new(class), Shared: true}}
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

// onCSI gives each ordinal a volume of a CSI driver of this test's own.
func onCSI(v *move) {
	acrossClusters(v)
	v.csiVolumes()
}

func (v *move) csiVolumes() {
	v.t.Helper()
	client := kubernetes.NewForConfigOrDie(v.from.RESTConfig())
	for ordinal := range v.app.Replicas {
		claim := fmt.Sprintf("data-%s-%d", v.app.Name, ordinal)
		volume := v.csiVolume("disk-"+v.app.Namespace+"-"+strconv.Itoa(int(ordinal)), claim)
		if v.csi != nil {
			v.csi(volume.Spec.CSI)
		}
		_, err := client.CoreV1().PersistentVolumes().Create(v.ctx, volume, metav1.CreateOptions{})
		v.must(err)
	}
}

func (v *move) driver() string { return v.app.Namespace + ".example.com" }

func (v *move) csiVolume(name, claim string) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			AccessModes:                   []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
			StorageClassName:              "standard",
			ClaimRef:                      &corev1.ObjectReference{Namespace: v.app.Namespace, Name: claim},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{
				Driver: v.driver(), VolumeHandle: claim, VolumeAttributes: map[string]string{"noformat": "true"},
			}},
		},
	}
}

// csiDriver registers the driver at the destination.
func (v *move) csiDriver() {
	v.t.Helper()
	_, err := v.destination.StorageV1().CSIDrivers().Create(v.ctx, &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: v.driver()}}, metav1.CreateOptions{})
	v.must(err)
}

// csiNode runs the driver on one of the destination's nodes, which may attach so many
// volumes.
func (v *move) csiNode(most int) {
	v.t.Helper()
	v.csiDriver()
	nodes, err := v.destination.CoreV1().Nodes().List(v.ctx, metav1.ListOptions{})
	v.must(err)
	node := nodes.Items[0].Name
	_, err = v.destination.StorageV1().CSINodes().Create(v.ctx, &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: node}}, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		v.must(err)
	}
	patch := fmt.Sprintf(`{"spec":{"drivers":[{"name":%q,"nodeID":"x","topologyKeys":null,"allocatable":{"count":%d}}]}}`, v.driver(), most)
	_, err = v.destination.StorageV1().CSINodes().Patch(v.ctx, node, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
	v.must(err)
}

// twin makes another volume for the disk of ordinal 0 at the destination.
func (v *move) twin() {
	v.t.Helper()
	volume := v.csiVolume("twin-"+v.app.Namespace, "data-web-0")
	volume.Spec.ClaimRef = nil
	volume.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRetain
	_, err := v.destination.CoreV1().PersistentVolumes().Create(v.ctx, volume, metav1.CreateOptions{})
	v.must(err)
}

// TestCSIVolumes moves volumes of a CSI driver: their handles and attributes are the
// same at the destination.
func TestCSIVolumes(t *testing.T) {
	t.Parallel()
	v := newMove(t, usual(2), onCSI)
	v.csiNode(2)
	v.run()
	v.expectMoved()
	for ordinal := range v.app.Replicas {
		name := "disk-" + v.app.Namespace + "-" + strconv.Itoa(int(ordinal))
		volume, err := v.destination.CoreV1().PersistentVolumes().Get(v.ctx, name, metav1.GetOptions{})
		v.must(err)
		want := v.csiVolume(name, fmt.Sprintf("data-web-%d", ordinal)).Spec.CSI
		if !equality.Semantic.DeepEqual(volume.Spec.CSI, want) {
			t.Errorf("the source of volume %s is %v, want %v", name, volume.Spec.CSI, want)
		}
	}
	v.audit()
}
