package suite

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/e2e/kind"
	"github.com/sliceshift/sliceshift/e2e/kind/cases"
	"github.com/sliceshift/sliceshift/e2e/kind/setup"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/volumes"
)

// TestCopy: three replicas move to node-local disks in west, with real scheduling, kubelets and network. Pod Security
// baseline admits the pods of the movers. restricted refuses them before the first stop, and the move continues when
// it is lifted.
func TestCopy(t *testing.T) {
	t.Parallel()
	ways := map[string]way{
		"M-060, M-081: through a node port": {api.CopySpec{Image: managerImage, ServiceType: corev1.ServiceTypeClusterIP}, corev1.ServiceTypeNodePort},
		"through both API servers":          {api.CopySpec{Image: managerImage, Transport: api.TransportRelay}, ""},
	}
	if !pair.Own() { // the DNS of the clusters is that of these tests
		if err := clusterset(); err != nil {
			t.Fatal(err)
		}
		ways["by its name in the clusterset"] = way{api.CopySpec{Image: managerImage, ServiceType: api.ServiceTypeExport}, ""}
	}
	for name, w := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			copyBy(t, w)
		})
	}
}

// way is the specification of a copy. If its route does not work, then is the type of Service to request after the
// first try.
type way struct {
	api.CopySpec
	then corev1.ServiceType
}

// copyBy moves an application by method Copy.
func copyBy(t *testing.T, w way) {
	t.Helper()
	v := deploy(t, usual())
	v.must(setup.Namespace(v.ctx, pair.West, v.app.namespace))
	v.must(v.secure(pair.West, "baseline"))
	v.must(v.secure(pair.East, "restricted"))
	class := "disks-" + v.app.namespace
	v.must(v.disks(class))
	v.m.Spec.Volumes = []api.VolumeSpec{{
		ClaimTemplate: "data", Method: api.MethodCopy, StorageClassName: &class,
		Copy: w.CopySpec,
	}}
	mover := v.mover()
	reports := []harness.Report{v.onStall(api.ReasonWriteRefused, "violates PodSecurity", func() error { return v.secure(pair.East, "baseline") })}
	if w.then != "" {
		reports = append(reports, harness.CopyStep(volumes.TellMover, volumes.RoleWarm)(func() error {
			mended := v.m.Spec.Volumes[0]
			mended.Copy.ServiceType = w.then
			return mover.Store.Change(v.ctx, records.Change{Volumes: []api.VolumeSpec{mended}})
		}))
	}
	v.drive(mover, reports...)
	v.expectMoved()
	v.expectSealed(class)
	v.expectNoMovers()
	results.Add(cases.Row{Name: t.Name(), Remark: "copied to disks of west's own, between nodes"})
}

// secure enforces a Pod Security standard on the application's namespace in a cluster.
func (v *move) secure(c *kind.Cluster, standard string) error {
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":%q}}}`, standard)
	_, err := c.Client.CoreV1().Namespaces().Patch(v.ctx, v.app.namespace, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// disks creates a StorageClass with one folder of west's node for each replica. The claims of the copies bind to them.
func (v *move) disks(class string) error {
	client := pair.West.Client
	volumes := client.CoreV1().PersistentVolumes()
	v.t.Cleanup(func() {
		ctx := context.WithoutCancel(v.ctx)
		err := client.StorageV1().StorageClasses().Delete(ctx, class, metav1.DeleteOptions{})
		for _, pod := range v.app.pods() {
			err = errors.Join(err, ignoreNotFound(volumes.Delete(ctx, class+"-"+pod, metav1.DeleteOptions{})))
		}
		if err != nil && !v.t.Failed() {
			v.t.Error(err)
		}
	})
	binding := storagev1.VolumeBindingImmediate
	_, err := client.StorageV1().StorageClasses().Create(v.ctx, &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: class}, Provisioner: "kubernetes.io/no-provisioner", VolumeBindingMode: &binding,
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	for _, pod := range v.app.pods() {
		_, err := volumes.Create(v.ctx, &corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: class + "-" + pod},
			Spec: corev1.PersistentVolumeSpec{
				Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}, StorageClassName: class,
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
				NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
					MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{v.workerOf(pair.West)}}},
				}}}},
				PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{
					Path: "/var/lib/sliceshift/" + class + "/" + pod, Type: new(corev1.HostPathDirectoryOrCreate),
				}},
			},
		}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
	}
	return nil
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// workerOf returns the host name of a node that accepts pods.
func (v *move) workerOf(c *kind.Cluster) string {
	v.t.Helper()
	nodes, err := c.Client.CoreV1().Nodes().List(v.ctx, metav1.ListOptions{})
	v.must(err)
	for i := range nodes.Items {
		if node := &nodes.Items[i]; len(node.Spec.Taints) == 0 && !node.Spec.Unschedulable {
			return node.Labels[corev1.LabelHostname]
		}
	}
	v.t.Fatalf("cluster %s has no node that takes pods", c.Name)
	return ""
}

// expectSealed checks that each replica is on a disk of the class, with the seal of its copy.
func (v *move) expectSealed(class string) {
	v.t.Helper()
	for _, pod := range v.app.pods() {
		claim, err := pair.West.Client.CoreV1().PersistentVolumeClaims(v.app.namespace).Get(v.ctx, "data-"+pod, metav1.GetOptions{})
		v.must(err)
		volume, err := pair.West.Client.CoreV1().PersistentVolumes().Get(v.ctx, claim.Spec.VolumeName, metav1.GetOptions{})
		v.must(err)
		seal := volume.Annotations[api.SealAnnotationKey]
		if volume.Spec.StorageClassName != class || !strings.HasPrefix(seal, "blake3:") {
			v.t.Errorf("%s is on volume %s of class %q with the seal %q", pod, volume.Name, volume.Spec.StorageClassName, seal)
		}
		v.t.Logf("%s: volume %s, %s", pod, volume.Name, seal)
	}
}

// expectNoMovers checks that no pod of a copy remains, once kubelets have ended the deleted pods.
func (v *move) expectNoMovers() {
	v.t.Helper()
	const patience = time.Minute
	ctx, cancel := context.WithTimeout(v.ctx, patience)
	defer cancel()
	for _, c := range pair.Both() {
		var left []string
		err := pollUntil(ctx, func(ctx context.Context) (bool, error) {
			pods, err := c.Client.CoreV1().Pods(v.app.namespace).List(ctx, metav1.ListOptions{LabelSelector: api.MigrationLabelKey})
			if err != nil {
				return false, err
			}
			left = left[:0]
			for i := range pods.Items {
				if pods.Items[i].DeletionTimestamp == nil {
					v.t.Errorf("pod %s is left in cluster %s", pods.Items[i].Name, c.Name)
				}
				left = append(left, pods.Items[i].Name)
			}
			return len(left) == 0 || v.t.Failed(), nil
		})
		if err != nil {
			v.t.Errorf("cluster %s: pods %v do not go: %v", c.Name, left, err)
		}
	}
}
