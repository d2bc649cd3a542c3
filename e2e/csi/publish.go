package csi

import (
	"context"
	"maps"
	"slices"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// attachment is the key of the value that a node must present to stage an attached volume.
const attachment = "attachment"

// ControllerPublishVolume implements the controller service.
func (d *Driver) ControllerPublishVolume(_ context.Context, r *spec.ControllerPublishVolumeRequest) (*spec.ControllerPublishVolumeResponse, error) {
	err := d.folder.with(func(s *state) error {
		if err := checkPublish(r); err != nil {
			return err
		}
		v, err := s.volume(r.GetVolumeId())
		if err != nil {
			return err
		}
		of, known := s.Nodes[r.GetNodeId()]
		if !known {
			return status.Errorf(codes.NotFound, "there is no node %s", r.GetNodeId())
		}
		if readOnly, is := v.Published[r.GetNodeId()]; is {
			if readOnly != r.GetReadonly() {
				return status.Errorf(codes.AlreadyExists, "volume %s is attached to node %s with readonly %t", v.ID, r.GetNodeId(), readOnly)
			}
			return nil
		}
		if len(v.Published) > 0 {
			return status.Errorf(codes.FailedPrecondition, "volume %s is attached to node %s", v.ID, slices.Collect(maps.Keys(v.Published)))
		}
		if of.MostVolumes > 0 && s.attachedTo(r.GetNodeId()) >= of.MostVolumes {
			return status.Errorf(codes.ResourceExhausted, "node %s has %d volumes, and takes no more", r.GetNodeId(), of.MostVolumes)
		}
		v.Published = map[string]bool{r.GetNodeId(): r.GetReadonly()}
		s.Volumes[v.ID] = v
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &spec.ControllerPublishVolumeResponse{PublishContext: map[string]string{attachment: attachmentOf(r.GetVolumeId(), r.GetNodeId())}}, nil
}

func checkPublish(r *spec.ControllerPublishVolumeRequest) error {
	switch {
	case r.GetVolumeId() == "":
		return missing("volume_id")
	case r.GetNodeId() == "":
		return missing("node_id")
	case r.GetVolumeCapability() == nil:
		return missing("volume_capability")
	default:
		return supported([]*spec.VolumeCapability{r.GetVolumeCapability()})
	}
}

// attachmentOf returns the value that a node must present for an attachment, which only the driver computes.
func attachmentOf(volume, node string) string { return handle("attachment", volume+" "+node) }

// attachedTo returns how many volumes a node has.
func (s *state) attachedTo(node string) (count int64) {
	for _, v := range s.Volumes {
		if _, is := v.Published[node]; is {
			count++
		}
	}
	return count
}

// ControllerUnpublishVolume implements the controller service. A volume is not detached from a node that has it
// mounted: unwritten data of the node would be lost.
func (d *Driver) ControllerUnpublishVolume(_ context.Context, r *spec.ControllerUnpublishVolumeRequest) (*spec.ControllerUnpublishVolumeResponse, error) {
	err := d.folder.with(func(s *state) error {
		v, err := s.volume(r.GetVolumeId())
		if status.Code(err) == codes.NotFound {
			return nil
		}
		if err != nil {
			return err
		}
		if v.Node != "" && (r.GetNodeId() == "" || r.GetNodeId() == v.Node) {
			return status.Errorf(codes.FailedPrecondition, "volume %s is still mounted on node %s", v.ID, v.Node)
		}
		if r.GetNodeId() == "" {
			v.Published = nil
		}
		delete(v.Published, r.GetNodeId())
		s.Volumes[v.ID] = v
		return nil
	})
	return &spec.ControllerUnpublishVolumeResponse{}, err
}
