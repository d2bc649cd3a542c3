package suite

import (
	"context"
	"maps"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/sliceshift/sliceshift/e2e/auditor"
	"github.com/sliceshift/sliceshift/e2e/kind"
	"github.com/sliceshift/sliceshift/e2e/kind/disks"
	"github.com/sliceshift/sliceshift/internal/treetest"
)

// oneDriver is the driver name in both clusters.
const oneDriver = "disks.example.com"

// startDisks runs a CSI driver, on one storage backend, for the kubelets of the sites until the test ends.
func startDisks(t *testing.T, sites ...disks.Site) *disks.Disks {
	t.Helper()
	treetest.NeedRoot(t)
	if pair.Own() {
		t.Skip("the driver mounts in the containers that are the nodes of kind clusters")
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	d, err := disks.Start(ctx, pair.Logs("disks-"+sites[0].Driver), sites...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 2*time.Minute)
		defer cancel()
		if err := d.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	return d
}

// busy returns an application that writes continuously to disks of a class.
func busy(class string) app {
	a := usual()
	a.disks, a.tick = class, "50ms"
	return a
}

// watchDisks starts an auditor that independently compares the content of the disks on which replicas start.
func (v *move) watchDisks(d *disks.Disks) {
	v.t.Helper()
	v.watchWith(auditor.Options{Copied: []string{"data"}, Content: func(ctx context.Context, from, to string) ([]string, error) {
		return d.Compare(ctx, v.t.TempDir(), from, to)
	}})
}

// handles returns the disk handles of the replicas, by pod.
func (v *move) handles(c *kind.Cluster) map[string]string {
	v.t.Helper()
	found := map[string]string{}
	for _, pod := range v.app.pods() {
		claim, err := c.Client.CoreV1().PersistentVolumeClaims(v.app.namespace).Get(v.ctx, "data-"+pod, metav1.GetOptions{})
		v.must(err)
		volume, err := c.Client.CoreV1().PersistentVolumes().Get(v.ctx, claim.Spec.VolumeName, metav1.GetOptions{})
		v.must(err)
		found[pod] = volume.Spec.CSI.VolumeHandle
	}
	return found
}

// expectOthers checks that replicas have other disks than before, and that the previous disks still exist in a
// cluster.
func (v *move) expectOthers(before, now map[string]string, kept *kind.Cluster) {
	v.t.Helper()
	all, err := kept.Client.CoreV1().PersistentVolumes().List(v.ctx, metav1.ListOptions{})
	v.must(err)
	policies := map[string]corev1.PersistentVolumeReclaimPolicy{}
	for i := range all.Items {
		if of := all.Items[i].Spec.CSI; of != nil {
			policies[of.VolumeHandle] = all.Items[i].Spec.PersistentVolumeReclaimPolicy
		}
	}
	for pod, handle := range before {
		if now[pod] == handle {
			v.t.Errorf("%s still is on disk %s", pod, handle)
		}
		if policies[handle] != corev1.PersistentVolumeReclaimRetain {
			v.t.Errorf("disk %s of %s is not kept in cluster %s: its policy is %q", handle, pod, kept.Name, policies[handle])
		}
	}
}

// witness reads journals from outside of the clusters while replicas write.
type witness struct {
	read map[string]string // by pods, up to the end of the last line
	stop func()
}

// witnessed starts a witness.
func (v *move) witnessed() *witness {
	ctx, cancel := context.WithCancel(v.ctx)
	w, ended := &witness{read: map[string]string{}}, make(chan struct{})
	w.stop = func() {
		cancel()
		<-ended
	}
	go func() {
		defer close(ended)
		const seldom = 5 * poll // journals are read whole
		_ = wait.PollUntilContextCancel(ctx, seldom, true, func(context.Context) (bool, error) {
			for _, pod := range v.app.pods() {
				for _, c := range pair.Both() {
					page, err := v.ask(c, pod, "journal")
					if whole := page[:strings.LastIndex(page, "\n")+1]; err == nil && len(whole) > len(w.read[pod]) {
						w.read[pod] = whole
					}
				}
			}
			return false, nil
		})
	}()
	v.t.Cleanup(w.stop)
	return w
}

// expectKnown stops a witness, and checks that replicas in a cluster still have everything that it has read.
func (v *move) expectKnown(w *witness, c *kind.Cluster) {
	v.t.Helper()
	w.stop()
	if len(w.read) != len(v.app.pods()) {
		v.t.Errorf("the witness has read of %d replicas only", len(w.read))
	}
	for pod, read := range maps.All(w.read) {
		page, err := v.ask(c, pod, "journal")
		if err != nil || !strings.HasPrefix(page, read) {
			v.t.Errorf("the journal of %s in cluster %s does not begin with the %d bytes that somebody has read (%v)", pod, c.Name, len(read), err)
		}
		v.t.Logf("%s: %d lines were read by somebody", pod, strings.Count(read, "\n"))
	}
}
