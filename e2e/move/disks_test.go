package move

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/cluster"
	"github.com/sliceshift/sliceshift/e2e/csi"
	"github.com/sliceshift/sliceshift/e2e/csi/kubelet"
	"github.com/sliceshift/sliceshift/e2e/csi/sidecar"
	"github.com/sliceshift/sliceshift/e2e/csi/site"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/e2e/player"
	"github.com/sliceshift/sliceshift/internal/program"
	"github.com/sliceshift/sliceshift/internal/treediff"
	"github.com/sliceshift/sliceshift/internal/treetest"
)

// diskDriver is the name of the driver and of its StorageClass.
const diskDriver = "disks.example.com"

// disks holds two clusters that share a storage backend of loop devices. The external-attacher of Kubernetes
// attaches them, and the driver refuses to mount a disk on a second node.
type disks struct {
	folder   *csi.Folder
	clusters []*cluster.Cluster
	sites    []*site.Site
	// enforces is true if the players enforce NetworkPolicies.
	enforces atomic.Bool
}

func startDisks(t *testing.T, more ...sidecar.Name) *disks {
	t.Helper()
	return startDisksIn(t, []string{"disks-east", "disks-west"}, true, more...)
}

// startDisksIn starts clusters of these names with such disks, which are attached or only mounted.
func startDisksIn(t *testing.T, names []string, attach bool, more ...sidecar.Name) *disks {
	t.Helper()
	treetest.NeedRoot(t)
	const longest = 5 * time.Minute
	ctx, cancel := context.WithTimeout(t.Context(), longest)
	defer cancel()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	all, err := cluster.StartAll(ctx, cluster.Options{Binary: binary(t), Attach: attach}, names...)
	must(err)
	d := &disks{clusters: all}
	for _, each := range all {
		each.StopAfter(t)
		must(harness.Prepare(ctx, each))
	}
	d.folder, err = csi.Make()
	must(err)
	t.Cleanup(func() { must(d.folder.Close()) })
	sidecars := []sidecar.Name{sidecar.Provisioner}
	if attach {
		sidecars = append(sidecars, sidecar.Attacher)
	}
	for _, each := range all {
		s, err := site.Start(context.WithoutCancel(ctx), site.Options{
			Cluster: each, Folder: d.folder, Driver: csi.Options{Name: diskDriver, Attach: attach, Modifies: true, System: "ext4"},
			Sidecars: append(sidecars, more...), Logs: filepath.Join(filepath.Dir(each.LogFile(cluster.Kwok)), "csi"),
		})
		must(err)
		t.Cleanup(s.Stop)
		d.sites = append(d.sites, s)
	}
	return d
}

// app deploys an application whose volumes are disks.
func (d *disks) app(replicas int32) harness.Setting {
	return func(v *harness.Move) {
		v.From, v.To, v.Limit, v.Content, v.Keep = d.clusters[0], d.clusters[1], 5*time.Minute, d.compare, nil
		v.App.Replicas, v.App.Annotations = replicas, kubelet.Annotations(diskDriver)
		v.App.Adapt = func(set *appsv1.StatefulSet) {
			class := diskDriver
			for i := range set.Spec.VolumeClaimTemplates {
				set.Spec.VolumeClaimTemplates[i].Spec.StorageClassName = &class
			}
		}
	}
}

// compare returns the differences of two disks, regardless of the cluster that uses them.
func (d *disks) compare(ctx context.Context, from, to string) ([]string, error) {
	one, done, err := d.folder.Look(ctx, from)
	if err != nil {
		return nil, err
	}
	other, ended, err := d.folder.Look(ctx, to)
	if err != nil {
		return nil, errors.Join(err, done())
	}
	differ, err := treediff.Compare(ctx, one, other)
	return differ, errors.Join(err, done(), ended())
}

// mounted returns the folders in which the volumes of a slice are mounted for its pods, by ordinal.
func (v *move) mounted(at harness.Endpoint, s *site.Site) []string {
	v.T.Helper()
	var folders []string
	for ordinal := range v.App.Replicas {
		pod, err := at.Client.CoreV1().Pods(at.Namespace).Get(v.Ctx, fmt.Sprintf("%s-%d", at.Set, ordinal), metav1.GetOptions{})
		v.Must(err)
		claim, err := at.Client.CoreV1().PersistentVolumeClaims(at.Namespace).Get(v.Ctx, "data-"+pod.Name, metav1.GetOptions{})
		v.Must(err)
		folders = append(folders, s.Kubelet.Path(pod.UID, claim.Spec.VolumeName))
	}
	return folders
}

// fillAll fills folders with everything that a file system can hold, and returns copies of them.
func (v *move) fillAll(folders []string) []string {
	v.T.Helper()
	for ordinal, folder := range folders {
		tree := treetest.In(v.T, folder)
		tree.Everything()
		tree.File("ordinal", fmt.Appendf(nil, "data of ordinal %d", ordinal))
	}
	return v.keep(folders)
}

