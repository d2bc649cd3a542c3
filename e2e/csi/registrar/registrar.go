// Package registrar registers a CSI driver with a kubelet, by the kubelet's API for plugins, like the
// node-driver-registrar of the Kubernetes project.
package registrar

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"

	"google.golang.org/grpc"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

// version is the version of the specification, in the form that kubelets expect.
const version = "1.0.0"

// Options identify the driver to register.
type Options struct {
	// Driver is its name.
	Driver string
	// Endpoint is the path of its socket, as the kubelet sees it.
	Endpoint string
	// Socket is the path, as this process sees it, of a socket in the folder that the kubelet watches.
	Socket string
}

// Registrar serves a kubelet until it is stopped.
type Registrar struct {
	registration.UnimplementedRegistrationServer

	options Options
	server  *grpc.Server
	told    chan error
}

// Register waits until the kubelet has registered the driver. An error has the kubelet's reason.
func Register(ctx context.Context, o Options) (*Registrar, error) {
	if err := os.Remove(o.Socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", o.Socket)
	if err != nil {
		return nil, fmt.Errorf("register driver %s: %w", o.Driver, err)
	}
	r := &Registrar{options: o, server: grpc.NewServer(), told: make(chan error, 1)}
	registration.RegisterRegistrationServer(r.server, r)
	go func() { _ = r.server.Serve(listener) }()
	select {
	case err = <-r.told:
	case <-ctx.Done():
		err = fmt.Errorf("the kubelet that watches %s does not ask for it: %w", o.Socket, ctx.Err())
	}
	if err != nil {
		r.Stop()
		return nil, fmt.Errorf("register driver %s: %w", o.Driver, err)
	}
	return r, nil
}

// Stop deregisters the driver. All its volumes must be unmounted before.
func (r *Registrar) Stop() { r.server.Stop() }

// GetInfo returns the name, type and endpoint of the driver.
func (r *Registrar) GetInfo(context.Context, *registration.InfoRequest) (*registration.PluginInfo, error) {
	return &registration.PluginInfo{
		Type: registration.CSIPlugin, Name: r.options.Driver, Endpoint: r.options.Endpoint, SupportedVersions: []string{version},
	}, nil
}

// NotifyRegistrationStatus receives the result of the registration.
func (r *Registrar) NotifyRegistrationStatus(_ context.Context, status *registration.RegistrationStatus) (*registration.RegistrationStatusResponse, error) {
	var err error
	if !status.GetPluginRegistered() {
		err = errors.New(status.GetError())
	}
	select {
	case r.told <- err:
	default: // only the first answer is awaited: restarted kubelets register again
	}
	return &registration.RegistrationStatusResponse{}, nil
}
