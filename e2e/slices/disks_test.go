package slices

import (
	"context"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	sliceapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/cluster"
	"github.com/sliceshift/sliceshift/e2e/csi"
	"github.com/sliceshift/sliceshift/e2e/csi/kubelet"
	"github.com/sliceshift/sliceshift/e2e/csi/sidecar"
	"github.com/sliceshift/sliceshift/e2e/csi/site"
	"github.com/sliceshift/sliceshift/internal/treetest"
)

// disksOf installs a separate driver for a set. Its volumes are loop devices with xfs, which the resizer of the
// Kubernetes project expands.
func disksOf(t *testing.T, name string) *site.Site {
	t.Helper()
	treetest.NeedRoot(t)
	folder, err := csi.Make()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := folder.Close(); err != nil {
			t.Error(err)
		}
	})
	s, err := site.Start(context.WithoutCancel(t.Context()), site.Options{
		Cluster: embedded, Folder: folder, Driver: csi.Options{Name: name, System: "xfs"},
		Sidecars: []sidecar.Name{sidecar.Provisioner, sidecar.Resizer}, Logs: filepath.Join(filepath.Dir(embedded.LogFile(cluster.Kwok)), name),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

// onDisks returns a complete set whose claims are real disks.
func onDisks(t *testing.T, set *sliceapi.StatefulSet) *play {
	t.Helper()
	p := newPlay(t, withClaim(set))
	driver := set.Namespace + ".example.com"
	p.disks = disksOf(t, driver)
	set.Spec.Template.Annotations = kubelet.Annotations(driver)
	return p.growingOf(driver, sliceapi.OnPodRollingUpdate)
}

// stall keeps disks from growing until free is called.
func (p *play) stall() (free func()) {
	if p.disks == nil {
		return func() {}
	}
	const often = 100
	return p.disks.Driver.Hold("ControllerExpandVolume", often)
}

// expectDisks checks that each replica has a mounted file system of at least that size.
func (p *play) expectDisks(least uint64) {
	p.t.Helper()
	for ordinal := range *p.set.Spec.Replicas {
		at := p.disks.Kubelet.Path(p.pod(ordinal).UID, p.claim(ordinal).Spec.VolumeName)
		var of unix.Statfs_t
		p.must(unix.Statfs(at, &of))
		if have := of.Blocks * uint64(of.Bsize); have < least {
			p.t.Errorf("the file system of ordinal %d has %d bytes, want %d", ordinal, have, least)
		}
	}
}

// TestGrowthOfDisks: the disks of a set grow while in use, by the provisioner and the resizer of the Kubernetes
// project, and their file systems grow too.
func TestGrowthOfDisks(t *testing.T) {
	const grown = 11 << 28 // of 3 GiB, without the space that xfs uses itself
	for name, set := range map[string]*sliceapi.StatefulSet{"anew": slice(3), "in place": inPlace(3, sliceapi.InPlaceIfPossible)} {
		t.Run("R-090 R-093 "+name, func(t *testing.T) {
			p := onDisks(t, set)
			p.growsInTurn()
			p.expectDisks(grown)
		})
	}
	t.Run("R-094 R-095", func(t *testing.T) {
		set := slice(3)
		set.Spec.UpdateStrategy = rolling(func(r *sliceapi.RollingUpdateStrategy) { r.Partition = new(int32(2)) })
		p := onDisks(t, set)
		p.growsAtPartition()
		p.expectDisks(grown)
	})
}
