package move

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/internal/treetest"
	"github.com/sliceshift/sliceshift/migration/engine"
	"github.com/sliceshift/sliceshift/volumes"
)

// onNode returns a node selector term for one node.
func onNode(name string) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{name}}}}
}

// addNode adds a tainted node to the destination, on which only pods of this test run, and returns its name.
func addNode(v *harness.Move, destination kubernetes.Interface, taint corev1.Taint) string {
	nodes := destination.CoreV1().Nodes()
	like, err := nodes.Get(v.Ctx, "node-0", metav1.GetOptions{})
	v.Must(err)
	name := "node-" + v.App.Namespace
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: maps.Clone(like.Labels)}, Spec: corev1.NodeSpec{Taints: []corev1.Taint{taint}}}
	node.Labels[corev1.LabelHostname] = name
	node, err = nodes.Create(v.Ctx, node, metav1.CreateOptions{})
	v.Must(err)
	v.T.Cleanup(func() { v.Must(nodes.Delete(context.WithoutCancel(v.Ctx), name, metav1.DeleteOptions{})) })
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"capacity": like.Status.Capacity, "allocatable": like.Status.Allocatable}})
	v.Must(err)
	_, err = nodes.Patch(v.Ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	v.Must(err)
	return node.Name
}

// addClassByHand adds a StorageClass without a provisioner. Its volumes are bound at once or when a pod is
// scheduled.
func addClassByHand(v *harness.Move, client kubernetes.Interface, class string, mode storagev1.VolumeBindingMode) {
	_, err := client.StorageV1().StorageClasses().Create(v.Ctx, &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: class}, Provisioner: "kubernetes.io/no-provisioner", VolumeBindingMode: &mode,
	}, metav1.CreateOptions{})
	v.Must(err)
}

// addDisk adds an unbound local volume of a class, which is a folder of a node.
func addDisk(v *harness.Move, client kubernetes.Interface, class, name, node, size, folder string) {
	_, err := client.CoreV1().PersistentVolumes().Create(v.Ctx, &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: v.App.Namespace + "-" + name},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}, StorageClassName: class,
			AccessModes:                   []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
			PersistentVolumeSource:        corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: folder}},
			NodeAffinity:                  &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{onNode(node)}}},
		},
	}, metav1.CreateOptions{})
	v.Must(err)
}

// ofTwoNodes gives the destination local disks. Claim "far" has a disk on a node of the test. Claim "either"
// has one there and one on node-0, in a class that waits for a pod. The application prefers node-0. mode is the
// binding mode of far's class, and warm is its copy mode.
func ofTwoNodes(v *harness.Move, mode storagev1.VolumeBindingMode, far, either string, warm api.CopyWarmMode) {
	destination := kubernetes.NewForConfigOrDie(v.To.RESTConfig())
	taint := corev1.Taint{Key: "e2e.sliceshift.io/test", Value: v.App.Namespace, Effect: corev1.TaintEffectNoSchedule}
	node, folders := addNode(v, destination, taint), v.T.TempDir()
	classes := map[string]string{far: far + "-" + v.App.Namespace, either: either + "-" + v.App.Namespace}
	addClassByHand(v, destination, classes[far], mode)
	addClassByHand(v, destination, classes[either], storagev1.VolumeBindingWaitForFirstConsumer)
	for _, disk := range []struct{ claim, name, node string }{{far, far, node}, {either, either + "-near", "node-0"}, {either, either + "-far", node}} {
		folder := filepath.Join(folders, disk.name)
		v.Must(os.Mkdir(folder, 0o700))
		addDisk(v, destination, classes[disk.claim], disk.name, disk.node, "1Gi", folder)
	}
	for i, each := range v.Migration.Spec.Volumes {
		v.Migration.Spec.Volumes[i].StorageClassName = new(classes[each.ClaimTemplate])
		if each.ClaimTemplate == far {
			v.Migration.Spec.Volumes[i].Copy.Warm = warm
		}
	}
	v.App.Adapt = func(set *appsv1.StatefulSet) {
		set.Spec.Template.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 100, Preference: onNode("node-0")}},
		}}
		set.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Key: taint.Key, Operator: corev1.TolerationOpEqual, Value: taint.Value, Effect: taint.Effect}}
	}
}

// TestCopyWithinReach: when a class binds a volume on the node of its receiver, one node can reach all volumes
// of the ordinal. Volumes of a class that does not wait for a pod are bound first.
func TestCopyWithinReach(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		mode        storagev1.VolumeBindingMode
		far, either string
		warm        api.CopyWarmMode // for far
	}{
		"one after the other":                      {storagev1.VolumeBindingWaitForFirstConsumer, "data", "logs", api.CopyWarmAuto},
		"after one that is made at once":           {storagev1.VolumeBindingImmediate, "logs", "data", api.CopyWarmAuto},
		"after one that is copied when it is down": {storagev1.VolumeBindingImmediate, "logs", "data", api.CopyWarmNone},
		"after one that is made, and copied later": {storagev1.VolumeBindingWaitForFirstConsumer, "data", "logs", api.CopyWarmNone},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := fixture.App{Replicas: 1, Claims: []string{"data", "logs"}}
			v := newMove(t, app, harness.AcrossClusters, severally(
				api.VolumeSpec{ClaimTemplate: "data", Method: api.MethodCopy}, api.VolumeSpec{ClaimTemplate: "logs", Method: api.MethodCopy},
			), func(v *harness.Move) { ofTwoNodes(v, tc.mode, tc.far, tc.either, tc.warm) })
			data, logs := v.fillEach("data"), v.fillEach("logs")
			v.Run()
			v.ExpectMoved()
			v.expectEqual(data, v.places(v.There(), "data"))
			v.expectEqual(logs, v.places(v.There(), "logs"))
			if at := v.places(v.There(), tc.either)[0]; filepath.Base(at) != tc.either+"-far" {
				t.Errorf("%s is on %s, out of reach of %s", tc.either, at, tc.far)
			}
			v.Audit()
		})
	}
}

