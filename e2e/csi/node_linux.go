package csi

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"slices"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
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
