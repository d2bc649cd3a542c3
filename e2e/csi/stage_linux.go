package csi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	mount "k8s.io/mount-utils"
	"k8s.io/utils/exec"
)

// device is the name, below the staging path, at which a volume for use as a device is staged.
const device = "/device"

// NodeStageVolume implements the node service.
func (d *Driver) NodeStageVolume(_ context.Context, r *spec.NodeStageVolumeRequest) (*spec.NodeStageVolumeResponse, error) {
	switch {
	case r.GetStagingTargetPath() == "":
		return nil, missing("staging_target_path")
	case r.GetVolumeCapability() == nil:
		return nil, missing("volume_capability")
	}
	if err := supported([]*spec.VolumeCapability{r.GetVolumeCapability()}); err != nil {
		return nil, err
	}
	err := d.folder.with(func(s *state) error {
		v, err := s.volume(r.GetVolumeId())
		if err != nil {
			return err
		}
		if err := d.mayStage(v, r); err != nil {
			return err
		}
		v.Node, v.Block, v.Staging = d.options.Node, r.GetVolumeCapability().GetBlock() != nil, r.GetStagingTargetPath()
		if v.Block {
			v.Staging += device
		}
		if err := d.stage(v, r.GetVolumeCapability().GetMount()); err != nil {
			return fmt.Errorf("stage volume %s on node %s: %w", v.ID, v.Node, err)
		}
		s.Volumes[v.ID] = v
		return nil
	})
	return &spec.NodeStageVolumeResponse{}, err
}

// mayStage returns an error unless this node, and no other, has the volume.
func (d *Driver) mayStage(v Volume, r *spec.NodeStageVolumeRequest) error {
	_, published := v.Published[d.options.Node]
	switch {
	case v.Node != "" && v.Node != d.options.Node:
		return status.Errorf(codes.FailedPrecondition, "volume %s is mounted on node %s", v.ID, v.Node)
	case d.options.Attach && !published:
		return status.Errorf(codes.FailedPrecondition, "volume %s is not attached to node %s", v.ID, d.options.Node)
	case d.options.Attach && r.GetPublishContext()[attachment] != attachmentOf(v.ID, d.options.Node):
		return status.Errorf(codes.InvalidArgument, "publish_context %v is not that of the attachment of volume %s", r.GetPublishContext(), v.ID)
	case v.Node != "" && v.Block != (r.GetVolumeCapability().GetBlock() != nil):
		return status.Errorf(codes.AlreadyExists, "volume %s is staged at %s in another way", v.ID, v.Staging)
	default:
		return nil
	}
}

// stage attaches the volume to a loop device, and mounts it unless it is used as a device.
func (d *Driver) stage(v Volume, how *spec.VolumeCapability_MountVolume) error {
	loop, err := d.place.attach(d.folder.image(v.ID))
	if err != nil {
		return err
	}
	if v.Block {
		return d.bind(loop, v.Staging, false)
	}
	if err := os.MkdirAll(d.place.path(v.Staging), 0o750); err != nil {
		return err
	}
	mounted, err := d.mounter.IsMountPoint(v.Staging)
	if err != nil || mounted {
		return err
	}
	system := cmp.Or(how.GetFsType(), d.options.System)
	if system == xfs {
		options := append(slices.Clone(how.GetMountFlags()), "nouuid") // a clone has the UUID of its origin
		if err := d.mounter.FormatAndMount(loop, v.Staging, system, options); err != nil {
			return err
		}
		return d.grow(loop, v.Staging)
	}
	if err := d.growUnmounted(loop, v.Staging); err != nil {
		return err
	}
	return d.mounter.FormatAndMount(loop, v.Staging, system, how.GetMountFlags())
}

// grow grows a file system to the size of its device, which may be larger than that of its origin. The kernel grows a
// mounted ext4 only for processes with CAP_SYS_RESOURCE.
func (d *Driver) grow(loop, at string) error {
	resizer := mount.NewResizeFs(d.mounter.Exec)
	needed, err := resizer.NeedResize(loop, at)
	if err != nil || !needed {
		return err
	}
	_, err = resizer.Resize(loop, at)
	return err
}

// growUnmounted grows an ext4 before it is mounted. resize2fs requires a check of the file system before.
func (d *Driver) growUnmounted(loop, at string) error {
	format, err := d.mounter.GetDiskFormat(loop)
	if err != nil || format != ext4 {
		return err
	}
	needed, err := mount.NewResizeFs(d.mounter.Exec).NeedResize(loop, at)
	if err != nil || !needed {
		return err
	}
	const mended = 1 // the exit code of e2fsck after it corrected errors
	out, err := d.mounter.Exec.Command("e2fsck", "-f", "-p", loop).CombinedOutput()
	if exit := exec.ExitError(nil); err != nil && (!errors.As(err, &exit) || exit.ExitStatus() > mended) {
		return fmt.Errorf("e2fsck %s: %w: %s", loop, err, out)
	}
	return d.grow(loop, at)
}

// bind mounts a device or a folder at a path.
func (d *Driver) bind(from, at string, readOnly bool) error {
	mounted, err := d.mounter.IsMountPoint(at)
	if err != nil && !errors.Is(err, fs.ErrNotExist) || mounted {
		return err
	}
	info, err := os.Stat(d.place.path(from))
	if err != nil {
		return err
	}
	if err := makePoint(d.place.path(at), info.IsDir()); err != nil {
		return err
	}
	options := []string{"bind"}
	if readOnly {
		options = append(options, "ro")
	}
	return d.mounter.Mount(from, at, "", options)
}

// makePoint creates a mount point: a folder, or a file for a device.
func makePoint(at string, folder bool) error {
	if folder {
		return os.MkdirAll(at, 0o750)
	}
	file, err := os.OpenFile(at, os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return file.Close()
}

// NodeUnstageVolume implements the node service.
func (d *Driver) NodeUnstageVolume(_ context.Context, r *spec.NodeUnstageVolumeRequest) (*spec.NodeUnstageVolumeResponse, error) {
	if r.GetStagingTargetPath() == "" {
		return nil, missing("staging_target_path")
	}
	err := d.folder.with(func(s *state) error {
		v, err := s.volume(r.GetVolumeId())
		if err != nil {
			return err
		}
		if v.Node != d.options.Node {
			return nil
		}
		if len(v.Targets) > 0 {
			return status.Errorf(codes.FailedPrecondition, "volume %s is published at %v", v.ID, v.Targets)
		}
		if err := d.release(v); err != nil {
			return fmt.Errorf("unstage volume %s on node %s: %w", v.ID, v.Node, err)
		}
		v.Node, v.Staging, v.Block = "", "", false
		s.Volumes[v.ID] = v
		return nil
	})
	return &spec.NodeUnstageVolumeResponse{}, err
}

// release unmounts a volume and detaches its loop device.
func (d *Driver) release(v Volume) error {
	if err := d.place.unmount(v.Staging, v.Block); err != nil {
		return err
	}
	loop, err := attached(d.folder.image(v.ID))
	if err != nil || loop == "" {
		return err
	}
	return detach(loop)
}

// unmount removes a mount, and on demand the mount point. It is no error if there is no mount.
func unmount(at string, remove bool) error {
	if err := unix.Unmount(at, 0); err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("unmount %s: %w", at, err)
	}
	return removed(at, remove)
}

// removed removes a mount point if remove is true.
func removed(at string, remove bool) error {
	if !remove {
		return nil
	}
	if err := os.Remove(at); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
