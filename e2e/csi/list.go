package csi

import (
	"context"
	"maps"
	"slices"
	"strconv"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// page returns a part of a list: from the token on, and at most that many elements.
func page[T any](all []T, token string, most int32) (part []T, next string, err error) {
	start := 0
	if token != "" {
		if start, err = strconv.Atoi(token); err != nil || start < 0 || start > len(all) {
			return nil, "", status.Errorf(codes.Aborted, "starting_token %q is not one of this list", token)
		}
	}
	end := len(all)
	if most > 0 && start+int(most) < end {
		end = start + int(most)
		next = strconv.Itoa(end)
	}
	return all[start:end], next, nil
}

// inOrder returns the values of a map in the order of their keys.
func inOrder[T any](of map[string]T) []T {
	var all []T
	for _, key := range slices.Sorted(maps.Keys(of)) {
		all = append(all, of[key])
	}
	return all
}

// ListVolumes implements the controller service.
func (d *Driver) ListVolumes(_ context.Context, r *spec.ListVolumesRequest) (*spec.ListVolumesResponse, error) {
	volumes, err := d.folder.Volumes()
	if err != nil {
		return nil, err
	}
	part, next, err := page(inOrder(volumes), r.GetStartingToken(), r.GetMaxEntries())
	if err != nil {
		return nil, err
	}
	answer := &spec.ListVolumesResponse{NextToken: next}
	for _, v := range part {
		answer.Entries = append(answer.Entries, &spec.ListVolumesResponse_Entry{
			Volume: v.info(), Status: &spec.ListVolumesResponse_VolumeStatus{PublishedNodeIds: slices.Sorted(maps.Keys(v.Published))},
		})
	}
	return answer, nil
}

// ControllerGetVolume implements the controller service.
func (d *Driver) ControllerGetVolume(_ context.Context, r *spec.ControllerGetVolumeRequest) (answer *spec.ControllerGetVolumeResponse, err error) {
	err = d.folder.with(func(s *state) error {
		v, err := s.volume(r.GetVolumeId())
		answer = &spec.ControllerGetVolumeResponse{Volume: v.info(), Status: &spec.ControllerGetVolumeResponse_VolumeStatus{
			PublishedNodeIds: slices.Sorted(maps.Keys(v.Published)),
		}}
		return err
	})
	return answer, err
}

// ListSnapshots implements the controller service.
func (d *Driver) ListSnapshots(_ context.Context, r *spec.ListSnapshotsRequest) (*spec.ListSnapshotsResponse, error) {
	snapshots, err := d.folder.Snapshots()
	if err != nil {
		return nil, err
	}
	asked := slices.DeleteFunc(inOrder(snapshots), func(s Snapshot) bool {
		return r.GetSnapshotId() != "" && r.GetSnapshotId() != s.ID || r.GetSourceVolumeId() != "" && r.GetSourceVolumeId() != s.Volume
	})
	part, next, err := page(asked, r.GetStartingToken(), r.GetMaxEntries())
	if err != nil {
		return nil, err
	}
	answer := &spec.ListSnapshotsResponse{NextToken: next}
	for _, s := range part {
		answer.Entries = append(answer.Entries, &spec.ListSnapshotsResponse_Entry{Snapshot: d.folder.info(s)})
	}
	return answer, nil
}

// GetSnapshot implements the controller service.
func (d *Driver) GetSnapshot(_ context.Context, r *spec.GetSnapshotRequest) (*spec.GetSnapshotResponse, error) {
	if r.GetSnapshotId() == "" {
		return nil, missing("snapshot_id")
	}
	snapshots, err := d.folder.Snapshots()
	if err != nil {
		return nil, err
	}
	found, is := snapshots[r.GetSnapshotId()]
	if !is {
		return nil, status.Errorf(codes.NotFound, "there is no snapshot %s", r.GetSnapshotId())
	}
	return &spec.GetSnapshotResponse{Snapshot: d.folder.info(found)}, nil
}