// TestCopyAheadOfOneClaim: only one claim of an ordinal is prefetched, and its volume must be reachable
// together with that of the other claim. The other volume is provisioned meanwhile, and nothing is copied into
// it.
func TestCopyAheadOfOneClaim(t *testing.T) {
	t.Parallel()
	app := fixture.App{Replicas: 2, Claims: []string{"data", "logs"}}
	v := newMove(t, app, harness.AcrossClusters, severally(
		api.VolumeSpec{ClaimTemplate: "data", Method: api.MethodCopy}, api.VolumeSpec{ClaimTemplate: "logs", Method: api.MethodCopy},
	), func(v *harness.Move) {
		copiesAhead(v)
		v.Migration.Spec.Volumes[0].Copy.Prefetch, v.Migration.Spec.Volumes[1].Copy.Prefetch = 0, 1
		destination, folders := kubernetes.NewForConfigOrDie(v.To.RESTConfig()), v.T.TempDir()
		for i, each := range v.Migration.Spec.Volumes {
			class := each.ClaimTemplate + "-" + v.App.Namespace
			addClassByHand(v, destination, class, storagev1.VolumeBindingWaitForFirstConsumer)
			v.Migration.Spec.Volumes[i].StorageClassName = &class
			for k := range app.Replicas {
				name := fmt.Sprintf("%s-%d", each.ClaimTemplate, k)
				folder := filepath.Join(folders, name)
				v.Must(os.Mkdir(folder, 0o700))
				addDisk(v, destination, class, name, "node-0", "1Gi", folder)
			}
		}
	})
	data, logs, mover, said := v.fillEach("data"), v.fillEach("logs"), v.Mover(), false
	v.Drive(mover, func(m *api.Migration, _ engine.Outcome) error {
		if said || aheadOf(m) == 0 {
			return nil
		}
		said = true
		if copied := m.Status.Ahead[0].Volumes; len(copied) != 2 || copied[0].Copy.Warm.Passes != 0 || copied[1].Copy.Warm.Passes == 0 {
			t.Errorf("copied before its turn: %+v", copied)
		}
		now := v.Migration.Spec.Volumes[0]
		now.Copy.Cutover = api.CutoverNow
		return mover.Store.Change(v.Ctx, records.Change{Volumes: []api.VolumeSpec{now, v.Migration.Spec.Volumes[1]}})
	})
	v.ExpectMoved()
	if !said {
		t.Error("nothing was copied before its turn")
	}
	v.expectEqual(data, v.places(v.There(), "data"))
	v.expectEqual(logs, v.places(v.There(), "logs"))
	v.expectNoMovers()
	v.Audit()
}

// TestCopyIntoWhatIsUsed: the binder has chosen a volume for a copy that already has files. The volume remains
// unchanged, regardless of its reclaim policy. The ordinal continues to run, and moves once a new volume
// exists.
func TestCopyIntoWhatIsUsed(t *testing.T) {
	t.Parallel()
	var theirs string
	var destination kubernetes.Interface
	v := newMove(t, harness.Usual(1), harness.AcrossClusters, byCopy, func(v *harness.Move) {
		class := "used-" + v.App.Namespace
		destination, theirs = kubernetes.NewForConfigOrDie(v.To.RESTConfig()), v.T.TempDir()
		treetest.In(v.T, theirs).File("ledger", []byte("theirs"))
		addClassByHand(v, destination, class, storagev1.VolumeBindingWaitForFirstConsumer)
		addDisk(v, destination, class, "used", "node-0", "1Gi", theirs)
		v.Migration.Spec.Volumes[0].StorageClassName = &class
	})
	before, mover := v.filled(), v.Mover()
	v.Drive(mover, harness.StalledWith(volumes.ReasonCopyNotEmpty)(func() error { return mover.Store.SetMode(v.Ctx, api.ModeRollback) }))
	v.expectHome()
	if text, err := os.ReadFile(filepath.Join(theirs, "ledger")); err != nil || string(text) != "theirs" {
		t.Errorf("%q: %v", text, err)
	}
	_, err := destination.CoreV1().PersistentVolumes().Get(v.Ctx, v.App.Namespace+"-used", metav1.GetOptions{})
	v.Must(err)
	addDisk(v.Move, destination, "used-"+v.App.Namespace, "new", "node-0", "1Gi", v.T.TempDir())
	v.Must(mover.Store.SetMode(v.Ctx, api.ModeRun))
	v.Drive(mover)
	v.ExpectMoved()
	v.expectCopies(v.There(), before)
	if text, err := os.ReadFile(filepath.Join(theirs, "ledger")); err != nil || string(text) != "theirs" {
		t.Errorf("%q: %v", text, err)
	}
	v.Audit()
}
