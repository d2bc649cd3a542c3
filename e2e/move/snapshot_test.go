package move

import (
	"context"
	"fmt"
	"maps"
	"os/exec"
	"strings"
	"testing"
	"time"

	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/csi/sidecar"
	"github.com/sliceshift/sliceshift/e2e/csi/site"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/internal/treetest"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// lateClass is a StorageClass whose volumes are provisioned on the node of their first pod.
const lateClass = "disks-late"

// startSnapshots starts two clusters with one storage backend, the snapshot-controller and the csi-snapshotter
// of Kubernetes. They need as many processes as the clusters of all other tests together. So these tests run
// one after the other, and not in parallel with other tests.
func startSnapshots(t *testing.T) *disks {
	t.Helper()
	d := startDisks(t, sidecar.SnapshotController, sidecar.Snapshotter)
	late := &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: lateClass}, Provisioner: diskDriver, VolumeBindingMode: new(storagev1.VolumeBindingWaitForFirstConsumer),
		Parameters: map[string]string{"csi.storage.k8s.io/fstype": "ext4"},
	}
	clientset := kubernetes.NewForConfigOrDie(d.clusters[1].RESTConfig())
	if _, err := clientset.StorageV1().StorageClasses().Create(t.Context(), late, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	d.play(t) // only a kubelet deletes a placeholder pod that was scheduled
	return d
}

// bySnapshot moves the volumes of claim template data by method Snapshot, into volumes of this class.
func bySnapshot(class string) harness.Setting {
	return func(v *harness.Move) {
		v.Migration.Spec.Volumes = []api.VolumeSpec{{ClaimTemplate: "data", Method: api.MethodSnapshot, StorageClassName: &class}}
	}
}

// snapshots lists the VolumeSnapshots and VolumeSnapshotContents in the two clusters, and the snapshots in the
// storage. Contents are cluster-scoped; the listed ones refer to VolumeSnapshots in the sides' namespaces.
func (v *move) snapshots(ctx context.Context, d *disks) (left []string, err error) {
	for i, at := range []harness.Endpoint{v.Here(), v.There()} {
		client, err := dynamic.NewForConfig(d.clusters[i].RESTConfig())
		if err != nil {
			return nil, err
		}
		snapshots, err := client.Resource(site.SnapshotVersion.WithResource("volumesnapshots")).Namespace(at.Namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		contents, err := client.Resource(site.SnapshotVersion.WithResource("volumesnapshotcontents")).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		for j := range snapshots.Items {
			left = append(left, "VolumeSnapshot "+snapshots.Items[j].GetName())
		}
		for j := range contents.Items {
			if namespace, _, _ := unstructured.NestedString(contents.Items[j].Object, "spec", "volumeSnapshotRef", "namespace"); namespace == at.Namespace {
				left = append(left, "VolumeSnapshotContent "+contents.Items[j].GetName())
			}
		}
	}
	stored, err := d.folder.Snapshots()
	for _, s := range stored {
		left = append(left, "snapshot "+s.ID)
	}
	return left, err
}

// expectNoSnapshots waits until no snapshot remains in either cluster or in the storage.
func (v *move) expectNoSnapshots(d *disks) {
	v.T.Helper()
	ctx, cancel := context.WithTimeout(v.Ctx, 2*time.Minute)
	defer cancel()
	var left []string
	err := wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		var err error
		left, err = v.snapshots(ctx, d)
		return len(left) == 0, err
	})
	if err != nil {
		v.T.Errorf("left: %s (%v)", strings.Join(left, ", "), err)
	}
	if refused, err := d.folder.Refusals(); len(refused) > 0 || err != nil {
		v.T.Errorf("%d calls were refused (%v): %+v", len(refused), err, refused)
	}
}

// TestSnapshotMoves: ordinals move between clusters with one storage backend by snapshots. Each starts on a new
// disk with all of its data, the old volume is kept, and no snapshot remains.
func TestSnapshotMoves(t *testing.T) {
	d := startSnapshots(t)
	for name, class := range map[string]string{"M-060: made at once": diskDriver, "M-060: made for a pod": lateClass} {
		t.Run(name, func(t *testing.T) {
			v := newMove(t, harness.Usual(2), d.app(2), bySnapshot(class))
			data, handles := v.write("before", v.mounted(v.Here(), d.sites[0])), v.handles(v.Here())
			v.Run()
			v.ExpectMoved()
			v.same(data, v.mounted(v.There(), d.sites[1]))
			v.expectLeft(handles)
			v.expectNoMovers()
			v.expectNoSnapshots(d)
			v.Audit()
		})
	}
	t.Run("by the command, with a class of snapshots", func(t *testing.T) {
		d.snapshotClass(t, "nightly")
		v := newMove(t, harness.Usual(2), d.app(2), bySnapshot(diskDriver))
		data, handles := v.write("before", v.mounted(v.Here(), d.sites[0])), v.handles(v.Here())
		v.exits(exec.CommandContext(v.Ctx, harness.Program(t, "migrate"), "run", v.App.Name, "-n", v.App.Namespace,
			"--kubeconfig", v.From.Kubeconfig(), "--to-kubeconfig", v.To.Kubeconfig(), "--create-namespace", "--volume", "data=snapshot,class=nightly"), 0)
		v.ExpectMoved()
		v.same(data, v.mounted(v.There(), d.sites[1]))
		v.expectLeft(handles)
		v.expectNoSnapshots(d)
		v.Audit()
	})
}

