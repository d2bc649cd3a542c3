package csi

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	mount "k8s.io/mount-utils"
	"k8s.io/utils/exec"
)

// NodePublishVolume implements the node service.
func (d *Driver) NodePublishVolume(_ context.Context, r *spec.NodePublishVolumeRequest) (*spec.NodePublishVolumeResponse, error) {
	switch {
	case r.GetVolumeId() == "":
		return nil, missing("volume_id")
	case r.GetTargetPath() == "":
		return nil, missing("target_path")
	case r.GetVolumeCapability() == nil:
		return nil, missing("volume_capability")
	}
	err := d.folder.with(func(s *state) error {
		v, err := s.volume(r.GetVolumeId())
		if err != nil {
			return err
		}
		if err := d.mayPublish(v, r); err != nil {
			return err
		}
		if err := d.bind(v.Staging, r.GetTargetPath(), d.readOnly(v, r)); err != nil {
			return fmt.Errorf("publish volume %s on node %s: %w", v.ID, v.Node, err)
		}
		if !slices.Contains(v.Targets, r.GetTargetPath()) {
			v.Targets = append(v.Targets, r.GetTargetPath())
		}
		s.Volumes[v.ID] = v
		return nil
	})
	return &spec.NodePublishVolumeResponse{}, err
}

func (d *Driver) readOnly(v Volume, r *spec.NodePublishVolumeRequest) bool {
	return r.GetReadonly() || v.Published[d.options.Node] ||
		r.GetVolumeCapability().GetAccessMode().GetMode() == spec.VolumeCapability_AccessMode_SINGLE_NODE_READER_ONLY
}

// mayPublish returns an error unless the volume is staged here and no other pod uses it exclusively.
func (d *Driver) mayPublish(v Volume, r *spec.NodePublishVolumeRequest) error {
	others := slices.DeleteFunc(slices.Clone(v.Targets), func(target string) bool { return target == r.GetTargetPath() })
	alone := d.options.OnePod || r.GetVolumeCapability().GetAccessMode().GetMode() == spec.VolumeCapability_AccessMode_SINGLE_NODE_SINGLE_WRITER
	switch {
	case v.Node != d.options.Node || r.GetStagingTargetPath() == "":
		return status.Errorf(codes.FailedPrecondition, "volume %s is not staged on node %s", v.ID, d.options.Node)
	case v.Block != (r.GetVolumeCapability().GetBlock() != nil):
		return status.Errorf(codes.InvalidArgument, "volume %s is staged at %s in another way", v.ID, v.Staging)
	case alone && len(others) > 0:
		return status.Errorf(codes.FailedPrecondition, "volume %s is published to another pod, at %v", v.ID, others)
	default:
		return nil
	}
}

// NodeUnpublishVolume implements the node service.
func (d *Driver) NodeUnpublishVolume(_ context.Context, r *spec.NodeUnpublishVolumeRequest) (*spec.NodeUnpublishVolumeResponse, error) {
	if r.GetTargetPath() == "" {
		return nil, missing("target_path")
	}
	err := d.folder.with(func(s *state) error {
		v, err := s.volume(r.GetVolumeId())
		if err != nil {
			return err
		}
		if err := d.place.unmount(r.GetTargetPath(), true); err != nil {
			return err
		}
		v.Targets = slices.DeleteFunc(v.Targets, func(target string) bool { return target == r.GetTargetPath() })
		s.Volumes[v.ID] = v
		return nil
	})
	return &spec.NodeUnpublishVolumeResponse{}, err
}

// NodeExpandVolume implements the node service.
func (d *Driver) NodeExpandVolume(_ context.Context, r *spec.NodeExpandVolumeRequest) (*spec.NodeExpandVolumeResponse, error) {
	answer := &spec.NodeExpandVolumeResponse{}
	err := d.folder.with(func(s *state) error {
		v, err := d.at(s, r.GetVolumeId(), r.GetVolumePath())
		if err != nil {
			return err
		}
		answer.CapacityBytes = v.Bytes
		loop, err := d.place.attach(d.folder.image(v.ID))
		if err != nil {
			return err
		}
		if err := resized(loop); err != nil || v.Block {
			return err
		}
		return d.grow(loop, v.Staging)
	})
	return answer, err
}

// at returns the volume that is mounted at a path of this node.
func (d *Driver) at(s *state, id, path string) (Volume, error) {
	if path == "" {
		return Volume{}, missing("volume_path")
	}
	v, err := s.volume(id)
	if err != nil {
		return v, err
	}
	if v.Node != d.options.Node || path != v.Staging && path+device != v.Staging && !slices.Contains(v.Targets, path) {
		return v, status.Errorf(codes.NotFound, "volume %s is not mounted at %s of node %s", id, path, d.options.Node)
	}
	return v, nil
}

