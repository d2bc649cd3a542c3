// Package disks lets the CSI driver of the tests (e2e/csi) serve the kubelets of kind clusters, which share one
// storage backend. Its disks are loop devices, attached by the attacher of the Kubernetes project. The driver mounts
// them in the nodes and refuses a second mount. The sidecars of the Kubernetes project run as processes of this
// machine. It needs root.
package disks

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"github.com/sliceshift/sliceshift/e2e/cluster/process"
	"github.com/sliceshift/sliceshift/e2e/csi"
	"github.com/sliceshift/sliceshift/e2e/csi/registrar"
	"github.com/sliceshift/sliceshift/e2e/csi/sidecar"
	"github.com/sliceshift/sliceshift/e2e/csi/site"
	"github.com/sliceshift/sliceshift/e2e/kind"
	"github.com/sliceshift/sliceshift/e2e/kind/setup"
)

// Site is a cluster and the name of the driver there. The VolumeSnapshotClass and a StorageClass, which creates
// volumes immediately, have that name too.
type Site struct {
	Cluster *kind.Cluster
	Driver  string
	// Snapshots is true if snapshots can be taken. Only one driver of a cluster may set it at a time, because the
	// snapshot controller belongs to the cluster.
	Snapshots bool
}

// Late returns the StorageClass of a driver that creates a volume on the node of its first pod.
func Late(driver string) string { return "late." + driver }

// endpoint returns the path of the driver's socket for kubelets.
func (s Site) endpoint() string { return "/var/lib/kubelet/plugins/" + s.Driver + "/csi.sock" }

// registration returns the path of the registration socket, in the folder that kubelets watch.
func (s Site) registration() string {
	return "/var/lib/kubelet/plugins_registry/" + s.Driver + "-reg.sock"
}

// poll is the interval between two checks of a condition.
const poll = 100 * time.Millisecond

// Disks is the driver on all nodes of some clusters.
type Disks struct {
	// Folder is the storage backend.
	Folder *csi.Folder

	sites      []Site
	registrars []*registrar.Registrar
	drivers    []*csi.Driver
	processes  []*process.Process
}

// Start starts the driver on the nodes of the clusters. Sites with the same driver name share their disks. Sites with
// different names are separate provisioners over one backend. logs is a folder for the logs of the sidecars. If a step
// fails, everything that was started is stopped.
func Start(ctx context.Context, logs string, sites ...Site) (*Disks, error) {
	folder, err := csi.Make()
	if err != nil {
		return nil, err
	}
	d := &Disks{Folder: folder, sites: sites}
	for _, s := range sites {
		if err := d.bring(ctx, filepath.Join(logs, s.Cluster.Name), s); err != nil {
			return nil, errors.Join(fmt.Errorf("cluster %s: driver %s: %w", s.Cluster.Name, s.Driver, err), d.end())
		}
	}
	return d, nil
}

func (d *Disks) bring(ctx context.Context, logs string, s Site) error {
	c := s.Cluster
	sidecars := []sidecar.Name{sidecar.Attacher, sidecar.Provisioner}
	if s.Snapshots {
		sidecars = append(sidecars, sidecar.SnapshotController, sidecar.Snapshotter)
	}
	options := csi.Options{Name: s.Driver, Attach: true, System: "ext4"}
	if err := (site.Options{Cluster: member{c}, Driver: options, Sidecars: sidecars}).Define(ctx); err != nil {
		return err
	}
	err := setup.Create(ctx, c, late(s.Driver))
	for _, node := range c.Nodes {
		if err == nil {
			err = d.serve(ctx, s, node, options)
		}
	}
	if err != nil {
		return err
	}
	socket := d.drivers[len(d.drivers)-1].Socket()
	for _, name := range sidecars {
		p, err := sidecar.Run(ctx, name, sidecar.Options{Kubeconfig: c.Kubeconfig, Socket: socket, Dir: logs})
		if err != nil {
			return err
		}
		d.processes = append(d.processes, p)
	}
	return nil
}

func late(driver string) *storagev1.StorageClass {
	class := site.Class(csi.Options{Name: driver, System: "ext4"})
	class.Name, class.VolumeBindingMode = Late(driver), new(storagev1.VolumeBindingWaitForFirstConsumer)
	return class
}

// serve runs the driver of a node, with its sockets in the node's file system.
func (d *Disks) serve(ctx context.Context, s Site, node string, o csi.Options) error {
	number, err := kind.Process(ctx, node)
	if err != nil {
		return err
	}
	within := func(path string) string { return filepath.Join("/proc", strconv.Itoa(number), "root") + path }
	if err := os.MkdirAll(filepath.Dir(within(s.endpoint())), 0o750); err != nil {
		return err
	}
	o.Node, o.Process, o.Socket = node, number, within(s.endpoint())
	driver, err := d.Folder.Serve(o)
	if err != nil {
		return err
	}
	d.drivers = append(d.drivers, driver)
	const patience = time.Minute
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r, err := registrar.Register(ctx, registrar.Options{Driver: s.Driver, Endpoint: s.endpoint(), Socket: within(s.registration())})
	if err != nil {
		return fmt.Errorf("node %s: %w", node, err)
	}
	d.registrars = append(d.registrars, r)
	return nil
}

// Stop waits until no node has a volume, removes the PersistentVolumes, and ends the driver. After that, kubelets
// cannot unmount remaining volumes.
func (d *Disks) Stop(ctx context.Context) error {
	var used []string
	err := wait.PollUntilContextCancel(ctx, poll, true, func(context.Context) (bool, error) {
		var err error
		used, err = d.used()
		return len(used) == 0, err
	})
	if err != nil {
		return errors.Join(fmt.Errorf("nodes still have volumes %v: %w", used, err), d.end())
	}
	for _, s := range d.sites {
		err = errors.Join(err, remove(ctx, s))
	}
	return errors.Join(err, d.end())
}

// end stops all processes.
func (d *Disks) end() error {
	for _, p := range d.processes {
		p.Kill()
	}
	for _, r := range d.registrars {
		r.Stop()
	}
	for _, each := range d.drivers {
		each.Stop()
	}
	return d.Folder.Close()
}

// member adapts a kind cluster to the interface of package site.
type member struct{ *kind.Cluster }

// Name returns the name of the cluster.
func (m member) Name() string { return m.Cluster.Name }

// RESTConfig returns the client configuration of the cluster.
func (m member) RESTConfig() *rest.Config { return m.Config }

// Kubeconfig returns the path of the cluster's kubeconfig file.
func (m member) Kubeconfig() string { return m.Cluster.Kubeconfig }
