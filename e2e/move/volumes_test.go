package move

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/migration/engine"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// TestStorageClass maps the claim template to another class at the destination. After a rollback the source's
// claims have their original class.
func TestStorageClass(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(2), harness.AcrossClusters)
	before := v.classes(v.Here())
	class := "fast-" + v.App.Namespace
	_, err := v.Destination.StorageV1().StorageClasses().Create(v.Ctx, &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: class}, Provisioner: "example.com/none",
	}, metav1.CreateOptions{})
	v.Must(err)
	v.Migration.Spec.Volumes = []api.VolumeSpec{{ClaimTemplate: "data", StorageClassName: new(class), Shared: true}}
	mover := v.Mover()
	v.Drive(mover, harness.Arrival(1)(func() error {
		v.expectClass(v.There(), "data-web-1", class)
		return mover.Store.SetMode(v.Ctx, api.ModeRollback)
	}))
	v.ExpectBack()
	for claim, was := range before {
		v.expectClass(v.Here(), claim, was)
	}
	v.Must(mover.Store.SetMode(v.Ctx, api.ModeRun))
	v.Drive(mover)
	v.ExpectMoved()
	for claim := range before {
		v.expectClass(v.There(), claim, class)
	}
	v.Audit()
}

// classes returns the storage classes of a slice's claims.
func (v *move) classes(at harness.Endpoint) map[string]string {
	v.T.Helper()
	claims, err := at.Client.CoreV1().PersistentVolumeClaims(at.Namespace).List(v.Ctx, metav1.ListOptions{})
	v.Must(err)
	classes := map[string]string{}
	for _, claim := range claims.Items {
		classes[claim.Name] = *claim.Spec.StorageClassName
	}
	return classes
}

// expectClass checks the class of a claim and of its volume.
func (v *move) expectClass(at harness.Endpoint, claim, want string) {
	v.T.Helper()
	if have := v.classes(at)[claim]; have != want {
		v.T.Errorf("claim %s has class %q, want %q", claim, have, want)
	}
	if have := volumeClass(v.Ctx, at.Client, at.Namespace, claim); have != want {
		v.T.Errorf("the volume of claim %s has class %q, want %q", claim, have, want)
	}
}

// volumeClass returns the class of the volume that is bound to a claim.
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

// onCSI gives each ordinal a volume of the test's own CSI driver.
func onCSI(v *harness.Move) {
	harness.AcrossClusters(v)
	(&move{Move: v}).csiVolumes()
}

func (v *move) csiVolumes() {
	v.T.Helper()
	client := kubernetes.NewForConfigOrDie(v.From.RESTConfig())
	for _, template := range v.App.Claims {
		prefix := "disk-" + v.App.Namespace + "-"
		if template != "data" {
			prefix += template + "-"
		}
		for ordinal := v.App.Start; ordinal < v.App.Start+v.App.Replicas; ordinal++ {
			volume := v.csiVolume(prefix+strconv.Itoa(int(ordinal)), fmt.Sprintf("%s-%s-%d", template, v.App.Name, ordinal))
			if v.CSI != nil {
				v.CSI(volume.Spec.CSI)
			}
			_, err := client.CoreV1().PersistentVolumes().Create(v.Ctx, volume, metav1.CreateOptions{})
			v.Must(err)
			// A binder that does not know the volume yet has another one provisioned, and then deleted, for its claim.
			v.Eventually("volume "+volume.Name+" is known to the binder", func(ctx context.Context) (bool, error) {
				seen, err := client.CoreV1().PersistentVolumes().Get(ctx, volume.Name, metav1.GetOptions{})
				return err == nil && seen.Status.Phase == corev1.VolumeAvailable, err
			})
		}
	}
}

func (v *move) driver() string { return v.App.Namespace + ".example.com" }

func (v *move) csiVolume(name, claim string) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			AccessModes:                   []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
			StorageClassName:              "standard",
			ClaimRef:                      &corev1.ObjectReference{Namespace: v.App.Namespace, Name: claim},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{
				Driver: v.driver(), VolumeHandle: claim, VolumeAttributes: map[string]string{"noformat": "true"},
			}},
		},
	}
}

