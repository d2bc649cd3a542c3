package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/e2e/auditor"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/migration"
	"github.com/sliceshift/sliceshift/migration/plan"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	slicesapi "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// slice and native are the kinds of StatefulSet that a migration drives.
const native = "apps/v1"

var slice = slicesapi.GroupVersion.String()

// sliceControllers run in both clusters, for all tests.
var sliceControllers = oncePerPair(func() error {
	for _, each := range []site{east, west} {
		if err := fixture.RunSlices(context.Background(), each.RESTConfig()); err != nil {
			return err
		}
	}
	return nil
})

// ofKinds moves from one kind of StatefulSet to another.
func ofKinds(from, to string) setting {
	return func(v *move) {
		v.m.Spec.Source.APIVersion, v.m.Spec.Destination.APIVersion = from, to
		if from == slice {
			v.deployed = v.adopted
		}
	}
}

// TestMoveOfKinds moves between our own kind and Kubernetes' own, both ways.
func TestMoveOfKinds(t *testing.T) {
	for name, kinds := range map[string][2]string{
		"ours": {slice, slice}, "native to ours": {native, slice}, "ours to native": {slice, native},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newKindMove(t, kinds)
			v.run()
			v.expectKind(v.here(), kinds[0], 0)
			v.expectKind(v.there(), kinds[1], v.app.Replicas)
			v.expectBudget(v.there())
			v.expectVolumes(v.there(), v.app.Replicas)
			v.audit()
		})
	}
}

// TestRollbackOfKinds takes a move between kinds back in the middle of it.
func TestRollbackOfKinds(t *testing.T) {
	t.Parallel()
	kinds := [2]string{slice, native}
	v := newKindMove(t, kinds)
	mover := v.mover()
	v.drive(mover, func(_ *api.Migration, outcome migration.Outcome) error {
		if outcome.Finished != nil && outcome.Finished.Ordinal == 2 {
			return mover.Store.SetMode(v.ctx, api.ModeRollback)
		}
		return nil
	})
	v.expectKind(v.here(), slice, 3)
	v.expectVolumes(v.here(), 3)
	v.audit()
}

// TestRolloutDuringMove edits the template of both slices in mid-move, between two handoffs or
// while an ordinal is down: roll-outs and handoffs share the budget, with a
// PodDisruptionBudget or without, whether pods are replaced or changed in place. Never are
// two replicas down, and both come to their end. I4.
func TestRolloutDuringMove(t *testing.T) {
	t.Parallel()
	const change = `{"spec":{"template":{"metadata":{"annotations":{"revision":"2"}}}}}`
	between := func(outcome migration.Outcome) bool { return outcome.Finished != nil && outcome.Finished.Ordinal == 2 }
	inFlight := func(outcome migration.Outcome) bool {
		e := outcome.Decision.Effect
		return outcome.Wrote && e != nil && e.Verb == plan.ScaleDown && e.Ordinal == 1
	}
	for name, tc := range map[string]struct {
		bare, inPlace bool
		now           func(migration.Outcome) bool
	}{
		"evicted between handoffs":                              {false, false, between},
		"evicted in a handoff":                                  {false, false, inFlight},
		"without a PodDisruptionBudget between handoffs":        {true, false, between},
		"without a PodDisruptionBudget in a handoff":            {true, false, inFlight},
		"in place between handoffs":                             {false, true, between},
		"in place, without a PodDisruptionBudget, in a handoff": {true, true, inFlight},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newKindMove(t, [2]string{slice, slice}, func(v *move) {
				if tc.inPlace {
					v.deployed = v.adoptedInPlace
				}
				if tc.bare {
					v.app.MaxUnavailable = nil
				}
			})
			edited := false
			v.run(func(_ *api.Migration, outcome migration.Outcome) error {
				if edited || !tc.now(outcome) {
					return nil
				}
				edited = true
				return errors.Join(v.patchKind(v.here(), slice, change), v.patchKind(v.there(), slice, change))
			})
			if !edited {
				t.Error("the template was not edited")
			}
			v.expectKind(v.there(), slice, 3)
			v.expectRevision(v.there(), "2")
			if report := v.audit(); report.FewestAvailable < 2 {
				t.Errorf("of 3 replicas %d were available at %s", report.FewestAvailable, report.FewestAt)
			}
		})
	}
}

// adoptedInPlace makes the source one of ours whose pods are updated in place.
func (v *move) adoptedInPlace() {
	v.t.Helper()
	v.adopted()
	v.must(v.patchKind(v.here(), slice, `{"spec":{
		"updateStrategy":{"rollingUpdate":{"podUpdatePolicy":"InPlaceIfPossible"}},
		"template":{"metadata":{"annotations":{"revision":"1"}},"spec":{"readinessGates":[{"conditionType":"InPlaceUpdateReady"}]}}}}`))
	v.expectRevision(v.here(), "1")
	v.expectKind(v.here(), slice, v.app.Replicas)
}