// keep returns copies of folders.
func (v *move) keep(folders []string) []string {
	v.T.Helper()
	var same []string
	for _, folder := range folders {
		kept := filepath.Join(v.T.TempDir(), "kept")
		_, err := program.In{}.Output(v.Ctx, "cp", "-a", folder, kept)
		v.Must(err)
		same = append(same, kept)
	}
	return same
}

// same checks that folders still have the same content.
func (v *move) same(want, have []string) {
	v.T.Helper()
	for ordinal := range want {
		differ, err := treediff.Compare(v.Ctx, want[ordinal], have[ordinal])
		v.Must(err)
		if len(differ) > 0 {
			v.T.Errorf("ordinal %d differs:\n%q", ordinal, differ)
		}
	}
}

// TestRebindOverCSI: one cluster detaches the disks of ordinals, with all of their data, before the other
// cluster attaches them.
func TestRebindOverCSI(t *testing.T) {
	t.Parallel()
	d := startDisks(t)
	v := newMove(t, harness.Usual(2), d.app(2))
	data := v.fillAll(v.mounted(v.Here(), d.sites[0]))
	v.agrees()
	v.Run()
	v.ExpectMoved()
	v.same(data, v.mounted(v.There(), d.sites[1]))
	d.tookTurns(t, 2, "disks-east.node-0", "disks-west.node-0")
	v.Audit()
}

// TestRebindOverCSIComesBack: the same holds for a rollback.
func TestRebindOverCSIComesBack(t *testing.T) {
	t.Parallel()
	d := startDisks(t)
	v := newMove(t, harness.Usual(2), d.app(2))
	data, mover := v.fillAll(v.mounted(v.Here(), d.sites[0])), v.Mover()
	v.Drive(mover, harness.Arrival(0)(func() error { return mover.Store.SetMode(v.Ctx, api.ModeRollback) }))
	v.ExpectBack()
	v.same(data, v.mounted(v.Here(), d.sites[0]))
	d.tookTurns(t, 2, "disks-east.node-0", "disks-west.node-0", "disks-east.node-0")
	v.Audit()
}

// TestCopyOverCSI: movers copy the data of ordinals to new disks, which they mount through the driver.
func TestCopyOverCSI(t *testing.T) {
	t.Parallel()
	d := startDisks(t)
	v := newMove(t, harness.Usual(2), d.app(2), d.byCopy)
	data := v.fillAll(v.mounted(v.Here(), d.sites[0]))
	before := v.handles(v.Here())
	v.agrees("--volume", "data=copy,image=mover,service=load-balancer,devices=allow")
	v.Run()
	v.ExpectMoved()
	v.same(data, v.mounted(v.There(), d.sites[1]))
	v.expectLeft(before)
	v.expectNoMovers()
	v.expectSeals()
	if refused, err := d.folder.Refusals(); len(refused) > 0 || err != nil {
		t.Errorf("%d calls were refused (%v): %+v", len(refused), err, refused)
	}
	v.Audit()
}

// play starts players that run the movers in both clusters.
func (d *disks) play(t testing.TB) {
	t.Helper()
	for i, each := range d.clusters {
		p, err := player.Start(context.WithoutCancel(t.Context()), player.Options{
			Config: each.RESTConfig(), Program: harness.Program(t, "mover"), Dir: filepath.Join(filepath.Dir(each.LogFile(cluster.Kwok)), "movers"),
			Volumes: d.sites[i].Kubelet, Enforces: d.enforces.Load,
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Stop)
	}
}

// byCopy moves the disks by method Copy, with players for its pods.
func (d *disks) byCopy(v *harness.Move) {
	d.play(v.T)
	d.asCopy(v)
}

// asCopy moves the disks by method Copy.
func (*disks) asCopy(v *harness.Move) {
	v.Migration.Spec.Volumes = []api.VolumeSpec{{
		ClaimTemplate: "data", Method: api.MethodCopy, Copy: api.CopySpec{Image: "mover", ServiceType: corev1.ServiceTypeLoadBalancer, Devices: true},
	}}
}

// tookTurns checks that each disk was attached to these nodes in sequence, and that no attachment was requested
// while another node had the disk.
func (d *disks) tookTurns(t *testing.T, count int, nodes ...string) {
	t.Helper()
	calls, err := d.folder.Journal()
	if err != nil {
		t.Fatal(err)
	}
	turns := map[string][]string{}
	for _, c := range calls {
		of := turns[c.Volume]
		if c.Method == "ControllerPublishVolume" && c.Code == 0 && (len(of) == 0 || of[len(of)-1] != c.Node) {
			turns[c.Volume] = append(of, c.Node)
		}
	}
	if len(turns) != count {
		t.Errorf("%d disks were attached, want %d", len(turns), count)
	}
	for volume, had := range turns {
		if !slices.Equal(had, nodes) {
			t.Errorf("disk %s was attached to %v, want %v", volume, had, nodes)
		}
	}
	if refused, err := d.folder.Refusals(); len(refused) > 0 || err != nil {
		t.Errorf("%d calls were refused (%v): %+v", len(refused), err, refused)
	}
}
