package suite

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sliceapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/auditor"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/e2e/kind"
	"github.com/sliceshift/sliceshift/e2e/kind/replica"
	"github.com/sliceshift/sliceshift/e2e/kind/setup"
	"github.com/sliceshift/sliceshift/migration/engine"
	"github.com/sliceshift/sliceshift/migration/plan"
)

const (
	// limit bounds every test: the machine may be busy with others.
	limit = 10 * time.Minute
	// poll is the interval between two checks of a condition.
	poll             = 100 * time.Millisecond
	reasonAnnotation = sliceapi.TerminationReasonAnnotationKey
)

// move is one application that moves from east to west, watched by an auditor.
type move struct {
	t       *testing.T
	ctx     context.Context //nolint:containedctx // a test has one context, and every helper needs it
	app     app
	m       *api.Migration
	auditor *auditor.Auditor
	// at is a client of the cluster that has the Migration, once a manager handles it.
	at client.Client
}

// deploy starts the application in east.
func deploy(t *testing.T, a app) *move {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	a.namespace = "t-" + rand.String(6)
	m := fixture.NewMigration(a.namespace, name)
	m.Spec.Destination.Namespace, m.Spec.Destination.Name, m.Spec.Destination.CreateNamespace = a.namespace, name, true
	fixture.SharePaths(m, "data")
	v := &move{t: t, ctx: ctx, app: a, m: m}
	t.Cleanup(v.clear)
	v.must(v.create())
	return v
}

func (v *move) must(err error) {
	v.t.Helper()
	if err != nil {
		v.t.Fatal(err)
	}
}

// create creates the namespace, the volumes with their first line, and the application.
func (v *move) create() error {
	client, a := pair.East.Client, v.app
	if err := setup.Namespace(v.ctx, pair.East, a.namespace); err != nil {
		return err
	}
	if err := v.createVolumes(); err != nil {
		return err
	}
	if err := replica.Seed(v.ctx, client, a.seeder()); err != nil {
		return err
	}
	if _, err := client.CoreV1().Services(a.namespace).Create(v.ctx, a.service(), metav1.CreateOptions{}); err != nil {
		return err
	}
	if _, err := client.PolicyV1().PodDisruptionBudgets(a.namespace).Create(v.ctx, a.budget(), metav1.CreateOptions{}); err != nil {
		return err
	}
	if a.needs {
		v.createNeeds()
	}
	if a.ours {
		return v.createSlice()
	}
	if _, err := client.AppsV1().StatefulSets(a.namespace).Create(v.ctx, a.statefulSet(), metav1.CreateOptions{}); err != nil {
		return err
	}
	return v.awaitReady(pair.East)
}

// createVolumes creates the volumes in the shared folder, or claims for which a driver creates disks.
func (v *move) createVolumes() error {
	core := pair.East.Client.CoreV1()
	for _, pod := range v.app.pods() {
		var err error
		if v.app.disks == "" {
			_, err = core.PersistentVolumes().Create(v.ctx, v.app.volume(pod), metav1.CreateOptions{})
		} else {
			claim := v.app.claim(metav1.ObjectMeta{Name: "data-" + pod, Labels: labels})
			_, err = core.PersistentVolumeClaims(v.app.namespace).Create(v.ctx, &claim, metav1.CreateOptions{})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (v *move) awaitReady(c *kind.Cluster) error {
	return fixture.App{Namespace: v.app.namespace, Name: name}.AwaitReady(v.ctx, c.Client)
}

// watch starts the auditor. own are the claim templates of which each side has its own volumes.
func (v *move) watch(own ...string) {
	v.t.Helper()
	v.watchWith(auditor.Options{OwnVolumes: own})
}

// watchWith starts the auditor with options for volumes.
func (v *move) watchWith(o auditor.Options) {
	v.t.Helper()
	side := func(c *kind.Cluster) auditor.Side {
		side := auditor.Side{Name: c.Name, Config: c.Config, Namespace: v.app.namespace, Set: name}
		if v.ours(c) {
			side.Resource = sliceapi.GroupVersion.WithResource("statefulsets")
		}
		return side
	}
	o.Source, o.Destination, o.Budget = side(pair.East), side(pair.West), 1
	watching, err := auditor.Start(v.ctx, o)
	v.must(err)
	v.auditor = watching
}

// ours reports whether the set in a cluster is of our own kind.
func (v *move) ours(c *kind.Cluster) bool {
	version := v.m.Spec.Source.APIVersion
	if c == pair.West {
		version = v.m.Spec.Destination.APIVersion
	}
	return version == sliceapi.GroupVersion.String()
}

// nth returns a report that calls do once, after the n-th write of that kind.
func nth(n int, verb plan.Verb, do func() error) harness.Report {
	return func(_ *api.Migration, outcome engine.Outcome) error {
		if !outcome.Wrote || outcome.Decision.Effect.Verb != verb {
			return nil
		}
		if n--; n != 0 {
			return nil
		}
		return do()
	}
}

func (v *move) mover() *fixture.Mover {
	v.t.Helper()
	mover, err := fixture.NewMover(v.ctx, pair.East.Config, pair.West.Config, v.m)
	v.must(err)
	return mover
}

// drive runs the migration to its end in this process.
func (v *move) drive(mover *fixture.Mover, reports ...harness.Report) {
	v.t.Helper()
	harness.Drive(v.ctx, v.t, mover, reports...)
}

// clear removes the objects of the test, unless it failed. With disks it always does, because their driver ends with
// the test.
func (v *move) clear() {
	if v.t.Failed() {
		v.t.Log(pair.Keep(v.t.Name(), v.app.namespace))
		if v.app.disks == "" {
			return
		}
	}
	var volumes []string
	for _, pod := range v.app.pods() {
		volumes = append(volumes, v.app.volume(pod).Name)
	}
	if err := pair.Clear(volumes, v.app.namespace); err != nil {
		v.t.Error(err)
	}
}
