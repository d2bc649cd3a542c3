// Package registrar tells a kubelet of a CSI driver, by the kubelet's API for plugins, as the node-driver-registrar of
// Kubernetes' own project does.
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

// version of the specification that drivers speak, as kubelets want to have it.
const version = "1.0.0"

// Options say which driver a kubelet is told of.
type Options struct {
	// Driver is its name.
	Driver string
	// Endpoint is the path of its socket, as the kubelet sees it.
	Endpoint string
	// Socket is the path, as this process sees it, of a socket in the folder that the kubelet watches.
	Socket string
}

// Registrar answers a kubelet until it is stopped.
type Registrar struct {
	registration.UnimplementedRegistrationServer

	options Options
	server  *grpc.Server
	told    chan error
}

// Register waits until the kubelet has taken the driver. An error says why it does not.
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

// Stop takes the driver from the kubelet. It must have unmounted all volumes of it.
func (r *Registrar) Stop() { r.server.Stop() }

// GetInfo says what the driver is.
func (r *Registrar) GetInfo(context.Context, *registration.InfoRequest) (*registration.PluginInfo, error) {
	return &registration.PluginInfo{
		Type: registration.CSIPlugin, Name: r.options.Driver, Endpoint: r.options.Endpoint, SupportedVersions: []string{version},
	}, nil
}

// NotifyRegistrationStatus is told what has become of it.
func (r *Registrar) NotifyRegistrationStatus(_ context.Context, status *registration.RegistrationStatus) (*registration.RegistrationStatusResponse, error) {
	var err error
	if !status.GetPluginRegistered() {
		err = errors.New(status.GetError())
	}
	select {
	case r.told <- err:
	default: // only the first answer is waited for: kubelets that start again ask again
	}
	return &registration.RegistrationStatusResponse{}, nil
}