// csiDriver registers the driver at the destination.
func (v *move) csiDriver() {
	v.T.Helper()
	_, err := v.Destination.StorageV1().CSIDrivers().Create(v.Ctx, &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: v.driver()}}, metav1.CreateOptions{})
	v.Must(err)
}

// csiNode runs the driver on one of the destination's nodes, with this limit of attached volumes.
func (v *move) csiNode(most int) {
	v.T.Helper()
	v.csiDriver()
	v.runDriver(v.Destination, most)
}

// runDriver registers the driver with a node of a cluster, as its kubelet does.
func (v *move) runDriver(at kubernetes.Interface, most int) {
	v.T.Helper()
	nodes, err := at.CoreV1().Nodes().List(v.Ctx, metav1.ListOptions{})
	v.Must(err)
	node := nodes.Items[0].Name
	_, err = at.StorageV1().CSINodes().Create(v.Ctx, &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: node}}, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		v.Must(err)
	}
	patch := fmt.Sprintf(`{"spec":{"drivers":[{"name":%q,"nodeID":"x","topologyKeys":null,"allocatable":{"count":%d}}]}}`, v.driver(), most)
	_, err = at.StorageV1().CSINodes().Patch(v.Ctx, node, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
	v.Must(err)
}

// nobody returns a reference to a claim that does not exist. The binder gives a volume with this claimRef to no
// other test.
func (v *move) nobody() *corev1.ObjectReference {
	return &corev1.ObjectReference{Namespace: v.App.Namespace, Name: "nobody"}
}

// twin creates another volume at the destination for the disk of ordinal 0.
func (v *move) twin() {
	v.T.Helper()
	volume := v.csiVolume("twin-"+v.App.Namespace, "data-web-0")
	volume.Spec.ClaimRef = v.nobody()
	volume.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRetain
	_, err := v.Destination.CoreV1().PersistentVolumes().Create(v.Ctx, volume, metav1.CreateOptions{})
	v.Must(err)
}

// TestCSIVolumes: volumes of a CSI driver have the same handles and attributes at the destination.
func TestCSIVolumes(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(2), onCSI)
	v.csiNode(2)
	v.Run()
	v.ExpectMoved()
	for ordinal := range v.App.Replicas {
		name := "disk-" + v.App.Namespace + "-" + strconv.Itoa(int(ordinal))
		volume, err := v.Destination.CoreV1().PersistentVolumes().Get(v.Ctx, name, metav1.GetOptions{})
		v.Must(err)
		want := v.csiVolume(name, fmt.Sprintf("data-web-%d", ordinal)).Spec.CSI
		if !equality.Semantic.DeepEqual(volume.Spec.CSI, want) {
			t.Errorf("the source of volume %s is %v, want %v", name, volume.Spec.CSI, want)
		}
	}
	v.Audit()
}

// TestBackupHoldsTheClaim: another pod uses the claim of the next ordinal. The migration waits for that pod
// before it stops the ordinal (G5).
func TestBackupHoldsTheClaim(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(3), harness.AcrossClusters)
	pods := v.Source.CoreV1().Pods(v.App.Namespace)
	held := false
	v.Run(harness.Arrival(2)(func() error { return v.backUp("data-web-1") }), func(_ *api.Migration, outcome engine.Outcome) error {
		hold := outcome.Decision.Hold
		if held || hold == nil || hold.Reason != api.ReasonClaimInUse {
			return nil
		}
		held = true
		if ready, err := v.isReady(v.Here(), "web-1"); !ready || err != nil || !strings.Contains(hold.Message, "backup") {
			return fmt.Errorf("held by %+v, web-1 is Ready: %t (%w)", hold, ready, err)
		}
		return pods.Delete(v.Ctx, "backup", metav1.DeleteOptions{})
	})
	if !held {
		t.Error("it was not held")
	}
	v.ExpectMovedCleanly()
}

