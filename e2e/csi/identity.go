package csi

import (
	"context"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
)

// GetPluginInfo implements the identity service.
func (d *Driver) GetPluginInfo(context.Context, *spec.GetPluginInfoRequest) (*spec.GetPluginInfoResponse, error) {
	return &spec.GetPluginInfoResponse{Name: d.options.Name, VendorVersion: "1"}, nil
}

// Probe implements the identity service.
func (d *Driver) Probe(context.Context, *spec.ProbeRequest) (*spec.ProbeResponse, error) {
	return &spec.ProbeResponse{}, nil
}

// GetPluginCapabilities implements the identity service.
func (d *Driver) GetPluginCapabilities(context.Context, *spec.GetPluginCapabilitiesRequest) (*spec.GetPluginCapabilitiesResponse, error) {
	answer := &spec.GetPluginCapabilitiesResponse{Capabilities: []*spec.PluginCapability{{Type: &spec.PluginCapability_VolumeExpansion_{
		VolumeExpansion: &spec.PluginCapability_VolumeExpansion{Type: spec.PluginCapability_VolumeExpansion_ONLINE},
	}}}}
	for _, each := range []spec.PluginCapability_Service_Type{
		spec.PluginCapability_Service_CONTROLLER_SERVICE, spec.PluginCapability_Service_GROUP_CONTROLLER_SERVICE,
	} {
		answer.Capabilities = append(answer.Capabilities, &spec.PluginCapability{Type: &spec.PluginCapability_Service_{
			Service: &spec.PluginCapability_Service{Type: each},
		}})
	}
	return answer, nil
}

// ControllerGetCapabilities implements the controller service.
func (d *Driver) ControllerGetCapabilities(context.Context, *spec.ControllerGetCapabilitiesRequest) (*spec.ControllerGetCapabilitiesResponse, error) {
	can := []spec.ControllerServiceCapability_RPC_Type{
		spec.ControllerServiceCapability_RPC_CREATE_DELETE_VOLUME,
		spec.ControllerServiceCapability_RPC_LIST_VOLUMES,
		spec.ControllerServiceCapability_RPC_GET_VOLUME,
		spec.ControllerServiceCapability_RPC_GET_CAPACITY,
		spec.ControllerServiceCapability_RPC_CLONE_VOLUME,
		spec.ControllerServiceCapability_RPC_EXPAND_VOLUME,
		spec.ControllerServiceCapability_RPC_CREATE_DELETE_SNAPSHOT,
		spec.ControllerServiceCapability_RPC_SINGLE_NODE_MULTI_WRITER,
	}
	if d.options.Attach {
		can = append(can, spec.ControllerServiceCapability_RPC_PUBLISH_UNPUBLISH_VOLUME, spec.ControllerServiceCapability_RPC_PUBLISH_READONLY,
			spec.ControllerServiceCapability_RPC_LIST_VOLUMES_PUBLISHED_NODES)
	}
	if !d.options.Unlisted {
		can = append(can, spec.ControllerServiceCapability_RPC_LIST_SNAPSHOTS, spec.ControllerServiceCapability_RPC_GET_SNAPSHOT)
	}
	answer := &spec.ControllerGetCapabilitiesResponse{}
	for _, each := range can {
		answer.Capabilities = append(answer.Capabilities, &spec.ControllerServiceCapability{Type: &spec.ControllerServiceCapability_Rpc{
			Rpc: &spec.ControllerServiceCapability_RPC{Type: each},
		}})
	}
	return answer, nil
}

// NodeGetCapabilities implements the node service.
func (d *Driver) NodeGetCapabilities(context.Context, *spec.NodeGetCapabilitiesRequest) (*spec.NodeGetCapabilitiesResponse, error) {
	answer := &spec.NodeGetCapabilitiesResponse{}
	for _, each := range []spec.NodeServiceCapability_RPC_Type{
		spec.NodeServiceCapability_RPC_STAGE_UNSTAGE_VOLUME, spec.NodeServiceCapability_RPC_GET_VOLUME_STATS,
		spec.NodeServiceCapability_RPC_EXPAND_VOLUME, spec.NodeServiceCapability_RPC_SINGLE_NODE_MULTI_WRITER,
	} {
		answer.Capabilities = append(answer.Capabilities, &spec.NodeServiceCapability{Type: &spec.NodeServiceCapability_Rpc{
			Rpc: &spec.NodeServiceCapability_RPC{Type: each},
		}})
	}
	return answer, nil
}

// NodeGetInfo implements the node service.
func (d *Driver) NodeGetInfo(context.Context, *spec.NodeGetInfoRequest) (*spec.NodeGetInfoResponse, error) {
	return &spec.NodeGetInfoResponse{NodeId: d.options.Node, MaxVolumesPerNode: d.options.MostVolumes}, nil
}

// GroupControllerGetCapabilities implements the group controller service.
func (d *Driver) GroupControllerGetCapabilities(context.Context, *spec.GroupControllerGetCapabilitiesRequest) (*spec.GroupControllerGetCapabilitiesResponse, error) {
	return &spec.GroupControllerGetCapabilitiesResponse{Capabilities: []*spec.GroupControllerServiceCapability{{
		Type: &spec.GroupControllerServiceCapability_Rpc{Rpc: &spec.GroupControllerServiceCapability_RPC{
			Type: spec.GroupControllerServiceCapability_RPC_CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT,
		}},
	}}}, nil
}
