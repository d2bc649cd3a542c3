package csi

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"slices"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	mebibyte = 1 << 20
	// defaultBytes is the size of a volume without a requested size.
	defaultBytes = 64 * mebibyte
	// xfsBytes is the minimum of mkfs.xfs.
	xfsBytes = 300 * mebibyte
	// mostBytes is more than any test needs, and less than the limit of the file systems below the folder.
	mostBytes = 1 << 40
	// The file systems.
	ext4, xfs = "ext4", "xfs"
)

// handle returns the same handle for the same name, so that a second call finds the volume of the first.
func handle(kind, name string) string {
	sum := sha256.Sum256([]byte(name))
	return kind + "-" + hex.EncodeToString(sum[:])[:20]
}

// CreateVolume implements the controller service.
func (d *Driver) CreateVolume(ctx context.Context, r *spec.CreateVolumeRequest) (*spec.CreateVolumeResponse, error) {
	if r.GetName() == "" {
		return nil, missing("name")
	}
	if err := supported(r.GetVolumeCapabilities()); err != nil {
		return nil, err
	}
	bytes, err := d.size(r)
	if err != nil {
		return nil, err
	}
	v := Volume{ID: handle("volume", r.GetName()), Name: r.GetName(), Bytes: bytes, Origin: origin(r.GetVolumeContentSource())}
	v.Device = slices.ContainsFunc(r.GetVolumeCapabilities(), func(c *spec.VolumeCapability) bool { return c.GetBlock() != nil })
	err = d.folder.with(func(s *state) error {
		if found, is := s.Volumes[v.ID]; is {
			if err := found.compatible(v, r.GetCapacityRange()); err != nil {
				return err
			}
			v = found
			return nil
		}
		if err := d.fill(ctx, s, &v, r); err != nil {
			return err
		}
		s.Volumes[v.ID] = v
		return nil
	})
	if err != nil {
		return nil, err
	}
	made := v.info()
	made.ContentSource = r.GetVolumeContentSource()
	return &spec.CreateVolumeResponse{Volume: made}, nil
}

// size returns the size of a requested volume.
func (d *Driver) size(r *spec.CreateVolumeRequest) (int64, error) {
	least, most := r.GetCapacityRange().GetRequiredBytes(), r.GetCapacityRange().GetLimitBytes()
	bytes := max(least, mebibyte)
	if least == 0 {
		bytes = defaultBytes
	}
	if slices.ContainsFunc(r.GetVolumeCapabilities(), func(c *spec.VolumeCapability) bool {
		return c.GetMount() != nil && cmp.Or(c.GetMount().GetFsType(), d.options.System) == xfs
	}) {
		bytes = max(bytes, xfsBytes)
	}
	if least < 0 || most < 0 || most > 0 && bytes > most || bytes > mostBytes {
		return 0, status.Errorf(codes.OutOfRange, "%d bytes, of at most %d, are not possible", bytes, most)
	}
	return bytes, nil
}

// origin returns the snapshot or the volume that a volume is created from, or empty.
func origin(from *spec.VolumeContentSource) string {
	if id := from.GetSnapshot().GetSnapshotId(); id != "" {
		return id
	}
	return from.GetVolume().GetVolumeId()
}

// compatible returns an error unless a volume matches a repeated request.
func (v Volume) compatible(asked Volume, within *spec.CapacityRange) error {
	if v.Name != asked.Name || v.Origin != asked.Origin || v.Bytes < within.GetRequiredBytes() || within.GetLimitBytes() > 0 && v.Bytes > within.GetLimitBytes() {
		return status.Errorf(codes.AlreadyExists, "volume %s is another one: %d bytes from %q", v.Name, v.Bytes, v.Origin)
	}
	return nil
}

// fill creates the image of a new volume.
func (d *Driver) fill(ctx context.Context, s *state, v *Volume, r *spec.CreateVolumeRequest) error {
	path, from := d.folder.image(v.ID), r.GetVolumeContentSource()
	var least int64
	var err error
	switch {
	case from == nil:
	case from.GetSnapshot() != nil:
		snapshot, found := s.Snapshots[v.Origin]
		if !found {
			return status.Errorf(codes.NotFound, "there is no snapshot %q", v.Origin)
		}
		least, err = snapshot.Bytes, duplicate(ctx, d.folder.image(snapshot.ID), path)
	default:
		source, found := s.Volumes[v.Origin]
		if !found {
			return status.Errorf(codes.NotFound, "there is no volume %q", v.Origin)
		}
		least, err = source.Bytes, d.folder.duplicate(ctx, s, source, path)
	}
	if err != nil {
		return err
	}
	if r.GetCapacityRange().GetRequiredBytes() == 0 {
		v.Bytes = max(v.Bytes, least)
	}
	if v.Bytes < least {
		return errors.Join(status.Errorf(codes.OutOfRange, "%d bytes are less than the %d of %s", v.Bytes, least, v.Origin), os.Remove(path))
	}
	return blank(path, v.Bytes)
}

func (v Volume) info() *spec.Volume {
	return &spec.Volume{VolumeId: v.ID, CapacityBytes: v.Bytes, VolumeContext: map[string]string{"name": v.Name}}
}

