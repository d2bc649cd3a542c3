// Package disks has the CSI driver of the tests (e2e/csi) serve the kubelets of kind clusters, which share one storage
// backend: loop devices, attached by the attacher of Kubernetes' own project, and mounted in the nodes by a driver that
// refuses a second one. The sidecars of Kubernetes' own projects run as processes of this machine. It needs root.
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

// Site is a cluster, and the name that the driver has there. So are called its VolumeSnapshotClass and its StorageClass, by
// which volumes are made at once, too.
type Site struct {
	Cluster *kind.Cluster
	Driver  string
	// Snapshots can be taken. One driver of a cluster at a time may be told so: the controller of snapshots is the cluster's.
	Snapshots bool
}

// Late is the StorageClass of a driver by which volumes are made where their first pod is to run.
func Late(driver string) string { return "late." + driver }

// endpoint is where kubelets have the socket of the driver.
func (s Site) endpoint() string { return "/var/lib/kubelet/plugins/" + s.Driver + "/csi.sock" }

// registration is where they watch for those who tell of one.
func (s Site) registration() string {
	return "/var/lib/kubelet/plugins_registry/" + s.Driver + "-reg.sock"
}

// poll is how often a condition is looked at.
const poll = 100 * time.Millisecond

// Disks are the driver on all nodes of some clusters.
type Disks struct {
	// Folder is the storage backend.
	Folder *csi.Folder

	sites      []Site
	registrars []*registrar.Registrar
	drivers    []*csi.Driver
	processes  []*process.Process
}

// Start brings the driver to the nodes of clusters. Who has two of them by one name shares what there is of disks; by two names
// they are two provisioners, over one backend. logs is a folder for what sidecars log. What was started is stopped when
// something fails.
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

// serve runs the driver of a node, by sockets that lie in it.
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

// Stop waits until no node has a volume any more, removes the PersistentVolumes, and ends the driver: kubelets cannot unmount
// what is left then.
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

// end stops all that runs.
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

// member is a kind cluster as a site wants it.
type member struct{ *kind.Cluster }

// Name is that of the cluster.
func (m member) Name() string { return m.Cluster.Name }

// RESTConfig reaches it.
func (m member) RESTConfig() *rest.Config { return m.Config }

// Kubeconfig is a file that reaches it.
func (m member) Kubeconfig() string { return m.Cluster.Kubeconfig }