// NodeGetVolumeStats implements the node service.
func (d *Driver) NodeGetVolumeStats(_ context.Context, r *spec.NodeGetVolumeStatsRequest) (*spec.NodeGetVolumeStatsResponse, error) {
	answer := &spec.NodeGetVolumeStatsResponse{}
	err := d.folder.with(func(s *state) error {
		v, err := d.at(s, r.GetVolumeId(), r.GetVolumePath())
		if err != nil {
			return err
		}
		if v.Block {
			answer.Usage = []*spec.VolumeUsage{{Unit: spec.VolumeUsage_BYTES, Total: v.Bytes}}
			return nil
		}
		answer.Usage, err = usage(d.place.path(r.GetVolumePath()))
		return err
	})
	return answer, err
}

// usage returns the usage of a file system.
func usage(path string) ([]*spec.VolumeUsage, error) {
	var of unix.Statfs_t
	if err := unix.Statfs(path, &of); err != nil {
		return nil, &fs.PathError{Op: "statfs", Path: path, Err: os.NewSyscallError("statfs", err)}
	}
	return []*spec.VolumeUsage{
		{
			Unit: spec.VolumeUsage_BYTES, Total: int64(of.Blocks) * of.Bsize,
			Available: int64(of.Bavail) * of.Bsize, Used: int64(of.Blocks-of.Bfree) * of.Bsize,
		},
		{Unit: spec.VolumeUsage_INODES, Total: int64(of.Files), Available: int64(of.Ffree), Used: int64(of.Files - of.Ffree)},
	}, nil
}

// place is where a node mounts volumes: the container of the process with this id, or this machine if it is 0.
type place int

// path returns the path by which this process reaches a path of the place.
func (p place) path(at string) string {
	if p == 0 {
		return at
	}
	return filepath.Join("/proc", strconv.Itoa(int(p)), "root") + at
}

// mounter returns a mounter that mounts, and runs the needed programs, in the place.
func (p place) mounter() *mount.SafeFormatAndMount {
	here := mount.New("")
	if p == 0 {
		return mount.NewSafeFormatAndMount(here, exec.New())
	}
	within := commands{Interface: exec.New(), place: p}
	return mount.NewSafeFormatAndMount(mounts{Interface: here, commands: within}, within)
}

// unmount removes a mount, and on demand the mount point. It is no error if there is no mount.
func (p place) unmount(at string, remove bool) error {
	if p == 0 {
		return unmount(at, remove)
	}
	m := p.mounter()
	switch mounted, err := m.IsMountPoint(at); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case mounted:
		if out, err := m.Exec.Command("umount", at).CombinedOutput(); err != nil {
			return fmt.Errorf("unmount %s: %w: %s", at, err, out)
		}
	}
	return removed(p.path(at), remove)
}

// attach creates a loop device for an image, or finds the existing one, and makes it visible in the place.
func (p place) attach(image string) (device string, err error) {
	device, err = attach(image)
	if p == 0 || err != nil {
		return device, err
	}
	var of unix.Stat_t
	if err := unix.Stat(device, &of); err != nil {
		return "", fmt.Errorf("stat %s: %w", device, err)
	}
	if err := unix.Mknod(p.path(device), unix.S_IFBLK|0o660, int(of.Rdev)); err != nil && !errors.Is(err, unix.EEXIST) {
		return "", fmt.Errorf("make %s: %w", p.path(device), err)
	}
	return device, nil
}

// commands runs the programs of a container in the container.
type commands struct {
	exec.Interface
	place place
}

// Command implements exec.Interface.
func (c commands) Command(name string, args ...string) exec.Cmd {
	return c.CommandContext(context.Background(), name, args...)
}

// CommandContext implements exec.Interface.
func (c commands) CommandContext(ctx context.Context, name string, args ...string) exec.Cmd {
	enter := []string{"--target", strconv.Itoa(int(c.place)), "--mount", "--pid", "--", name}
	return c.Interface.CommandContext(ctx, "nsenter", append(enter, args...)...)
}

// mounts performs mounts in a container.
type mounts struct {
	mount.Interface
	commands commands
}

// Mount implements mount.Interface.
func (m mounts) Mount(source, target, system string, options []string) error {
	return m.MountSensitive(source, target, system, options, nil)
}

// MountSensitive implements mount.Interface; nothing that a test mounts is sensitive.
func (m mounts) MountSensitive(source, target, system string, options, _ []string) error {
	out, err := m.commands.Command("mount", mount.MakeMountArgs(source, target, system, options)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("mount %s at %s: %w: %s", source, target, err, out)
	}
	return nil
}

// IsMountPoint implements mount.Interface. The implementation of mount-utils resolves the path into the container to a
// path of this machine. The kernel itself reports whether a path is a mount point.
func (m mounts) IsMountPoint(at string) (bool, error) {
	not, err := m.IsLikelyNotMountPoint(m.commands.place.path(at))
	return err == nil && !not, err
}
