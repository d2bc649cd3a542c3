package csi_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	spec "github.com/container-storage-interface/spec/lib/go/csi"

	"github.com/sliceshift/sliceshift/e2e/child"
	"github.com/sliceshift/sliceshift/e2e/csi"
)

// container starts a process with its own mounts.
func container(t *testing.T) (process int) {
	t.Helper()
	cmd := exec.Command("sleep", "infinity")
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Cloneflags: syscall.CLONE_NEWPID}
	if err := child.Start(cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd.Process.Pid
}

// TestContainer: where a node is a container, volumes are mounted only there. Snapshots and copies of Look have the
// writes to a volume in use, and volumes move from one container to another.
func TestContainer(t *testing.T) {
	f := folder(t)
	process := container(t)
	east := serve(t, f, csi.Options{Node: "east", Attach: true, Process: process})
	west := serve(t, f, csi.Options{Node: "west", Attach: true, Process: container(t)})
	volume := east.create("a", 32<<20, "ext4", nil)
	at := east.mount(volume, "ext4")
	write(t, filepath.Join(fmt.Sprintf("/proc/%d/root", process), at, "file"), "of the east")
	if _, err := os.Stat(filepath.Join(at, "file")); !os.IsNotExist(err) {
		t.Errorf("it is mounted on this machine: %v", err)
	}
	stats, err := east.NodeGetVolumeStats(east.ctx, &spec.NodeGetVolumeStatsRequest{VolumeId: volume, VolumePath: at})
	east.must(err)
	if total := stats.GetUsage()[0].GetTotal(); total > 32<<20 {
		t.Errorf("it is said to have %d bytes: those are of another file system", total)
	}
	look, done, err := f.Look(t.Context(), volume)
	east.must(err)
	expect(t, filepath.Join(look, "file"), "of the east")
	east.must(done())
	snapshot, err := east.CreateSnapshot(east.ctx, &spec.CreateSnapshotRequest{Name: "s", SourceVolumeId: volume})
	east.must(err)
	east.unmount(volume, at)
	if loops := csi.Loops(f.Dir); len(loops) > 0 {
		t.Errorf("loop devices are left: %q", loops)
	}
	restored := west.create("b", 32<<20, "ext4", &spec.VolumeContentSource{Type: &spec.VolumeContentSource_Snapshot{
		Snapshot: &spec.VolumeContentSource_SnapshotSource{SnapshotId: snapshot.GetSnapshot().GetSnapshotId()},
	}})
	for _, each := range []string{volume, restored} {
		at := west.mount(each, "ext4")
		look, done, err := f.Look(t.Context(), each)
		west.must(err)
		expect(t, filepath.Join(look, "file"), "of the east")
		west.must(done())
		west.unmount(each, at)
	}
}
