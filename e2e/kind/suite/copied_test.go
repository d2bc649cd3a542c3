package suite

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/e2e/kind"
	"github.com/sliceshift/sliceshift/e2e/kind/disks"
	"github.com/sliceshift/sliceshift/e2e/kind/journal"
	"github.com/sliceshift/sliceshift/e2e/kind/setup"
	"github.com/sliceshift/sliceshift/migration/engine"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/copy/manifest"
)

// provisioners are the two drivers of a copy: each cluster has its own, over one backend. So the test, independently
// of the movers, can compare the disks of the two sides.
type provisioners struct {
	*disks.Disks

	east, west string
}

// startProvisioners starts a separate driver in each cluster until the test ends. of is a name prefix that is unique
// per test.
func startProvisioners(t *testing.T, of string) provisioners {
	t.Helper()
	p := provisioners{east: of + ".east.example.com", west: of + ".west.example.com"}
	p.Disks = startDisks(t, disks.Site{Cluster: pair.East, Driver: p.east}, disks.Site{Cluster: pair.West, Driver: p.west})
	return p
}

// TestCopyBetweenProvisioners: replicas that write continuously move by copies from the disks of one provisioner to
// those of another. Movers, the manager and the link between the movers fail meanwhile. Each replica starts on a disk
// with all its data at the stop, and no line that a reader has seen is lost.
func TestCopyBetweenProvisioners(t *testing.T) {
	t.Parallel()
	p := startProvisioners(t, "copied")
	for name, try := range map[string]func(*testing.T, provisioners){
		"there, back, and there again":       thereAndBack,
		"its movers are killed":              moversKilled,
		"its manager is killed at each step": managerKilled,
		"its link breaks every second":       linkBroken,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			try(t, p)
		})
	}
}

// alone returns an application of one replica that writes continuously to a disk of east's provisioner, with bulk MiB
// more.
func (p provisioners) alone(bulk int) app {
	a := busy(disks.Late(p.east))
	a.replicas, a.bulk = 1, bulk
	return a
}

// deploy starts an application that moves by copies to disks of west's provisioner.
func (p provisioners) deploy(t *testing.T, a app, way api.CopySpec) (*move, *witness) {
	t.Helper()
	v := deploy(t, a)
	v.m.Spec.Volumes = p.copied(way)
	v.watchDisks(p.Disks)
	return v, v.witnessed()
}

// copied returns volumes that are copied to disks of west's provisioner.
func (p provisioners) copied(way api.CopySpec) []api.VolumeSpec {
	way.Image, way.ServiceType = managerImage, corev1.ServiceTypeNodePort
	return []api.VolumeSpec{{ClaimTemplate: "data", Method: api.MethodCopy, StorageClassName: new(disks.Late(p.west)), Copy: way}}
}

// expectRuns checks how often each replica was started.
func (v *move) expectRuns(journals []journal.Journal, want int) {
	v.t.Helper()
	for _, j := range journals {
		if len(j.Runs) != want {
			v.t.Errorf("%s ran %d times, want %d: %+v", j.Pod, len(j.Runs), want, j.Runs)
		}
	}
}

// expectCopied checks that the one replica arrived, on a disk of west's provisioner with all data that the witness has
// read.
func (p provisioners) expectCopied(v *move, w *witness) []journal.Journal {
	v.t.Helper()
	journals := v.expectMoved()
	v.expectKnown(w, pair.West)
	v.expectSealed(disks.Late(p.west))
	v.expectCompared(1)
	v.expectNoMovers()
	return journals
}

