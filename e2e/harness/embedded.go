package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sliceshift/sliceshift/e2e/attacher"
	"github.com/sliceshift/sliceshift/e2e/auditor"
	"github.com/sliceshift/sliceshift/e2e/cluster"
	"github.com/sliceshift/sliceshift/e2e/player"
	"github.com/sliceshift/sliceshift/e2e/testbed"
)

// repeated holds the runs on the embedded clusters, which are their testbed.
var repeated *testbed.Runs

// Repeat runs body, and runs it once more if it failed because the clusters broke. It counts the attempts in
// total.
func Repeat(t testing.TB, total *testbed.Tally, body func(*testbed.Attempt)) {
	t.Helper()
	repeated.Do(t, total, body)
}

// Deaths returns the parts of the clusters that have exited on their own since the given time.
func Deaths(since time.Time) []testbed.Death { return repeated.Deaths(since) }

// embeddedBackend runs control planes in processes of this machine.
type embeddedBackend struct {
	mu sync.Mutex
	// all lists every cluster that was started, including replaced ones.
	all []*cluster.Cluster
	// attachers attach the volumes of CSI drivers, as the external attacher of a real cluster does.
	attachers map[*cluster.Cluster]*attacher.Attacher
}

// Embedded starts two embedded clusters for the moves of a package.
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

// stopAttacher stops the attacher of a cluster, if it has one.
func (b *embeddedBackend) stopAttacher(of *cluster.Cluster) {
	if a := b.attachers[of]; a != nil {
		a.Stop()
		delete(b.attachers, of)
	}
}

// Prepare installs the resource definitions. The disruption controller discovers new kinds only every 30 s, so
// Prepare restarts it.
func Prepare(ctx context.Context, each *cluster.Cluster) error {
	if err := installCRDs(each); err != nil {
		return err
	}
	if err := each.Kill(cluster.ControllerManager); err != nil {
		return err
	}
	return each.StartRole(ctx, cluster.ControllerManager)
}

// PartsOf returns the embedded cluster behind of, whose parts can be stopped individually. It panics for any
// other cluster.
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

// check does nothing, because no replica writes in an embedded cluster.
func (*embeddedBackend) check(*Move, auditor.Report) error { return nil }

func (b *embeddedBackend) close(failed bool) error {
	var errs []error
	for _, c := range b.all {
		b.stopAttacher(c)
		errs = append(errs, Stop(c, failed))
	}
	return errors.Join(errs...)
}

// Stop stops a cluster and prints which of its parts have exited on their own. It keeps the logs when a test
// has failed.
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
		fmt.Fprintf(os.Stderr, "cluster %s is recreated; logs of the old one: %s\n", old.Name(), old.KeepLogs())
		if err := old.Stop(); err != nil {
			return err
		}
	}
	return b.up(ctx)
}

// Deaths implements testbed.Testbed. Every move goes from east to west or stays in east.
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

// OnceInBoth returns a function that runs do once in each of the two clusters, and once more after the clusters
// were replaced.
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

// players run the pods of movers. Each cluster has one from the first test that needs it.
var players = struct {
	sync.Mutex
	of map[*cluster.Cluster]*player.Player
}{of: map[*cluster.Cluster]*player.Player{}}

// EnforcePolicies makes the players enforce NetworkPolicies, until the test ends. The test must not be parallel.
func EnforcePolicies(t testing.TB) {
	t.Helper()
	enforced.Store(true)
	t.Cleanup(func() { enforced.Store(false) })
}

var enforced atomic.Bool

// Player returns the player of an embedded cluster, which runs the pods of movers for all tests of the package.
func Player(t testing.TB, of Cluster) *player.Player {
	t.Helper()
	parts, mover := PartsOf(of), Program(t, "mover")
	players.Lock()
	defer players.Unlock()
	if p := players.of[parts]; p != nil {
		return p
	}
	p, err := player.Start(context.WithoutCancel(t.Context()), player.Options{
		Config: of.RESTConfig(), Program: mover, Dir: filepath.Join(filepath.Dir(parts.LogFile(cluster.Kwok)), "movers"),
		Enforces: enforced.Load,
	})
	if err != nil {
		t.Fatal(err)
	}
	players.of[parts] = p
	return p
}

// stopPlayer stops the player of a cluster, if it has one.
func stopPlayer(of *cluster.Cluster) {
	players.Lock()
	defer players.Unlock()
	if p := players.of[of]; p != nil {
		p.Stop()
		delete(players.of, of)
	}
}
