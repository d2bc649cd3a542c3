package csi

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"time"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// info converts a snapshot to the specification's type.
func (f *Folder) info(s Snapshot) *spec.Snapshot {
	f.mu.Lock()
	defer f.mu.Unlock()
	ready := f.unready == 0
	if !ready {
		f.unready--
	}
	return &spec.Snapshot{
		SnapshotId: s.ID, SourceVolumeId: s.Volume, SizeBytes: s.Bytes, CreationTime: timestamppb.New(s.Created),
		ReadyToUse: ready, GroupSnapshotId: s.Group,
	}
}

// CreateSnapshot implements the controller service.
func (d *Driver) CreateSnapshot(ctx context.Context, r *spec.CreateSnapshotRequest) (*spec.CreateSnapshotResponse, error) {
	switch {
	case r.GetName() == "":
		return nil, missing("name")
	case r.GetSourceVolumeId() == "":
		return nil, missing("source_volume_id")
	}
	snapshot := Snapshot{ID: handle("snapshot", r.GetName()), Name: r.GetName(), Volume: r.GetSourceVolumeId()}
	err := d.folder.with(func(s *state) (err error) {
		snapshot, err = d.snap(ctx, s, snapshot)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &spec.CreateSnapshotResponse{Snapshot: d.folder.info(snapshot)}, nil
}

// snap creates a snapshot, or finds that of an earlier call.
func (d *Driver) snap(ctx context.Context, s *state, asked Snapshot) (Snapshot, error) {
	if found, is := s.Snapshots[asked.ID]; is {
		if found.Volume != asked.Volume {
			return found, status.Errorf(codes.AlreadyExists, "snapshot %s is one of volume %s", found.Name, found.Volume)
		}
		return found, nil
	}
	v, err := s.volume(asked.Volume)
	if err != nil {
		return asked, err
	}
	asked.Bytes, asked.Created = v.Bytes, time.Now()
	s.Snapshots[asked.ID] = asked
	return asked, d.folder.duplicate(ctx, s, v, d.folder.image(asked.ID))
}

// DeleteSnapshot implements the controller service.
func (d *Driver) DeleteSnapshot(_ context.Context, r *spec.DeleteSnapshotRequest) (*spec.DeleteSnapshotResponse, error) {
	if r.GetSnapshotId() == "" {
		return nil, missing("snapshot_id")
	}
	return &spec.DeleteSnapshotResponse{}, d.folder.with(func(s *state) error { return d.dropSnapshot(s, r.GetSnapshotId()) })
}

func (d *Driver) dropSnapshot(s *state, id string) error {
	if _, found := s.Snapshots[id]; !found {
		return nil
	}
	delete(s.Snapshots, id)
	if err := os.Remove(d.folder.image(id)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// CreateVolumeGroupSnapshot implements the group controller service.
func (d *Driver) CreateVolumeGroupSnapshot(ctx context.Context, r *spec.CreateVolumeGroupSnapshotRequest) (*spec.CreateVolumeGroupSnapshotResponse, error) {
	switch {
	case r.GetName() == "":
		return nil, missing("name")
	case len(r.GetSourceVolumeIds()) == 0:
		return nil, missing("source_volume_ids")
	}
	group := handle("group", r.GetName())
	var made []Snapshot
	err := d.folder.with(func(s *state) error {
		if found := s.group(group); len(found) > 0 && !slices.Equal(volumesOf(found), slices.Sorted(slices.Values(r.GetSourceVolumeIds()))) {
			return status.Errorf(codes.AlreadyExists, "group snapshot %s is one of volumes %v", r.GetName(), volumesOf(found))
		}
		for _, id := range r.GetSourceVolumeIds() {
			name := r.GetName() + " " + id
			each, err := d.snap(ctx, s, Snapshot{ID: handle("snapshot", name), Name: name, Volume: id, Group: group})
			if err != nil {
				return err
			}
			made = append(made, each)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &spec.CreateVolumeGroupSnapshotResponse{GroupSnapshot: d.groupInfo(group, made)}, nil
}

// group returns the snapshots of a group snapshot, in the order of their volumes.
func (s *state) group(id string) []Snapshot {
	return slices.DeleteFunc(inOrder(s.Snapshots), func(each Snapshot) bool { return each.Group != id })
}

func volumesOf(snapshots []Snapshot) []string {
	var ids []string
	for _, each := range snapshots {
		ids = append(ids, each.Volume)
	}
	slices.Sort(ids)
	return ids
}

func (d *Driver) groupInfo(id string, of []Snapshot) *spec.VolumeGroupSnapshot {
	info := &spec.VolumeGroupSnapshot{GroupSnapshotId: id, ReadyToUse: true}
	for _, each := range of {
		info.Snapshots, info.CreationTime = append(info.Snapshots, d.folder.info(each)), timestamppb.New(each.Created)
	}
	return info
}

// DeleteVolumeGroupSnapshot implements the group controller service.
func (d *Driver) DeleteVolumeGroupSnapshot(_ context.Context, r *spec.DeleteVolumeGroupSnapshotRequest) (*spec.DeleteVolumeGroupSnapshotResponse, error) {
	if r.GetGroupSnapshotId() == "" {
		return nil, missing("group_snapshot_id")
	}
	err := d.folder.with(func(s *state) error {
		found := s.group(r.GetGroupSnapshotId())
		if err := checkGroup(found, r.GetSnapshotIds()); err != nil {
			return err
		}
		for _, each := range found {
			if err := d.dropSnapshot(s, each.ID); err != nil {
				return err
			}
		}
		return nil
	})
	return &spec.DeleteVolumeGroupSnapshotResponse{}, err
}

// GetVolumeGroupSnapshot implements the group controller service.
func (d *Driver) GetVolumeGroupSnapshot(_ context.Context, r *spec.GetVolumeGroupSnapshotRequest) (*spec.GetVolumeGroupSnapshotResponse, error) {
	if r.GetGroupSnapshotId() == "" {
		return nil, missing("group_snapshot_id")
	}
	var found []Snapshot
	err := d.folder.with(func(s *state) error {
		if found = s.group(r.GetGroupSnapshotId()); len(found) == 0 {
			return status.Errorf(codes.NotFound, "there is no group snapshot %s", r.GetGroupSnapshotId())
		}
		return checkGroup(found, r.GetSnapshotIds())
	})
	if err != nil {
		return nil, err
	}
	return &spec.GetVolumeGroupSnapshotResponse{GroupSnapshot: d.groupInfo(r.GetGroupSnapshotId(), found)}, nil
}

// checkGroup compares the snapshots of a group with those that the caller expects.
func checkGroup(found []Snapshot, asked []string) error {
	for _, id := range asked {
		if len(found) > 0 && !slices.ContainsFunc(found, func(s Snapshot) bool { return s.ID == id }) {
			return status.Errorf(codes.InvalidArgument, "snapshot %s is not of the group", id)
		}
	}
	return nil
}