// backUp runs a pod of another user on a claim of the source.
func (v *move) backUp(claim string) error {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "backup"},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "backup", Image: "backup:1"}},
			Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
			}}},
		},
	}
	_, err := v.Source.CoreV1().Pods(v.App.Namespace).Create(v.Ctx, pod, metav1.CreateOptions{})
	return err
}

// asShipped is a flag that makes the manager create only the volumes that it allows by default.
const asShipped = "--volumes-allow-paths=false"

// withSecretElsewhere makes the volumes refer to a Secret in another namespace.
func withSecretElsewhere(v *harness.Move) {
	v.CSI = func(source *corev1.CSIPersistentVolumeSource) {
		source.NodePublishSecretRef = &corev1.SecretReference{Namespace: "kube-system", Name: "root"}
	}
	onCSI(v)
}

// TestVolumesThatAreNotMade: volumes that the operator does not allow are refused before anything changes (S1).
func TestVolumesThatAreNotMade(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		set    harness.Setting
		spoil  func(*move)
		args   []string
		reason string
		says   string
	}{
		"S1 a path without its user's word": {harness.AcrossClusters, func(v *move) { v.Migration.Spec.Volumes = nil }, nil, volumes.ReasonVolumeIsLocal, "--shared data"},
		"S1 a path":                         {harness.AcrossClusters, nil, []string{asShipped}, volumes.ReasonVolumeNotAllowed, "volumes.allowPaths"},
		"S1 a Secret elsewhere":             {withSecretElsewhere, func(v *move) { v.csiNode(9) }, []string{asShipped}, volumes.ReasonVolumeNotAllowed, "kube-system"},
		"S1 another driver":                 {onCSI, func(v *move) { v.csiNode(9) }, []string{"--volumes-drivers", "ebs.csi.aws.com"}, volumes.ReasonVolumeNotAllowed, "ebs.csi.aws.com"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newMove(t, harness.Usual(1), tc.set)
			c := v.Managed()
			if tc.spoil != nil {
				tc.spoil(v)
			}
			harness.StartManager(t, v.App.Namespace, tc.args...)
			v.expectRefused(c, tc.reason, tc.says)
		})
	}
}

// TestVolumesThatAreMade: volumes that are refused by default move if the operator allows them (S1).
func TestVolumesThatAreMade(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(1), withSecretElsewhere)
	v.csiNode(9)
	c := v.Managed()
	harness.StartManager(t, v.App.Namespace, asShipped, "--volumes-secret-namespaces", "kube-system", "--volumes-drivers", v.driver())
	v.Must(c.Create(v.Ctx, v.Migration))
	v.awaitMoved(c)
}

// TestTwinInMidMove: a volume at the destination refers to the disk of an ordinal that has not moved yet. The
// ordinal continues to run at the source until that volume is deleted (S1).
func TestTwinInMidMove(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(2), onCSI)
	v.csiNode(9)
	mover, removed := v.Mover(), false
	v.Drive(mover, func(_ *api.Migration, outcome engine.Outcome) error {
		if e := outcome.Decision.Effect; outcome.Wrote && e.Verb == plan.ScaleUp && e.Ordinal == 1 {
			v.twin()
		}
		hold := outcome.Decision.Hold
		if hold == nil || hold.Reason != volumes.ReasonForeignVolume || removed {
			return nil
		}
		if !strings.Contains(hold.Message, "twin-"+v.App.Namespace) {
			t.Errorf("it does not name the volume: %s", hold.Message)
		}
		if _, err := v.Source.CoreV1().Pods(v.App.Namespace).Get(v.Ctx, "web-0", metav1.GetOptions{}); err != nil {
			t.Errorf("ordinal 0 is down: %v", err)
		}
		removed = true
		return v.Destination.CoreV1().PersistentVolumes().Delete(v.Ctx, "twin-"+v.App.Namespace, metav1.DeleteOptions{})
	})
	if !removed {
		t.Error("the twin was not found")
	}
	v.ExpectMovedCleanly()
}