func thereAndBack(t *testing.T, p provisioners) {
	v, w := p.deploy(t, p.alone(8), api.CopySpec{})
	before, mover := v.handles(pair.East), v.mover()
	v.drive(mover, harness.Arrival(0)(func() error {
		v.expectSealed(disks.Late(p.west))
		return mover.Store.SetMode(v.ctx, api.ModeRollback)
	}))
	v.expectRuns(v.expectBack(), 3)
	v.expectKnown(w, pair.East)
	back := v.handles(pair.East)
	v.expectOthers(before, back, pair.East)
	w = v.witnessed()
	v.must(mover.Store.SetMode(v.ctx, api.ModeRun))
	v.drive(mover)
	v.expectSlice(pair.East, 0)
	v.expectSlice(pair.West, v.app.replicas)
	journals := v.journals(pair.West)
	v.expectRuns(journals, 4)
	v.expectKnown(w, pair.West)
	v.expectOthers(back, v.handles(pair.West), pair.East)
	v.expectCompared(3)
	v.expectNoMovers()
	v.audit(journals, "copied to disks of another provisioner, all back, and there again")
}

// moverMade returns the moment at which a receiver is created, for a warm pass while the ordinal runs or for the last
// pass.
func moverMade(warm bool) harness.Moment {
	return harness.Wrote(func(e *plan.Effect) bool {
		return e.Verb == plan.CarryVolume && e.Volume.Verb == volumes.CreateMover && e.Volume.Copy.Role == volumes.RoleReceiver && e.Volume.Copy.Warm == warm
	})
}

// TestCopyTurnedBack: until the copy is taken over, a replica returns to its original disk, and afterwards to a copy.
func TestCopyTurnedBack(t *testing.T) {
	t.Parallel()
	p := startProvisioners(t, "turned")
	for name, tc := range map[string]struct {
		at    harness.Moment
		taken bool
	}{
		"claim made":          {harness.CopyStep(volumes.CreateIncoming, ""), false},
		"warm receiver made":  {moverMade(true), false},
		"warm sender made":    {harness.CopyStep(volumes.CreateMover, volumes.RoleWarm), false},
		"warm sender told":    {harness.CopyStep(volumes.TellMover, volumes.RoleWarm), false},
		"stopped":             {harness.WroteOn(plan.SourceSide, plan.ScaleDown), false},
		"outgoing claim made": {harness.CopyStep(volumes.CreateOutgoing, ""), false},
		"released":            {harness.CopyStep(volumes.Release, ""), false},
		"last receiver made":  {moverMade(false), false},
		"last sender made":    {harness.CopyStep(volumes.CreateMover, volumes.RoleSender), false},
		"last sender told":    {harness.CopyStep(volumes.TellMover, volumes.RoleSender), false},
		"sealed":              {harness.CopyStep(volumes.DeleteMover, volumes.RoleSender), false},
		"taken over":          {harness.CopyStep(volumes.TakeOver, ""), true},
		"started on the copy": {harness.WroteOn(plan.DestinationSide, plan.ScaleUp), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v, w := p.deploy(t, p.alone(0), api.CopySpec{})
			before, mover := v.handles(pair.East), v.mover()
			v.drive(mover, tc.at(func() error { return mover.Store.SetMode(v.ctx, api.ModeRollback) }))
			journals := v.expectBack()
			v.expectKnown(w, pair.East)
			if now := v.handles(pair.East); maps.Equal(now, before) == tc.taken {
				t.Errorf("the disks are %v, and were %v", now, before)
			}
			v.expectNoMovers()
			v.audit(journals, "turned back: "+name)
		})
	}
}

// moversKilled: the process of each mover is killed as soon as it may begin, of a warm pass and of the last, on both
// sides.
func moversKilled(t *testing.T, p provisioners) {
	v, w := p.deploy(t, p.alone(32), api.CopySpec{})
	killed := map[string]bool{}
	v.drive(v.mover(), func(_ *api.Migration, outcome engine.Outcome) error {
		e := outcome.Decision.Effect
		if !outcome.Wrote || e.Verb != plan.CarryVolume || e.Volume.Verb != volumes.TellMover {
			return nil
		}
		about := e.Volume.Copy
		which := fmt.Sprintf("%s, warm: %t", about.Role, about.Warm)
		if killed[which] {
			return nil
		}
		killed[which] = true
		return v.killMover(e.Volume.AtGiver, about.Pod)
	})
	journals := p.expectCopied(v, w)
	if len(killed) < 3 {
		t.Errorf("killed were only %v", slices.Sorted(maps.Keys(killed)))
	}
	v.audit(journals, fmt.Sprintf("killed: %v", slices.Sorted(maps.Keys(killed))))
}

