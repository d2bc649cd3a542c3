package suite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/e2e/kind"
	"github.com/sliceshift/sliceshift/migration/engine"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// The tests of this file stop machines that all tests use, so none of them is parallel. Their names begin with
// TestNode, by which make kind-machines runs them after all other tests.

func needMachines(t *testing.T) {
	t.Helper()
	if pair.Own() {
		t.Skip("the machines of the user's own clusters cannot be stopped")
	}
}

// TestNodeRestart: the machine that runs the pods of one side loses power during a handoff.
func TestNodeRestart(t *testing.T) {
	needMachines(t)
	for _, tc := range []struct {
		name  string
		verb  plan.Verb
		which func() *kind.Cluster
	}{
		{"source while the ordinal ends", plan.ScaleDown, func() *kind.Cluster { return pair.East }},
		{"destination while the ordinal starts", plan.ScaleUp, func() *kind.Cluster { return pair.West }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := deploy(t, usual())
			v.watch()
			crashed := make(chan error, 1)
			v.drive(v.mover(), nth(2, tc.verb, func() error {
				go func() { crashed <- pair.Crash(v.ctx, tc.which(), tc.which().Worker()) }()
				return nil
			}))
			v.must(<-crashed)
			v.audit(v.expectMoved(), "power cut and start")
		})
	}
}

// TestNodeCopy: the machine of either side loses power during the copy of a replica: while the replica runs, while it
// is down, and after its copy was taken over.
func TestNodeCopy(t *testing.T) {
	needMachines(t)
	for _, tc := range []struct {
		name  string
		at    harness.Moment
		which *kind.Cluster
	}{
		{"source while it is read beside the replica", harness.CopyStep(volumes.TellMover, volumes.RoleWarm), pair.East},
		{"source in the last pass", harness.CopyStep(volumes.TellMover, volumes.RoleSender), pair.East},
		{"destination in the last pass", harness.CopyStep(volumes.TellMover, volumes.RoleSender), pair.West},
		{"destination when it has taken over", harness.CopyStep(volumes.TakeOver, ""), pair.West},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := usual()
			a.replicas = 1
			v := deploy(t, a)
			class := "disks-" + v.app.namespace
			v.must(v.disks(class))
			v.m.Spec.Volumes = []api.VolumeSpec{{ClaimTemplate: "data", Method: api.MethodCopy, StorageClassName: &class, Copy: api.CopySpec{
				Image: managerImage, ServiceType: corev1.ServiceTypeNodePort,
			}}}
			v.watch("data")
			crashed := make(chan error, 1)
			v.drive(v.mover(), tc.at(func() error {
				go func() { crashed <- pair.Crash(v.ctx, tc.which, tc.which.Worker()) }()
				return nil
			}))
			v.must(<-crashed)
			journals := v.expectMoved()
			v.expectSealed(class)
			v.expectNoMovers()
			v.audit(journals, "power cut and start in a copy")
		})
	}
}

// outage is a way to lose a machine while its API server keeps the objects.
type outage struct {
	cut, heal func(context.Context, string) error
	// runs is true if the pods continue to run meanwhile.
	runs bool
}

// TestNodeCutOff: the source's machine loses its connection to the API server, or freezes, before an ordinal is
// stopped. The pod's object stays. The ordinal must not start elsewhere until the machine is back and the pod is
// deleted.
func TestNodeCutOff(t *testing.T) {
	needMachines(t)
	t.Run("its pods go on", func(t *testing.T) {
		tryOutage(t, outage{cut: pair.East.CutOff, heal: pair.East.Heal, runs: true})
	})
	t.Run("frozen", func(t *testing.T) {
		tryOutage(t, outage{cut: kind.Freeze, heal: pair.East.Thaw})
	})
}

func tryOutage(t *testing.T, o outage) {
	t.Helper()
	v := deploy(t, usual())
	v.m.Spec.Handoff.ProgressDeadlineSeconds = ptr.To[int32](45)
	v.watch()
	worker := pair.East.Worker()
	var atStall int
	healed := make(chan error, 1)
	v.drive(v.mover(),
		nth(1, plan.CarryVolume, func() error { return o.cut(v.ctx, worker) }), // sets Retain, before the stop
		v.onStall(api.ReasonPodTerminating, "web-2", func() error {
			if err := pair.East.AwaitNode(v.ctx, worker, corev1.ConditionUnknown); err != nil {
				return err
			}
			atStall = v.lines("web-2")
			go func() { healed <- v.healLater(worker, atStall, o) }()
			return nil
		}),
		func(*api.Migration, engine.Outcome) error { return v.oneSideOnly("web-2") })
	v.must(<-healed)
	journals := v.expectMoved()
	if lines := journals[2].Runs[0].Lines; o.runs && lines <= atStall {
		t.Errorf("web-2 wrote %d lines at the source, and %d had been written when the migration stalled: it did not go on", lines, atStall)
	}
	v.audit(journals, "stalled, then healed")
}

// healLater restores the machine. If its pod runs all the while, the pod must first write some more lines, unseen by
// the cluster.
func (v *move) healLater(worker string, before int, o outage) error {
	const more = 15
	err := pollUntil(v.ctx, func(context.Context) (bool, error) { return !o.runs || v.lines("web-2") >= before+more, nil })
	if err != nil {
		return fmt.Errorf("the pod on the machine that is cut off does not go on: %w", err)
	}
	return o.heal(v.ctx, worker)
}

// lines counts the lines of a journal, in the folder of this machine that is the storage.
func (v *move) lines(pod string) int {
	content, err := os.ReadFile(filepath.Join(pair.SharedDir(), v.app.namespace, pod, "journal"))
	if err != nil {
		return 0
	}
	return strings.Count(string(content), "\n")
}

// oneSideOnly returns an error if a pod exists in both clusters.
func (v *move) oneSideOnly(pod string) error {
	for _, c := range []*kind.Cluster{pair.West, pair.East} { // west first: it must not be created before east's is deleted
		list, err := c.Client.CoreV1().Pods(v.app.namespace).List(v.ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + pod})
		if err != nil || len(list.Items) == 0 {
			return err
		}
	}
	return errors.New(pod + " exists on both sides")
}