// DeleteVolume implements the controller service.
func (d *Driver) DeleteVolume(_ context.Context, r *spec.DeleteVolumeRequest) (*spec.DeleteVolumeResponse, error) {
	err := d.folder.with(func(s *state) error {
		v, err := s.volume(r.GetVolumeId())
		if status.Code(err) == codes.NotFound {
			return nil
		}
		if err != nil {
			return err
		}
		if v.Node != "" || len(v.Published) > 0 {
			return status.Errorf(codes.FailedPrecondition, "volume %s is in use on %v %s", v.ID, v.Published, v.Node)
		}
		delete(s.Volumes, v.ID)
		return os.Remove(d.folder.image(v.ID))
	})
	return &spec.DeleteVolumeResponse{}, err
}

// ControllerExpandVolume implements the controller service.
func (d *Driver) ControllerExpandVolume(_ context.Context, r *spec.ControllerExpandVolumeRequest) (*spec.ControllerExpandVolumeResponse, error) {
	answer := &spec.ControllerExpandVolumeResponse{NodeExpansionRequired: true}
	err := d.folder.with(func(s *state) error {
		v, err := s.volume(r.GetVolumeId())
		if err != nil {
			return err
		}
		if r.GetCapacityRange() == nil {
			return missing("capacity_range")
		}
		least, most := r.GetCapacityRange().GetRequiredBytes(), r.GetCapacityRange().GetLimitBytes()
		if bytes := max(v.Bytes, least); most > 0 && bytes > most || bytes > mostBytes {
			return status.Errorf(codes.OutOfRange, "%d bytes, of at most %d, are not possible", bytes, most)
		}
		v.Bytes = max(v.Bytes, least)
		answer.CapacityBytes, s.Volumes[v.ID] = v.Bytes, v
		return blank(d.folder.image(v.ID), v.Bytes)
	})
	return answer, err
}

// Tier is the mutable parameter of volumes. A tier without a name is refused as infeasible.
const Tier = "tier"

// ControllerModifyVolume implements the controller service.
func (d *Driver) ControllerModifyVolume(_ context.Context, r *spec.ControllerModifyVolumeRequest) (*spec.ControllerModifyVolumeResponse, error) {
	err := d.folder.with(func(s *state) error {
		v, err := s.volume(r.GetVolumeId())
		if err != nil {
			return err
		}
		if v.Tier = r.GetMutableParameters()[Tier]; v.Tier == "" {
			return missing("the parameter " + Tier)
		}
		s.Volumes[v.ID] = v
		return nil
	})
	return &spec.ControllerModifyVolumeResponse{}, err
}

// ValidateVolumeCapabilities implements the controller service.
func (d *Driver) ValidateVolumeCapabilities(_ context.Context, r *spec.ValidateVolumeCapabilitiesRequest) (*spec.ValidateVolumeCapabilitiesResponse, error) {
	err := d.folder.with(func(s *state) error {
		_, err := s.volume(r.GetVolumeId())
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(r.GetVolumeCapabilities()) == 0 {
		return nil, missing("volume_capabilities")
	}
	if err := supported(r.GetVolumeCapabilities()); err != nil {
		return &spec.ValidateVolumeCapabilitiesResponse{Message: err.Error()}, nil //nolint:nilerr // that is the answer
	}
	return &spec.ValidateVolumeCapabilitiesResponse{Confirmed: &spec.ValidateVolumeCapabilitiesResponse_Confirmed{
		VolumeContext: r.GetVolumeContext(), VolumeCapabilities: r.GetVolumeCapabilities(), Parameters: r.GetParameters(),
	}}, nil
}

// supported returns an error unless volumes can be used as requested: by one node at a time.
func supported(asked []*spec.VolumeCapability) error {
	if len(asked) == 0 {
		return missing("volume_capabilities")
	}
	modes := []spec.VolumeCapability_AccessMode_Mode{
		spec.VolumeCapability_AccessMode_SINGLE_NODE_WRITER, spec.VolumeCapability_AccessMode_SINGLE_NODE_READER_ONLY,
		spec.VolumeCapability_AccessMode_SINGLE_NODE_SINGLE_WRITER, spec.VolumeCapability_AccessMode_SINGLE_NODE_MULTI_WRITER,
	}
	for _, c := range asked {
		switch {
		case c.GetBlock() == nil && c.GetMount() == nil:
			return missing("the access type")
		case c.GetAccessMode() == nil:
			return missing("the access mode")
		case !slices.Contains(modes, c.GetAccessMode().GetMode()):
			return status.Errorf(codes.InvalidArgument, "access mode %s is not possible", c.GetAccessMode().GetMode())
		case !slices.Contains([]string{"", ext4, xfs}, c.GetMount().GetFsType()):
			return status.Errorf(codes.InvalidArgument, "file system %s is not possible", c.GetMount().GetFsType())
		}
	}
	return nil
}

// GetCapacity implements the controller service.
func (d *Driver) GetCapacity(context.Context, *spec.GetCapacityRequest) (*spec.GetCapacityResponse, error) {
	var of unix.Statfs_t
	err := unix.Statfs(d.folder.Dir, &of)
	return &spec.GetCapacityResponse{AvailableCapacity: int64(of.Bavail) * of.Bsize}, err
}