// killMover kills the process of a mover once it runs.
func (v *move) killMover(atGiver bool, name string) error {
	at := pair.West
	if atGiver {
		at = pair.East
	}
	return pollUntil(v.ctx, func(ctx context.Context) (bool, error) {
		pod, err := at.Client.CoreV1().Pods(v.app.namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		n, err := kind.Kill(pod.UID, "mover")
		if n > 0 {
			v.t.Logf("killed the process of %s, role %s", name, pod.Labels[manifest.RoleLabelKey])
		}
		return n > 0, err
	})
}

// managerKilled: the manager's pods are killed whenever the Migration reports a new step.
func managerKilled(t *testing.T, p provisioners) {
	v, w := p.deploy(t, p.alone(0), api.CopySpec{})
	v.grant()
	for _, c := range pair.Both() {
		v.must(setup.MoverMay(v.ctx, c, v.app.namespace, setup.RunsPods))
	}
	v.must(v.reachFrom(pair.Hub)) // no other test needs its manager all the time
	v.starts(pair.Hub)
	seen := map[api.Step]bool{}
	v.awaitMigration("it is completed", func() bool {
		if h := v.m.Status.Handoff; h != nil && h.Step != "" && !seen[h.Step] {
			seen[h.Step] = true
			t.Logf("the manager is killed in step %s", h.Step)
			v.must(killManager(v.ctx, pair.Hub))
		}
		return meta.IsStatusConditionTrue(v.m.Status.Conditions, api.ConditionCompleted)
	})
	journals := p.expectCopied(v, w)
	if len(seen) < 4 {
		t.Errorf("it was killed in %v only", slices.Sorted(maps.Keys(seen)))
	}
	v.audit(journals, fmt.Sprintf("the manager was killed in %v", slices.Sorted(maps.Keys(seen))))
}

// killManager deletes the pods of a manager without grace; their Deployment recreates them.
func killManager(ctx context.Context, c *kind.Cluster) error {
	return c.Client.CoreV1().Pods(setup.ManagerNamespace).DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}, metav1.ListOptions{})
}

// linkBroken: all connections of the movers are cut every second, during a copy that takes many seconds.
func linkBroken(t *testing.T, p provisioners) {
	v, w := p.deploy(t, p.alone(48), api.CopySpec{Bandwidth: new(resource.MustParse("4Mi"))})
	broken := v.breakEverySecond(pair.West.Worker())
	v.drive(v.mover())
	times := broken()
	journals := p.expectCopied(v, w)
	if times < 5 {
		t.Errorf("the link was broken %d times only", times)
	}
	v.audit(journals, fmt.Sprintf("the link was broken %d times", times))
}

// breakEverySecond cuts the connections to receivers on a node every second, until broken is called. broken returns
// how often a connection was cut.
func (v *move) breakEverySecond(node string) (broken func() int) {
	ctx, cancel := context.WithCancel(v.ctx)
	ended, times := make(chan error, 1), 0
	go func() {
		every := time.NewTicker(time.Second)
		defer every.Stop()
		for {
			select {
			case <-ctx.Done():
				ended <- nil
				return
			case <-every.C:
			}
			met, err := kind.Break(ctx, node, manifest.Port, 200*time.Millisecond)
			if err != nil && ctx.Err() == nil {
				ended <- err
				return
			}
			if met > 0 {
				times++
			}
		}
	}()
	return func() int {
		cancel()
		v.must(<-ended)
		return times
	}
}
