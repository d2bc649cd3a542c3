package csi_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/sliceshift/sliceshift/e2e/csi"
	"github.com/sliceshift/sliceshift/internal/treetest"
)

// folder returns a storage backend for one test.
func folder(t *testing.T) *csi.Folder {
	t.Helper()
	treetest.NeedRoot(t)
	f, err := csi.Make()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// node is a node of one of the clusters, with clients of its driver.
type node struct {
	testing.TB
	spec.ControllerClient
	spec.NodeClient
	driver *csi.Driver
	ctx    context.Context //nolint:containedctx // a test has one context
	id     string
	path   string
}

func serve(t *testing.T, f *csi.Folder, o csi.Options) *node {
	t.Helper()
	o.Name, o.Socket = "disks.example.com", filepath.Join(f.Dir, o.Node+".sock")
	d, err := f.Serve(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Stop)
	connection, err := grpc.NewClient(d.Endpoint(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	n := &node{
		TB: t, driver: d, ControllerClient: spec.NewControllerClient(connection), NodeClient: spec.NewNodeClient(connection),
		ctx: ctx, id: o.Node, path: filepath.Join(f.Dir, o.Node),
	}
	if err := os.Mkdir(n.path, 0o750); err != nil {
		t.Fatal(err)
	}
	return n
}

func (n *node) must(err error) {
	n.Helper()
	if err != nil {
		n.Fatal(err)
	}
}

func (n *node) code(err error, want codes.Code) {
	n.Helper()
	if status.Code(err) != want {
		n.Errorf("it ended with %v, want %s", err, want)
	}
}

// use returns how a volume is used: with a file system, or as a device if system is "".
func use(system string) *spec.VolumeCapability {
	how := &spec.VolumeCapability{
		AccessMode: &spec.VolumeCapability_AccessMode{Mode: spec.VolumeCapability_AccessMode_SINGLE_NODE_WRITER},
		AccessType: &spec.VolumeCapability_Block{Block: &spec.VolumeCapability_BlockVolume{}},
	}
	if system != "" {
		how.AccessType = &spec.VolumeCapability_Mount{Mount: &spec.VolumeCapability_MountVolume{FsType: system}}
	}
	return how
}

func (n *node) create(name string, bytes int64, system string, from *spec.VolumeContentSource) string {
	n.Helper()
	answer, err := n.CreateVolume(n.ctx, &spec.CreateVolumeRequest{
		Name: name, CapacityRange: &spec.CapacityRange{RequiredBytes: bytes}, VolumeCapabilities: []*spec.VolumeCapability{use(system)}, VolumeContentSource: from,
	})
	n.must(err)
	return answer.GetVolume().GetVolumeId()
}

func (n *node) publish(volume string) (map[string]string, error) {
	answer, err := n.ControllerPublishVolume(n.ctx, &spec.ControllerPublishVolumeRequest{VolumeId: volume, NodeId: n.id, VolumeCapability: use("ext4")})
	return answer.GetPublishContext(), err
}

func (n *node) unpublish(volume string) error {
	_, err := n.ControllerUnpublishVolume(n.ctx, &spec.ControllerUnpublishVolumeRequest{VolumeId: volume, NodeId: n.id})
	return err
}

func (n *node) staging(volume string) string { return filepath.Join(n.path, "staging-"+volume) }

func (n *node) stage(volume, system string, attachment map[string]string) error {
	n.must(os.MkdirAll(n.staging(volume), 0o750))
	_, err := n.NodeStageVolume(n.ctx, &spec.NodeStageVolumeRequest{
		VolumeId: volume, StagingTargetPath: n.staging(volume), VolumeCapability: use(system), PublishContext: attachment,
	})
	return err
}

func (n *node) unstage(volume string) error {
	_, err := n.NodeUnstageVolume(n.ctx, &spec.NodeUnstageVolumeRequest{VolumeId: volume, StagingTargetPath: n.staging(volume)})
	return err
}

// target publishes a volume for a pod.
func (n *node) target(volume, system, pod string) (string, error) {
	path := filepath.Join(n.path, pod+"-"+volume)
	_, err := n.NodePublishVolume(n.ctx, &spec.NodePublishVolumeRequest{
		VolumeId: volume, StagingTargetPath: n.staging(volume), TargetPath: path, VolumeCapability: use(system),
	})
	return path, err
}

func (n *node) untarget(volume, path string) error {
	_, err := n.NodeUnpublishVolume(n.ctx, &spec.NodeUnpublishVolumeRequest{VolumeId: volume, TargetPath: path})
	return err
}

// mount creates, attaches and mounts a volume, and returns the path.
func (n *node) mount(volume, system string) string {
	n.Helper()
	attachment, err := n.publish(volume)
	n.must(err)
	n.must(n.stage(volume, system, attachment))
	path, err := n.target(volume, system, "pod")
	n.must(err)
	return path
}

func (n *node) unmount(volume, path string) {
	n.Helper()
	n.must(n.untarget(volume, path))
	n.must(n.unstage(volume))
	n.must(n.unpublish(volume))
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func expect(t *testing.T, path, want string) {
	t.Helper()
	if have, err := os.ReadFile(path); string(have) != want || err != nil {
		t.Errorf("%s has %q (%v), want %q", path, have, err, want)
	}
}

// TestTwoNodes: a node of a second cluster reads the data that the first cluster wrote, but only after the first has
// released the volume.
func TestTwoNodes(t *testing.T) {
	for _, system := range []string{"ext4", "xfs"} {
		t.Run(system, func(t *testing.T) {
			f := folder(t)
			east, west := serve(t, f, csi.Options{Node: "east", Attach: true}), serve(t, f, csi.Options{Node: "west", Attach: true})
			volume := east.create("a", 32<<20, system, nil)
			at := east.mount(volume, system)
			write(t, filepath.Join(at, "file"), "of the east")
			_, err := west.publish(volume)
			west.code(err, codes.FailedPrecondition)
			east.code(east.unpublish(volume), codes.FailedPrecondition)
			west.code(west.stage(volume, system, nil), codes.FailedPrecondition)
			if refused, err := f.Refusals(); len(refused) != 3 || err != nil {
				t.Errorf("%d calls were refused (%v), want 3: %+v", len(refused), err, refused)
			}
			east.unmount(volume, at)
			at = west.mount(volume, system)
			expect(t, filepath.Join(at, "file"), "of the east")
			west.unmount(volume, at)
		})
	}
}

// TestWithoutAttachment: where volumes are not attached, a node that has a volume mounted excludes other nodes.
func TestWithoutAttachment(t *testing.T) {
	f := folder(t)
	east, west := serve(t, f, csi.Options{Node: "east"}), serve(t, f, csi.Options{Node: "west"})
	volume := east.create("a", 32<<20, "ext4", nil)
	east.must(east.stage(volume, "ext4", nil))
	west.code(west.stage(volume, "ext4", nil), codes.FailedPrecondition)
	east.must(east.unstage(volume))
	west.must(west.stage(volume, "ext4", nil))
	west.must(west.unstage(volume))
}

// TestSecondPod: a second pod of the node may use the volume, unless the driver is configured to refuse it.
func TestSecondPod(t *testing.T) {
	for name, tc := range map[string]struct {
		alone bool
		want  codes.Code
	}{"shared": {false, codes.OK}, "refused": {true, codes.FailedPrecondition}} {
		t.Run(name, func(t *testing.T) {
			n := serve(t, folder(t), csi.Options{Node: "east", OnePod: tc.alone})
			volume := n.create("a", 32<<20, "ext4", nil)
			n.must(n.stage(volume, "ext4", nil))
			for range 2 { // the second call is a repetition for the same pod
				_, err := n.target(volume, "ext4", "first")
				n.must(err)
			}
			_, err := n.target(volume, "ext4", "second")
			n.code(err, tc.want)
		})
	}
}

// TestCopies: a clone and a restored snapshot have the volume's content of that moment, even if the volume is written
// meanwhile. They may be larger than the volume.
func TestCopies(t *testing.T) {
	for _, system := range []string{"ext4", "xfs"} {
		t.Run(system, func(t *testing.T) {
			n := serve(t, folder(t), csi.Options{Node: "east", Attach: true})
			const bytes = 320 << 20
			source := n.create("a", bytes, system, nil)
			at := n.mount(source, system)
			write(t, filepath.Join(at, "file"), "then")
			snapshot, err := n.CreateSnapshot(n.ctx, &spec.CreateSnapshotRequest{Name: "s", SourceVolumeId: source})
			n.must(err)
			write(t, filepath.Join(at, "file"), "later")
			for name, tc := range map[string]struct {
				from *spec.VolumeContentSource
				want string
			}{
				"clone": {&spec.VolumeContentSource{Type: &spec.VolumeContentSource_Volume{
					Volume: &spec.VolumeContentSource_VolumeSource{VolumeId: source},
				}}, "later"},
				"restored": {&spec.VolumeContentSource{Type: &spec.VolumeContentSource_Snapshot{
					Snapshot: &spec.VolumeContentSource_SnapshotSource{SnapshotId: snapshot.GetSnapshot().GetSnapshotId()},
				}}, "then"},
			} {
				copied := n.create(name, 2*bytes, system, tc.from)
				other := n.mount(copied, system)
				expect(t, filepath.Join(other, "file"), tc.want)
				if size := n.total(copied, other); size < bytes*3/2 {
					t.Errorf("%s: its file system has %d bytes", name, size)
				}
				n.unmount(copied, other)
			}
		})
	}
}

// total returns the size of a file system.
func (n *node) total(volume, path string) int64 {
	n.Helper()
	answer, err := n.NodeGetVolumeStats(n.ctx, &spec.NodeGetVolumeStatsRequest{VolumeId: volume, VolumePath: path})
	n.must(err)
	return answer.GetUsage()[0].GetTotal()
}

// TestGrowth: a volume grows while it is in use; an ext4 grows when it is mounted again.
func TestGrowth(t *testing.T) {
	for _, system := range []string{"ext4", "xfs", ""} {
		t.Run("as "+system, func(t *testing.T) {
			n := serve(t, folder(t), csi.Options{Node: "east", Attach: true})
			const bytes = 320 << 20
			volume := n.create("a", bytes, system, nil)
			at := n.mount(volume, system)
			_, err := n.ControllerExpandVolume(n.ctx, &spec.ControllerExpandVolumeRequest{VolumeId: volume, CapacityRange: &spec.CapacityRange{RequiredBytes: 2 * bytes}})
			n.must(err)
			before := deviceSize(t, system, at)
			if system == "ext4" {
				n.unmount(volume, at)
				at = n.mount(volume, system)
			}
			_, err = n.NodeExpandVolume(n.ctx, &spec.NodeExpandVolumeRequest{VolumeId: volume, VolumePath: at})
			n.must(err)
			if system == "" && (before != bytes || deviceSize(t, system, at) != 2*bytes) {
				t.Errorf("the device has %d bytes, and had %d", deviceSize(t, system, at), before)
			}
			if size := n.total(volume, at); size < bytes*3/2 {
				t.Errorf("it has %d bytes", size)
			}
			n.unmount(volume, at)
		})
	}
}

func deviceSize(t *testing.T, system, path string) int64 {
	t.Helper()
	if system != "" {
		return 0
	}
	device, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer device.Close()
	size, err := device.Seek(0, 2)
	if err != nil {
		t.Fatal(err)
	}
	return size
}

// TestFull: a disk has exactly the reported size.
func TestFull(t *testing.T) {
	n := serve(t, folder(t), csi.Options{Node: "east", Attach: true})
	volume := n.create("a", 16<<20, "ext4", nil)
	at := n.mount(volume, "ext4")
	if err := os.WriteFile(filepath.Join(at, "file"), make([]byte, 20<<20), 0o600); err == nil {
		t.Error("20 MiB fit on 16 MiB")
	}
	if _, err := os.Stat(filepath.Join(at, "lost+found")); err != nil {
		t.Error(err)
	}
	n.unmount(volume, at)
}

// TestFaults: the requested number of calls fails, gets no answer, waits or is late.
func TestFaults(t *testing.T) {
	f := folder(t)
	n := serve(t, f, csi.Options{Node: "east"})
	n.driver.Fail("CreateVolume", 1, codes.ResourceExhausted)
	n.driver.Lose("CreateVolume", 1)
	request := &spec.CreateVolumeRequest{Name: "a", VolumeCapabilities: []*spec.VolumeCapability{use("ext4")}}
	for i, want := range []struct {
		code codes.Code
		made int
	}{{codes.ResourceExhausted, 0}, {codes.Unavailable, 1}, {codes.OK, 1}} {
		_, err := n.CreateVolume(n.ctx, request)
		n.code(err, want.code)
		if volumes, err := f.Volumes(); len(volumes) != want.made || err != nil {
			t.Errorf("call %d: there are %d volumes (%v), want %d", i, len(volumes), err, want.made)
		}
	}
	// Each caller gives up. A held call is then not executed; a late call is.
	for i, wait := range []func(string, int) func(){n.driver.Hold, n.driver.Late} {
		release := wait("CreateVolume", 1)
		ctx, cancel := context.WithTimeout(n.ctx, 100*time.Millisecond)
		_, err := n.CreateVolume(ctx, &spec.CreateVolumeRequest{Name: "b", VolumeCapabilities: request.GetVolumeCapabilities()})
		cancel()
		n.code(err, codes.DeadlineExceeded)
		if volumes, err := f.Volumes(); len(volumes) != 1+i || err != nil {
			t.Errorf("there are %d volumes (%v), want %d", len(volumes), err, 1+i)
		}
		release()
	}
}

// TestDelay: a slow method is executed after its delay, and not at all for a caller that gives up before.
func TestDelay(t *testing.T) {
	f := folder(t)
	n := serve(t, f, csi.Options{Node: "east"})
	const span = 300 * time.Millisecond
	n.driver.Delay("CreateVolume", span)
	begin := time.Now()
	n.create("a", 1<<20, "ext4", nil)
	if took := time.Since(begin); took < span {
		t.Errorf("it took %s", took)
	}
	ctx, cancel := context.WithTimeout(n.ctx, span/3)
	defer cancel()
	_, err := n.CreateVolume(ctx, &spec.CreateVolumeRequest{Name: "b", VolumeCapabilities: []*spec.VolumeCapability{use("ext4")}})
	n.code(err, codes.DeadlineExceeded)
	n.driver.Delay("CreateVolume", 0)
	if volumes, err := f.Volumes(); len(volumes) != 1 || err != nil {
		t.Errorf("there are %d volumes (%v), want 1", len(volumes), err)
	}
	n.create("c", 1<<20, "ext4", nil)
}

// TestRemains: the folder of a killed process is removed with all its mounts and loop devices.
func TestRemains(t *testing.T) {
	treetest.NeedRoot(t)
	f, err := csi.Make()
	if err != nil {
		t.Fatal(err)
	}
	n := serve(t, f, csi.Options{Node: "east", Attach: true})
	device, mounted := n.create("device", 32<<20, "", nil), n.create("mounted", 32<<20, "ext4", nil)
	n.mount(device, "")
	n.mount(mounted, "ext4")
	n.driver.Stop()
	f.Abandon()
	other, err := csi.Make()
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := os.Stat(f.Dir); !os.IsNotExist(err) {
		t.Errorf("the folder is still there: %v", err)
	}
	if left := csi.Loops(f.Dir); len(left) > 0 {
		t.Errorf("loop devices are left: %v", left)
	}
}