// expectRevision waits until all pods of the application run at one end, with a revision.
func (v *move) expectRevision(at end, revision string) {
	v.t.Helper()
	v.eventually("all pods run with revision "+revision, func(ctx context.Context) (bool, error) {
		pods, err := at.client.CoreV1().Pods(at.namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		running := int32(0)
		for _, pod := range pods.Items {
			if pod.Annotations["revision"] == revision && pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodRunning {
				running++
			}
		}
		return running == v.app.Replicas && len(pods.Items) == int(running), nil
	})
}

// newKindMove is a move between kinds of StatefulSet. One of ours at the source has
// adopted what apps/v1 had started.
func newKindMove(t *testing.T, kinds [2]string, more ...setting) *move {
	t.Helper()
	if err := sliceControllers(); err != nil {
		t.Fatal(err)
	}
	return newMove(t, usual(3), append([]setting{acrossClusters, ofKinds(kinds[0], kinds[1])}, more...)...)
}

// adopted makes the source one of ours: its pods stay.
func (v *move) adopted() {
	v.t.Helper()
	set, err := v.source.AppsV1().StatefulSets(v.app.Namespace).Get(v.ctx, v.app.Name, metav1.GetOptions{})
	v.must(err)
	orphan := metav1.DeletePropagationOrphan
	v.must(v.source.AppsV1().StatefulSets(v.app.Namespace).Delete(v.ctx, v.app.Name, metav1.DeleteOptions{PropagationPolicy: &orphan}))
	c, err := direct(v.from)
	v.must(err)
	v.eventually("the native set is gone", func(ctx context.Context) (bool, error) {
		err := c.Get(ctx, client.ObjectKeyFromObject(set), &appsv1.StatefulSet{})
		return err != nil, nil
	})
	spec, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&set.Spec)
	v.must(err)
	ours := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	ours.SetAPIVersion(slice)
	ours.SetKind("StatefulSet")
	ours.SetNamespace(v.app.Namespace)
	ours.SetName(v.app.Name)
	v.must(c.Create(v.ctx, ours))
	v.expectKind(v.here(), slice, v.app.Replicas)
}

// kindClient reads and writes StatefulSets of any kind at one end.
func (v *move) kindClient(at end, version string) (client.Client, *unstructured.Unstructured) {
	v.t.Helper()
	where := v.from
	if at == v.there() {
		where = v.to
	}
	c, err := direct(where)
	v.must(err)
	set := &unstructured.Unstructured{}
	set.SetAPIVersion(version)
	set.SetKind("StatefulSet")
	set.SetNamespace(at.namespace)
	set.SetName(at.set)
	return c, set
}

// expectKind waits until a slice has so many available replicas, and no fence.
func (v *move) expectKind(at end, version string, replicas int32) {
	v.t.Helper()
	c, set := v.kindClient(at, version)
	v.eventually("the slice is complete", func(ctx context.Context) (bool, error) {
		if err := c.Get(ctx, client.ObjectKeyFromObject(set), set); err != nil {
			return false, err
		}
		want, _, _ := unstructured.NestedInt64(set.Object, "spec", "replicas")
		have, _, _ := unstructured.NestedInt64(set.Object, "status", "availableReplicas")
		return want == int64(replicas) && have == want, nil
	})
	for _, key := range []string{api.FenceAnnotationKey, slicesapi.MigratingAnnotationKey, slicesapi.MaxUnavailableAnnotationKey} {
		if value, left := set.GetAnnotations()[key]; left {
			v.t.Errorf("%s still has %s: %s", set.GetName(), key, value)
		}
	}
	pods, err := at.client.CoreV1().Pods(at.namespace).List(v.ctx, metav1.ListOptions{})
	v.must(err)
	running := 0
	for _, pod := range pods.Items {
		if pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil {
			running++
		}
	}
	if running != int(replicas) {
		v.t.Errorf("%d pods run in %s, want %d", running, at.namespace, replicas)
	}
}

func (v *move) patchKind(at end, version, patch string) error {
	c, set := v.kindClient(at, version)
	return c.Patch(v.ctx, set, client.RawPatch("application/merge-patch+json", []byte(patch)))
}

// TestAdoptCommand changes the kind of a running set with one command, and changes it back. No
// pod is made anew, and no claim goes.
func TestAdoptCommand(t *testing.T) {
	t.Parallel()
	if err := sliceControllers(); err != nil {
		t.Fatal(err)
	}
	v := newMove(t, usual(3), acrossClusters)
	v.patchSource(`{"spec":{"persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Delete","whenScaled":"Retain"}}}`)
	v.awaitObserved()
	before := v.podUIDs()
	adopt := func(more ...string) {
		cmd := v.cli("adopt", more...)
		cmd.Dir = t.TempDir()
		t.Log(v.exits(cmd, 0))
	}
	adopt()
	v.expectKind(v.here(), slice, 3)
	adopt("--to", "apps")
	v.expectKind(v.here(), native, 3)
	if after := v.podUIDs(); after != before {
		t.Errorf("pods were made anew:\n%s\n%s", before, after)
	}
	v.expectVolumes(v.here(), 3)
	v.auditHandover()
}

// auditHandover is the auditor's verdict where no pod may go, and for a moment nobody owns them:
// between two kinds it cannot tell whose they are, and takes them for held down (I4). That each was
// available all the time, it sees.
func (v *move) auditHandover() {
	v.t.Helper()
	verdict := v.auditor.Finish(v.ctx)
	for _, violation := range verdict.Violations {
		if violation.Invariant != auditor.I4 {
			v.t.Errorf("the auditor does not agree: %s", violation.Message)
		}
	}
	if verdict.FewestAvailable != v.app.Replicas || len(verdict.Unproved) > 0 {
		v.t.Errorf("%d of %d replicas were available at least, at %s, and not proved is %v\n%s", verdict.FewestAvailable, v.app.Replicas, verdict.FewestAt, verdict.Unproved, verdict)
	}
}

// podUIDs are those of the source's pods.
func (v *move) podUIDs() string {
	v.t.Helper()
	pods, err := v.source.CoreV1().Pods(v.app.Namespace).List(v.ctx, metav1.ListOptions{})
	v.must(err)
	var text strings.Builder
	for _, pod := range pods.Items {
		fmt.Fprintf(&text, "%s %s ", pod.Name, pod.UID)
	}
	return text.String()
}
