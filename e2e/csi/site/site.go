// Package site brings the driver of e2e/csi into an embedded cluster: the driver and its kubelet on the cluster's
// node, the sidecars beside it, and the objects that a user finds: CSIDriver, StorageClass, VolumeSnapshotClass, all
// of the driver's name. Two sites over one folder are two clusters with one storage backend.
//
// Where volumes are attached, the cluster must be one whose controller manager attaches them (cluster.Options.Attach).
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

// Options say what is brought into which cluster.
type Options struct {
	Cluster Cluster
	Folder  *csi.Folder
	// Driver are the options of the driver, but for Node and Socket. Its name is one of the whole cluster.
	Driver csi.Options
	// Sidecars that run, see sidecar.All.
	Sidecars []sidecar.Name
	// Logs is where sidecars and kubelet log; by default below the folder, with which it goes away.
	Logs string
	// Class changes the StorageClass before it is made.
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

// Start brings a driver into a cluster. What was started is stopped when something fails.
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

// socket is that of the driver: the path of one must be short.
func (s *Site) socket() string {
	return filepath.Join(s.options.Folder.Dir, s.options.Cluster.Name()+".sock")
}

// Run starts a sidecar, or starts it again.
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

// Process is a sidecar that runs, to be killed or frozen.
func (s *Site) Process(name sidecar.Name) *process.Process { return s.processes[name] }

// Stop ends all that runs. What is mounted goes away with the folder.
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

// Define makes the objects of a driver: its CSIDriver, its StorageClass and, where snapshots are taken, their kinds and
// its VolumeSnapshotClass.
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

// Class is the StorageClass of a driver, of its name: volumes are made at once, and go with their claims.
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
