package csi

import (
	"context"
	"errors"
	"io/fs"
	"os"
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
		ReadyToUse: ready,
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
	return &spec.DeleteSnapshotResponse{}, d.folder.with(func(s *state) error {
		if _, found := s.Snapshots[r.GetSnapshotId()]; !found {
			return nil
		}
		delete(s.Snapshots, r.GetSnapshotId())
		if err := os.Remove(d.folder.image(r.GetSnapshotId())); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
}
