// Package site installs the driver of e2e/csi in an embedded cluster: the driver and its kubelet for the cluster's
// node, its sidecars, and the objects for users, CSIDriver, StorageClass and VolumeSnapshotClass. All these objects
// have the driver's name. Two sites over one folder are two clusters with one storage backend.
//
// Where volumes are attached, the cluster's controller manager must attach them (cluster.Options.Attach).
package site

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/sliceshift/sliceshift/e2e/cluster/process"
	"github.com/sliceshift/sliceshift/e2e/csi"
	"github.com/sliceshift/sliceshift/e2e/csi/kubelet"
	"github.com/sliceshift/sliceshift/e2e/csi/sidecar"
	"github.com/sliceshift/sliceshift/e2e/fixture"
)

// Cluster is a cluster of one node.
type Cluster interface {
	Name() string
	RESTConfig() *rest.Config
	Kubeconfig() string
}

// Options configure a site.
type Options struct {
	Cluster Cluster
	Folder  *csi.Folder
	// Driver are the options of the driver, except Node and Socket. Its name is unique in the cluster.
	Driver csi.Options
	// Sidecars that run, see sidecar.All.
	Sidecars []sidecar.Name
	// Logs is the log folder of sidecars and kubelet; by default below the folder, with which it is removed.
	Logs string
	// Class changes the StorageClass before its creation.
	Class func(*storagev1.StorageClass)
}

// Site is a driver that runs in a cluster.
type Site struct {
	Driver  *csi.Driver
	Kubelet *kubelet.Kubelet

	options   Options
	node      string
	processes map[sidecar.Name]*process.Process
}

// Start installs a driver in a cluster. If a step fails, everything that was started is stopped.
func Start(ctx context.Context, o Options) (*Site, error) {
	dir := filepath.Join(o.Folder.Dir, o.Cluster.Name())
	if o.Logs == "" {
		o.Logs = filepath.Join(dir, "logs")
	}
	s := &Site{options: o, processes: map[sidecar.Name]*process.Process{}}
	if err := s.start(ctx, dir); err != nil {
		s.Stop()
		return nil, fmt.Errorf("driver %s in cluster %s: %w", o.Driver.Name, o.Cluster.Name(), err)
	}
	return s, nil
}

func (s *Site) start(ctx context.Context, dir string) (err error) {
	if err := os.MkdirAll(s.options.Logs, 0o755); err != nil {
		return err
	}
	if err := s.find(ctx); err != nil {
		return err
	}
	if err := s.options.Define(ctx); err != nil {
		return err
	}
	o := s.options.Driver
	o.Node, o.Socket = s.options.Cluster.Name()+"."+s.node, s.socket()
	if s.Driver, err = s.options.Folder.Serve(o); err != nil {
		return err
	}
	s.Kubelet, err = kubelet.Start(ctx, kubelet.Options{
		Config: s.options.Cluster.RESTConfig(), Node: s.node, Driver: o.Name, Endpoint: s.Driver.Endpoint(), Attach: o.Attach,
		Dir: dir, Log: filepath.Join(s.options.Logs, "kubelet.log"),
	})
	if err != nil {
		return err
	}
	for _, each := range s.options.Sidecars {
		if err := s.Run(ctx, each); err != nil {
			return err
		}
	}
	return nil
}

// socket returns the path of the driver's socket, which must be short.
func (s *Site) socket() string {
	return filepath.Join(s.options.Folder.Dir, s.options.Cluster.Name()+".sock")
}

// Run starts or restarts a sidecar.
func (s *Site) Run(ctx context.Context, name sidecar.Name) error {
	if p := s.processes[name]; p != nil {
		p.Kill()
	}
	p, err := sidecar.Run(ctx, name, sidecar.Options{Kubeconfig: s.options.Cluster.Kubeconfig(), Socket: s.socket(), Dir: s.options.Logs})
	if err == nil {
		s.processes[name] = p
	}
	return err
}

// Process returns a running sidecar, so that a test can kill or freeze it.
func (s *Site) Process(name sidecar.Name) *process.Process { return s.processes[name] }

// Stop ends all processes. Mounts are removed with the folder.
func (s *Site) Stop() {
	for _, p := range s.processes {
		p.Kill()
	}
	if s.Kubelet != nil {
		s.Kubelet.Stop()
	}
	if s.Driver != nil {
		s.Driver.Stop()
	}
}

// find finds the node.
func (s *Site) find(ctx context.Context) error {
	c, err := fixture.Client(s.options.Cluster.RESTConfig())
	if err != nil {
		return err
	}
	nodes := &corev1.NodeList{}
	if err := c.List(ctx, nodes); err != nil {
		return err
	}
	if len(nodes.Items) != 1 {
		return errors.New("it is for clusters of one node")
	}
	s.node = nodes.Items[0].Name
	return nil
}

// Define creates the objects of a driver: its CSIDriver, its StorageClass and, where snapshots are taken, their
// resource definitions and its VolumeSnapshotClass.
func (o Options) Define(ctx context.Context) error {
	c, err := fixture.Client(o.Cluster.RESTConfig())
	if err != nil {
		return err
	}
	class := Class(o.Driver)
	if o.Class != nil {
		o.Class(class)
	}
	driver := &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: o.Driver.Name}, Spec: storagev1.CSIDriverSpec{AttachRequired: &o.Driver.Attach}}
	if err := errors.Join(fixture.Create(ctx, c, driver), fixture.Create(ctx, c, class)); err != nil {
		return err
	}
	if !slices.Contains(o.Sidecars, sidecar.SnapshotController) && !slices.Contains(o.Sidecars, sidecar.Snapshotter) {
		return nil
	}
	return createSnapshots(ctx, c, o.Driver.Name)
}

// Class returns the StorageClass with a driver's name. Its volumes are created immediately and deleted with their
// claims.
func Class(driver csi.Options) *storagev1.StorageClass {
	class := &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: driver.Name}, Provisioner: driver.Name, AllowVolumeExpansion: new(true),
		ReclaimPolicy: new(corev1.PersistentVolumeReclaimDelete), VolumeBindingMode: new(storagev1.VolumeBindingImmediate),
	}
	if driver.System != "" {
		class.Parameters = map[string]string{"csi.storage.k8s.io/fstype": driver.System}
	}
	return class
}
