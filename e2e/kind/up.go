package kind

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/sliceshift/sliceshift/e2e/kind/docker"
	"github.com/sliceshift/sliceshift/internal/program"
)

const (
	// network is separate from the network of clusters that the user creates with kind.
	network = "sliceshift"
	// prefix of the names that kind and docker know the clusters by.
	prefix = "sliceshift-"
)

// Pair holds the clusters.
type Pair struct {
	East, West *Cluster
	// Hub is a third cluster with one node, for a separate manager; nil if there is none.
	Hub *Cluster

	machine *Machine // nil: the clusters are the user's
	dir     string   // the folder for the files of this process
	home    string   // the folder of the clusters: dir, unless another process holds them
	loaded  []string
	// Progress receives a line for each step.
	progress io.Writer
}

// Both returns east and west.
func (p *Pair) Both() []*Cluster { return []*Cluster{p.East, p.West} }

// All returns all clusters, including the hub if there is one.
func (p *Pair) All() []*Cluster {
	if p.Hub == nil {
		return p.Both()
	}
	return append(p.Both(), p.Hub)
}

// Up starts both clusters, or connects to those that E2E_KUBECONFIGS names, or borrows those that another process
// holds and E2E_KIND_PAIR names. dir, an absolute path, receives their files.
func Up(ctx context.Context, dir string, progress io.Writer) (*Pair, error) {
	return up(ctx, &Pair{dir: dir, home: dir, progress: progress})
}

// UpWithHub starts a hub as well; of the user's own clusters, the third is the hub.
func UpWithHub(ctx context.Context, dir string, progress io.Writer) (*Pair, error) {
	return up(ctx, &Pair{dir: dir, home: dir, progress: progress, Hub: &Cluster{
		Name: "hub", podSubnet: "10.246.0.0/16", serviceSubnet: "10.98.0.0/16", roles: []string{controlPlane},
	}})
}

func up(ctx context.Context, p *Pair) (*Pair, error) {
	if own := os.Getenv(kubeconfigsVariable); own != "" {
		return connectOwn(p.dir, own)
	}
	p.East = &Cluster{Name: "east", podSubnet: "10.244.0.0/16", serviceSubnet: "10.96.0.0/16", roles: machines}
	p.West = &Cluster{Name: "west", podSubnet: "10.245.0.0/16", serviceSubnet: "10.97.0.0/16", roles: machines}
	if file := os.Getenv(pairVariable); file != "" {
		return borrow(ctx, p, file)
	}
	if err := p.up(ctx); err != nil {
		cleanup := context.WithoutCancel(ctx)
		return nil, errors.Join(err, p.KeepLogs(cleanup), p.Down(cleanup))
	}
	return p, nil
}

func (p *Pair) up(ctx context.Context) error {
	if err := os.MkdirAll(p.SharedDir(), 0o777); err != nil {
		return err
	}
	if err := p.prepare(ctx); err != nil {
		return err
	}
	group, within := errgroup.WithContext(ctx)
	for _, c := range p.All() {
		group.Go(func() error { return p.create(within, c) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if err := p.Routes(ctx); err != nil {
		return err
	}
	for _, c := range p.All() {
		if err := c.awaitSystem(ctx); err != nil {
			return err
		}
	}
	return p.lend()
}

// prepare provides the requirements of the clusters before their creation.
func (p *Pair) prepare(ctx context.Context) (err error) {
	if p.machine, err = Prepare(ctx, p.dir, p.progress); err != nil {
		return err
	}
	if err := p.deleteClusters(ctx); err != nil { // left by a run that was killed
		return err
	}
	return ensureNetwork(ctx)
}

// ensureNetwork creates the network before kind does. kind's network would have a second address family, and with it a
// second route to a node that is cut off.
func ensureNetwork(ctx context.Context) error {
	if docker.Run(ctx, "network", "inspect", network) == nil {
		return nil
	}
	return docker.Run(ctx, "network", "create", network)
}

// SharedDir returns the folder of this machine that is the storage.
func (p *Pair) SharedDir() string { return filepath.Join(p.home, "shared") }

func (p *Pair) create(ctx context.Context, c *Cluster) error {
	plain, err := setting{
		Name: prefix + c.Name, PodSubnet: c.podSubnet, ServiceSubnet: c.serviceSubnet, SharedDir: p.SharedDir(), Shared: Shared, Roles: c.roles,
	}.text()
	if err != nil {
		return err
	}
	text, err := p.machine.Adapt(plain)
	if err != nil {
		return err
	}
	c.Kubeconfig = p.kubeconfig(c)
	config := filepath.Join(p.dir, c.Name+".yaml")
	if err := os.WriteFile(config, text, 0o600); err != nil {
		return err
	}
	if err := p.runKind(ctx, "create", "cluster", "--config", config, "--kubeconfig", c.Kubeconfig, "--wait", "5m", "--retain"); err != nil {
		return fmt.Errorf("cluster %s: %w", c.Name, err)
	}
	return c.find(ctx)
}

func (p *Pair) kubeconfig(c *Cluster) string { return filepath.Join(p.home, c.Name+".kubeconfig") }

// find connects to an existing cluster.
func (c *Cluster) find(ctx context.Context) (err error) {
	if c.Nodes, err = nodeNames(ctx, prefix+c.Name); err != nil {
		return err
	}
	return c.connect()
}

// runKind runs the kind command; an error holds the end of its output.
func (p *Pair) runKind(ctx context.Context, args ...string) error {
	in := program.In{Env: append(slices.Clone(p.machine.Env), "KIND_EXPERIMENTAL_DOCKER_NETWORK="+network)}
	_, err := in.Output(ctx, p.machine.Kind, args...)
	return err
}

// Load loads images of this machine's docker into every node. Down removes them.
func (p *Pair) Load(ctx context.Context, images ...string) error {
	p.loaded = append(p.loaded, images...)
	for _, c := range p.All() {
		args := slices.Concat([]string{"load", "docker-image"}, images, []string{"--name", prefix + c.Name})
		if err := p.runKind(ctx, args...); err != nil {
			return fmt.Errorf("cluster %s: %w", c.Name, err)
		}
	}
	return nil
}
