package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/sliceshift/sliceshift/e2e/attacher"
	"github.com/sliceshift/sliceshift/e2e/auditor"
	"github.com/sliceshift/sliceshift/e2e/cluster"
	"github.com/sliceshift/sliceshift/e2e/testbed"
)

// repeated are the runs on the embedded clusters, which are their testbed.
var repeated *testbed.Runs

// Repeat lets a run happen, and once more if it failed because the clusters broke. What it did is
// counted in the total.
func Repeat(t testing.TB, total *testbed.Tally, body func(*testbed.Attempt)) {
	t.Helper()
	repeated.Do(t, total, body)
}

// Deaths are the parts of the clusters that died by themselves since a moment.
func Deaths(since time.Time) []testbed.Death { return repeated.Deaths(since) }

// embeddedBackend are control planes in processes of this machine.
type embeddedBackend struct {
	mu sync.Mutex
	// all are the clusters that were ever started, those that were replaced included.
	all []*cluster.Cluster
	// attachers attach the volumes of CSI drivers, as in any cluster that has such volumes.
	attachers map[*cluster.Cluster]*attacher.Attacher
}

// Embedded brings up two embedded clusters for the moves of a package.
func Embedded(ctx context.Context) (end func(failed bool) error, err error) {
	b := &embeddedBackend{attachers: map[*cluster.Cluster]*attacher.Attacher{}}
	if err := b.up(ctx); err != nil {
		return nil, errors.Join(err, b.close(true))
	}
	current, repeated = b, &testbed.Runs{Testbed: b}
	return b.close, nil
}

// up starts both clusters.
func (b *embeddedBackend) up(ctx context.Context) error {
	binary, err := cluster.Build(ctx, os.Stderr)
	if err != nil {
		return err
	}
	both, err := cluster.StartAll(ctx, cluster.Options{Binary: binary, Attach: true}, "east", "west")
	if err != nil {
		return err
	}
	east, west = both[0], both[1]
	b.mu.Lock()
	b.all = append(b.all, both...)
	b.mu.Unlock()
	for _, each := range both {
		if err := Prepare(ctx, each); err != nil {
			return err
		}
		if b.attachers[each], err = attacher.Start(ctx, each.RESTConfig()); err != nil {
			return err
		}
	}
	return nil
}

// stopAttacher ends that of a cluster, if it has one.
func (b *embeddedBackend) stopAttacher(of *cluster.Cluster) {
	if a := b.attachers[of]; a != nil {
		a.Stop()
		delete(b.attachers, of)
	}
}

// Prepare installs the resource definitions. The disruption controller looks for new
// kinds every 30 s only, so it is started anew.
func Prepare(ctx context.Context, each *cluster.Cluster) error {
	if err := installCRDs(each); err != nil {
		return err
	}
	if err := each.Kill(cluster.ControllerManager); err != nil {
		return err
	}
	return each.StartRole(ctx, cluster.ControllerManager)
}

// PartsOf is a cluster whose parts can be stopped one by one: an embedded one.
func PartsOf(of Cluster) *cluster.Cluster {
	c, ok := of.(*cluster.Cluster)
	if !ok {
		panic(fmt.Sprintf("the parts of cluster %s cannot be stopped", of.Name()))
	}
	return c
}

func (*embeddedBackend) limit() time.Duration { return 2 * time.Minute }

func (*embeddedBackend) deploy(v *Move) error {
	v.T.Cleanup(v.Clear)
	return v.App.Deploy(v.Ctx, v.Source)
}

// check has nothing to look at: no replica writes here.
func (*embeddedBackend) check(*Move, auditor.Report) error { return nil }

func (b *embeddedBackend) close(failed bool) error {
	var errs []error
	for _, c := range b.all {
		b.stopAttacher(c)
		errs = append(errs, Stop(c, failed))
	}
	return errors.Join(errs...)
}

// Stop ends a cluster, and says which of its parts have died by themselves. Its logs are kept
// when a test has failed.
func Stop(c *cluster.Cluster, failed bool) error {
	stopPlayer(c)
	if failed {
		fmt.Fprintf(os.Stderr, "logs of cluster %s: %s\n", c.Name(), c.KeepLogs())
	}
	for _, death := range c.Deaths() {
		fmt.Fprintf(os.Stderr, "cluster %s: %s\n", c.Name(), death)
	}
	return c.Stop()
}

// Usable implements testbed.Testbed.
func (*embeddedBackend) Usable(ctx context.Context) error {
	return errors.Join(PartsOf(east).Check(ctx), PartsOf(west).Check(ctx))
}

// Renew implements testbed.Testbed.
func (b *embeddedBackend) Renew(ctx context.Context) error {
	for _, each := range []Cluster{east, west} {
		old := PartsOf(each)
		stopPlayer(old)
		b.stopAttacher(old)
		fmt.Fprintf(os.Stderr, "cluster %s is made anew; logs of the old one: %s\n", old.Name(), old.KeepLogs())
		if err := old.Stop(); err != nil {
			return err
		}
	}
	return b.up(ctx)
}

// Deaths implements testbed.Testbed. Every move goes from east to west, or stays in east.
func (b *embeddedBackend) Deaths(since time.Time) []testbed.Death {
	b.mu.Lock()
	defer b.mu.Unlock()
	var deaths []testbed.Death
	for _, c := range b.all {
		side := map[string]string{"east": "source", "west": "destination"}[c.Name()]
		for _, d := range c.Deaths() {
			if d.Time.After(since) {
				deaths = append(deaths, testbed.Death{Death: d, Side: side})
			}
		}
	}
	return deaths
}

// OnceInBoth does something once in each of the two clusters, and once more when others have
// taken their place.
func OnceInBoth(do func(Cluster) error) func() error {
	var mu sync.Mutex
	var pair [2]Cluster
	var err error
	return func() error {
		mu.Lock()
		defer mu.Unlock()
		if now := [2]Cluster{east, west}; now != pair {
			pair, err = now, errors.Join(do(east), do(west))
		}
		return err
	}
}