// snapshotClass creates a VolumeSnapshotClass of the driver in both clusters. Many users have several, one for
// each purpose.
func (d *disks) snapshotClass(t *testing.T, name string) {
	t.Helper()
	for _, each := range d.clusters {
		client, err := dynamic.NewForConfig(each.RESTConfig())
		if err != nil {
			t.Fatal(err)
		}
		class := &unstructured.Unstructured{Object: map[string]any{"driver": diskDriver, "deletionPolicy": "Delete"}}
		class.SetGroupVersionKind(site.SnapshotVersion.WithKind("VolumeSnapshotClass"))
		class.SetName(name)
		if _, err := client.Resource(site.SnapshotVersion.WithResource("volumesnapshotclasses")).Create(t.Context(), class, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// snapshotted returns the moment at which this step was taken on a side.
func snapshotted(verb volumes.Verb, side plan.SideName) harness.Moment {
	return harness.Wrote(func(e *plan.Effect) bool {
		return e.Verb == plan.CarryVolume && e.Volume.Verb == verb && e.Side == side
	})
}

// TestSnapshotTurnsBack: until the restored volume is taken over, a rollback returns an ordinal to its original
// disk, and no snapshot remains. The next snapshot contains the data that the ordinal writes afterwards.
func TestSnapshotTurnsBack(t *testing.T) {
	d := startSnapshots(t)
	for name, at := range map[string]harness.Moment{
		"released":  snapshotted(volumes.Release, plan.SourceSide),
		"taken":     snapshotted(volumes.CreateSnapshot, plan.SourceSide),
		"retained":  snapshotted(volumes.RetainContent, plan.SourceSide),
		"imported":  snapshotted(volumes.CreateImport, plan.DestinationSide),
		"restoring": snapshotted(volumes.CreateIncoming, plan.DestinationSide),
	} {
		t.Run(name, func(t *testing.T) {
			v := newMove(t, harness.Usual(1), d.app(1), bySnapshot(lateClass))
			v.write("before", v.mounted(v.Here(), d.sites[0]))
			before, mover := v.disks(), v.Mover()
			v.Drive(mover, at(func() error { return mover.Store.SetMode(v.Ctx, api.ModeRollback) }))
			v.expectHome()
			if after := v.disks(); !maps.Equal(after, before) {
				t.Errorf("the disks are %v, and were %v", after, before)
			}
			v.expectNoSnapshots(d)
			data := v.write("after it was turned back", v.mounted(v.Here(), d.sites[0]))
			v.Must(mover.Store.SetMode(v.Ctx, api.ModeRun))
			v.Drive(mover)
			v.ExpectMoved()
			v.same(data, v.mounted(v.There(), d.sites[1]))
			v.Audit()
		})
	}
}

// TestSnapshotComesBack: after the restored volume is taken over, a rollback takes a new snapshot. The old
// volume is never written.
func TestSnapshotComesBack(t *testing.T) {
	d := startSnapshots(t)
	v := newMove(t, harness.Usual(2), d.app(2), bySnapshot(diskDriver))
	data, handles := v.write("before", v.mounted(v.Here(), d.sites[0])), v.handles(v.Here())
	mover := v.Mover()
	v.Drive(mover, harness.Arrival(0)(func() error { return mover.Store.SetMode(v.Ctx, api.ModeRollback) }))
	v.expectHome()
	v.same(data, v.mounted(v.Here(), d.sites[0]))
	v.expectKept(handles)
	v.expectNoSnapshots(d)
	v.Audit()
}

// TestSnapshotCrash: an ordinal arrives with its data if a process dies before or after one of its writes, or
// receives no answer to it.
func TestSnapshotCrash(t *testing.T) {
	d := startSnapshots(t)
	step := harness.FromEnvironment(t, crashStepVariable, defaultCrashStep)
	calm := newMove(t, harness.Usual(1), d.app(1), bySnapshot(lateClass))
	writes, _ := calm.crash(noAnswer, 0, nil)
	t.Logf("%d writes", writes)
	for offset, f := range []fate{diesBefore, diesAfter, noAnswer} {
		for n := 1 + offset*step/3; n <= writes; n += step {
			t.Run(fmt.Sprintf("%s write %d", f, n), func(t *testing.T) {
				v := newMove(t, harness.Usual(1), d.app(1), bySnapshot(lateClass))
				data, handles := v.write("before", v.mounted(v.Here(), d.sites[0])), v.handles(v.Here())
				v.crash(f, n, nil)
				v.ExpectMoved()
				v.same(data, v.mounted(v.There(), d.sites[1]))
				v.expectLeft(handles)
				v.Audit()
			})
		}
	}
}

// write writes files of this name on the disk of each ordinal, and returns copies of the disks' content.
func (v *move) write(name string, folders []string) []string {
	v.T.Helper()
	for ordinal, folder := range folders {
		tree := treetest.In(v.T, folder)
		tree.File(name, fmt.Appendf(nil, "by ordinal %d", ordinal))
		tree.File(name+", and much", treetest.Bytes(uint64(ordinal), 4<<20)) //nolint:gosec // not negative
	}
	return v.keep(folders)
}
