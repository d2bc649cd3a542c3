package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/sliceshift/sliceshift/e2e/auditor"
	"github.com/sliceshift/sliceshift/e2e/cluster"
)

// site is one of the two clusters that all tests share.
type site interface {
	Name() string
	RESTConfig() *rest.Config
	// Kubeconfig is a file by which its administrator reaches it, UserKubeconfig one of
	// another user.
	Kubeconfig() string
	UserKubeconfig(user string, groups ...string) (string, error)
}

// ground is what the two clusters are: embedded control planes, whose kubelets are made up,
// or kind's, where all of it is real.
type ground interface {
	// limit bounds every test: none waits for ever.
	limit() time.Duration
	// deploy starts the application of a move at its source, and waits until it is ready.
	deploy(v *move) error
	// check judges a test that is through by what its replicas have written.
	check(v *move, verdict auditor.Report) error
	// close removes the clusters. What is of use is kept when a test has failed.
	close(failed bool) error
}

// stage is the ground; east and west are its clusters. Each test works in namespaces of
// its own.
var (
	stage      ground
	east, west site
)

// embedded are control planes in processes of this machine. They are the bench of onBench.
type embedded struct {
	mu sync.Mutex
	// all are the clusters that were ever started, those that were replaced included.
	all []*cluster.Cluster
}

func startEmbedded(ctx context.Context) (ground, error) {
	g := &embedded{}
	if err := g.up(ctx); err != nil {
		return nil, errors.Join(err, g.close(true))
	}
	onBench = &runs{bench: g}
	return g, nil
}

// up starts both clusters.
func (g *embedded) up(ctx context.Context) error {
	binary, err := cluster.Build(ctx, os.Stderr)
	if err != nil {
		return err
	}
	both, err := cluster.StartAll(ctx, cluster.Options{Binary: binary}, "east", "west")
	if err != nil {
		return err
	}
	east, west = both[0], both[1]
	g.mu.Lock()
	g.all = append(g.all, both...)
	g.mu.Unlock()
	for _, each := range both {
		if err := prepare(ctx, each); err != nil {
			return err
		}
	}
	return nil
}

// prepare installs the resource definitions. The disruption controller looks for new
// kinds every 30 s only, so it is started anew.
func prepare(ctx context.Context, each *cluster.Cluster) error {
	if err := installCRDs(each); err != nil {
		return err
	}
	if err := each.Kill(cluster.ControllerManager); err != nil {
		return err
	}
	return each.StartRole(ctx, cluster.ControllerManager)
}

// parts is a cluster whose parts can be stopped one by one: an embedded one.
func parts(of site) *cluster.Cluster {
	c, ok := of.(*cluster.Cluster)
	if !ok {
		panic(fmt.Sprintf("the parts of cluster %s cannot be stopped", of.Name()))
	}
	return c
}

func (*embedded) limit() time.Duration { return 2 * time.Minute }

func (*embedded) deploy(v *move) error { return v.app.Deploy(v.ctx, v.source) }

// check has nothing to look at: no replica writes here.
func (*embedded) check(*move, auditor.Report) error { return nil }

func (g *embedded) close(failed bool) error {
	var errs []error
	for _, c := range g.all {
		if failed {
			fmt.Fprintf(os.Stderr, "logs of cluster %s: %s\n", c.Name(), c.KeepLogs())
		}
		for _, death := range c.Deaths() {
			fmt.Fprintf(os.Stderr, "cluster %s: %s\n", c.Name(), death)
		}
		errs = append(errs, c.Stop())
	}
	return errors.Join(errs...)
}
