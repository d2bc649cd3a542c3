// Package csi is a CSI driver for tests: identity, controller and node service over loop devices with ext4 and xfs in
// image files of a folder, by the CSI specification 1.13. Applications and movers see a disk like that of a cloud. It
// is attached to one node at a time, is formatted when it is first staged, has lost+found, can become full, and grows
// when its file system is grown.
//
// A Folder is the storage backend. Several clusters share it, each with a Driver for each of its nodes. All of them
// know a volume by its handle, whichever of them created it. The journal of the folder records all calls. So a test
// can prove in which order clusters attached and detached a volume, and that no call was refused.
//
// The driver is as strict as real backends. It refuses a second node while the first has the volume. It does not
// detach a volume from a node that still has it mounted.
//
// A test injects faults into the next calls of a method by Break, Fail, Lose, Hold and Late, and makes a method slow by
// Delay.
//
// A node may be a container of this machine, such as a node of kind (Options.Process). Then the driver mounts in the
// container.
//
// It needs root, /dev/loop-control, and mkfs of the file systems. Closing the folder removes everything. The folder of
// a killed process is removed when a process next creates a folder.
package csi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	mount "k8s.io/mount-utils"
)

// Options configure the driver of one node.
type Options struct {
	// Name of the driver, as in a StorageClass and a CSIDriver. The same in all clusters that share volumes.
	Name string
	// Node is the node's name in the storage backend. It is unique among the nodes of all clusters.
	Node string
	// Process is the id of a process of the node, if the node is a container with its own mounts. Then the driver
	// mounts in the container, with the programs of the container. 0 means that the node is this machine.
	Process int
	// Socket is the path of the driver's unix socket.
	Socket string
	// System is the file system of volumes whose request names none; by default ext4.
	System string
	// Attach is true if volumes are attached to a node before they are staged there (attachRequired of the CSIDriver).
	Attach bool
	// OnePod refuses a volume to a second pod of the node.
	OnePod bool
	// MostVolumes is how many volumes the node can take; 0 means any number.
	MostVolumes int64
	// Modifies is true if the driver modifies volumes by a VolumeAttributesClass; see Tier.
	Modifies bool
	// Unlisted is true if the driver cannot list snapshots, so that a caller cannot check whether a snapshot is ready.
	Unlisted bool
}

// Driver serves the services of the specification for one node. The controller service is the same on each node.
type Driver struct {
	spec.UnimplementedIdentityServer
	spec.UnimplementedControllerServer
	spec.UnimplementedNodeServer

	options Options
	folder  *Folder
	faults  faults
	server  *grpc.Server
	place   place
	mounter *mount.SafeFormatAndMount
}

// Serve starts a driver over the folder.
func (f *Folder) Serve(o Options) (*Driver, error) {
	o.System = cmp.Or(o.System, ext4)
	if err := os.Remove(o.Socket); err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "unix", o.Socket)
	if err != nil {
		return nil, fmt.Errorf("driver %s: %w", o.Name, err)
	}
	err = f.with(func(s *state) error {
		s.Nodes[o.Node] = node{MostVolumes: o.MostVolumes, Place: place(o.Process)}
		return nil
	})
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	d := &Driver{options: o, folder: f, place: place(o.Process), mounter: place(o.Process).mounter()}
	d.server = grpc.NewServer(grpc.UnaryInterceptor(d.intercept))
	spec.RegisterIdentityServer(d.server, d)
	spec.RegisterControllerServer(d.server, d)
	spec.RegisterNodeServer(d.server, d)
	go func() { _ = d.server.Serve(listener) }()
	return d, nil
}

// Stop ends the driver. Mounts remain, as when the pod of a driver restarts.
func (d *Driver) Stop() { d.server.Stop() }

// Socket returns the path of the driver's unix socket.
func (d *Driver) Socket() string { return d.options.Socket }

// Endpoint returns the address for clients of the driver.
func (d *Driver) Endpoint() string { return "unix://" + d.options.Socket }

// intercept applies the fault of a call, if any, and writes the call into the journal.
func (d *Driver) intercept(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (answer any, err error) {
	method := path.Base(info.FullMethod)
	met, is := d.faults.take(method)
	switch err = errors.Join(d.faults.delayed(ctx, method), await(ctx, met.before)); {
	case err != nil:
	case met.fail != nil:
		err = met.fail
	default:
		answer, err = handler(ctx, request)
	}
	if _, coded := status.FromError(err); !coded {
		err = status.Error(codes.Internal, err.Error())
	}
	call := about(method, d.options.Node, request, subject(answer))
	call.Fault = is
	if failed := d.folder.write(call, err); failed != nil {
		return nil, status.Error(codes.Internal, failed.Error())
	}
	if late := await(ctx, met.after); late != nil {
		return nil, late
	}
	if met.lose {
		return nil, status.Errorf(codes.Unavailable, "%s: the answer is lost because a test wants it so", method)
	}
	return answer, err
}

// subject returns the object that an answer reports as created.
func subject(answer any) any {
	switch made := answer.(type) {
	case *spec.CreateVolumeResponse:
		return made.GetVolume()
	case *spec.CreateSnapshotResponse:
		return made.GetSnapshot()
	default:
		return nil
	}
}

// await waits for a gate, if there is one, or until the caller has given up.
func await(ctx context.Context, gate <-chan struct{}) error {
	if gate == nil {
		return nil
	}
	select {
	case <-gate:
		return nil
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
}

// missing returns the error for a request without a required field.
func missing(what string) error { return status.Errorf(codes.InvalidArgument, "%s is missing", what) }

// volume returns a volume of the folder.
func (s *state) volume(id string) (Volume, error) {
	if id == "" {
		return Volume{}, missing("volume_id")
	}
	v, found := s.Volumes[id]
	if !found {
		return Volume{}, status.Errorf(codes.NotFound, "there is no volume %s", id)
	}
	return v, nil
}

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
	return &spec.GetPluginCapabilitiesResponse{Capabilities: []*spec.PluginCapability{
		{Type: &spec.PluginCapability_VolumeExpansion_{VolumeExpansion: &spec.PluginCapability_VolumeExpansion{Type: spec.PluginCapability_VolumeExpansion_ONLINE}}},
		{Type: &spec.PluginCapability_Service_{Service: &spec.PluginCapability_Service{Type: spec.PluginCapability_Service_CONTROLLER_SERVICE}}},
	}}, nil
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
	if d.options.Modifies {
		can = append(can, spec.ControllerServiceCapability_RPC_MODIFY_VOLUME)
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
