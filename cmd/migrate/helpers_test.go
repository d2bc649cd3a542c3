package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"github.com/sliceshift/sliceshift/migration/plan"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/pdb"
	"github.com/sliceshift/sliceshift/volumes"
)

var update = flag.Bool("update", false, "write the golden files of testdata")

// golden compares text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; go test -update writes it):\n%s", path, diff)
	}
}

// noon is when every test begins.
var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// console is a process of a test.
type console struct {
	environment
	out, err *bytes.Buffer
	clock    *clocktesting.FakeClock
}

func newConsole(args ...string) *console {
	streams, _, out, errOut := genericiooptions.NewTestIOStreams()
	c := &console{out: out, err: errOut, clock: clocktesting.NewFakeClock(noon)}
	c.environment = environment{
		IOStreams: streams, clock: c.clock, program: "migrate", args: args,
		getenv:   func(string) string { return "" },
		hostname: func() (string, error) { return "machine", nil },
		width:    func() int { return 0 },
		asks:     func() bool { return false },
	}
	return c
}

// run executes the command line.
func (c *console) run(t *testing.T) int {
	t.Helper()
	return execute(context.WithoutCancel(t.Context()), c.environment)
}

// await looks until a condition holds. failed says what is wrong when it never does.
func await(t *testing.T, holds func() bool, failed func() string) {
	t.Helper()
	const patience = 20 * time.Second
	err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, patience, true, func(context.Context) (bool, error) { return holds(), nil })
	if err != nil {
		t.Fatalf("%s: %v", failed(), err)
	}
}

// awaitWaiting waits until the command waits for time to pass.
func (c *console) awaitWaiting(t *testing.T) {
	t.Helper()
	await(t, c.clock.HasWaiters, func() string { return "the command does not wait" })
}

// passTime lets time pass, step by step, until the command ends, and returns its exit
// code.
func (c *console) passTime(t *testing.T, code <-chan int, step time.Duration) (got int) {
	t.Helper()
	await(t, func() bool {
		c.clock.Step(step)
		select {
		case got = <-code:
			return true
		case <-time.After(10 * time.Millisecond): // what the step has set off takes its time
			return false
		}
	}, func() string { return "the command does not end" })
	return got
}

// application describes the snapshot of a healthy StatefulSet shop/web in cluster
// east, which is to move to cluster west.
type application struct {
	replicas  int32
	templates []string
	spec      plan.Spec
}

func (a application) snapshot() plan.Snapshot {
	spec := a.spec
	if spec.Mode == "" {
		spec.Mode = api.ModeRun
	}
	spec.Order, spec.Deadline = api.HighestFirst, 10*time.Minute
	s := plan.Snapshot{
		Now: noon, UID: "migration", Spec: spec,
		Source: plan.Side{
			Cluster: "east", Namespace: "shop", Reach: plan.Seen, NamespaceFound: true,
			Set: plan.Set{
				Presence: plan.Seen, Name: "web", UID: "source", ResourceVersion: "1", Replicas: a.replicas,
				Observed: true, RolledOut: true, Templates: a.templates,
			},
			Budgets: []plan.Budget{{Name: "web", UID: "budget", ResourceVersion: "1", Observed: true, Form: pdb.Unavailable(1)}},
		},
		Destination: plan.Side{
			Cluster: "west", Namespace: "shop", Reach: plan.Seen, NamespaceFound: true,
			Set: plan.Set{Presence: plan.Absent, Name: "web"},
		},
	}
	for ordinal := range a.replicas {
		s.Source.Pods = append(s.Source.Pods, plan.Pod{
			Ordinal: ordinal, UID: types.UID(fmt.Sprintf("pod-%d", ordinal)), Ready: true, ReadySince: noon.Add(-time.Hour), Owned: true,
		})
		for _, template := range a.templates {
			s.Volumes = append(s.Volumes, boundVolume(ordinal, template))
		}
	}
	return s
}

func boundVolume(ordinal int32, template string) plan.OrdinalVolume {
	claim := fmt.Sprintf("%s-web-%d", template, ordinal)
	ref := volumes.Ref{Namespace: "shop", Name: claim}
	bound := ref
	bound.UID = types.UID("claim-" + claim)
	return plan.OrdinalVolume{
		Ordinal: ordinal, Template: template,
		Source: volumes.Holding{
			Ref:   ref,
			Claim: volumes.Claim{Found: true, UID: bound.UID, ResourceVersion: "1", Phase: corev1.ClaimBound, Volume: "pvc-" + claim},
			Volume: volumes.Volume{
				Found: true, Name: "pvc-" + claim, UID: types.UID("pvc-" + claim), ResourceVersion: "1",
				Policy: corev1.PersistentVolumeReclaimDelete, ClaimRef: bound, Handle: "disk-" + claim,
			},
		},
		Destination: volumes.Holding{Ref: ref},
	}
}

// moving is a migration of shop/web with so many of its ordinals moved.
func moving(moved, total int32) *api.Migration {
	m := &api.Migration{}
	m.Namespace, m.Name, m.UID = "shop", "web", "migration"
	m.Spec.Source.Name, m.Spec.Mode = "web", api.ModeRun
	m.Spec.Destination = api.DestinationReference{Namespace: "shop", Name: "web"}
	m.Status = api.MigrationStatus{
		Baseline:    &api.Baseline{Replicas: total, Budget: 1},
		Claim:       &api.Claim{Epoch: 1, Holder: "machine-abc", Direction: api.Forward},
		Source:      &api.SliceStatus{Slice: fmt.Sprintf("east/shop/web [0,%d)", total-moved), Replicas: total - moved, Available: total - moved, MaxUnavailable: ptr.To[int32](0)},
		Destination: &api.SliceStatus{Slice: fmt.Sprintf("west/shop/web [%d,%d)", total-moved, total), Start: total - moved, Replicas: moved, Available: moved},
		Moved:       moved, Total: total,
	}
	return m
}
