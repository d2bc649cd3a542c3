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
	// Unlisted is true if the driver cannot list snapshots, so that a caller cannot check whether a snapshot is ready.
	Unlisted bool
}

// Driver serves the services of the specification for one node. The controller service is the same on each node.
type Driver struct {
	spec.UnimplementedIdentityServer
	spec.UnimplementedControllerServer
	spec.UnimplementedGroupControllerServer
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
	spec.RegisterGroupControllerServer(d.server, d)
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
	switch err = await(ctx, met.before); {
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
