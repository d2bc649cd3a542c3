package move

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/auditor"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/migration/engine"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// native is the apiVersion of the Kubernetes StatefulSet, and slice that of ours.
const native = "apps/v1"

var slice = slicesapi.GroupVersion.String()

// sliceControllers runs our controllers in both clusters, for all tests.
var sliceControllers = harness.OnceInBoth(func(at harness.Cluster) error {
	return fixture.RunSlices(context.Background(), at.RESTConfig())
})

// ofKinds moves from one kind of StatefulSet to another.
func ofKinds(from, to string) harness.Setting {
	return by(func(v *move) {
		v.Migration.Spec.Source.APIVersion, v.Migration.Spec.Destination.APIVersion = from, to
		if from == slice {
			v.Deployed = v.adopted
		}
	})
}

// TestMoveOfKinds moves between our own kind and that of Kubernetes, in both directions.
func TestMoveOfKinds(t *testing.T) {
	for name, kinds := range map[string][2]string{
		"ours": {slice, slice}, "native to ours": {native, slice}, "ours to native": {slice, native},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newKindMove(t, kinds)
			v.Run()
			v.expectKind(v.Here(), kinds[0], 0)
			v.expectKind(v.There(), kinds[1], v.App.Replicas)
			v.ExpectBudget(v.There())
			v.ExpectVolumes(v.There(), v.App.Replicas)
			v.Audit()
		})
	}
}

// TestRollbackOfKinds rolls a move between kinds back halfway.
func TestRollbackOfKinds(t *testing.T) {
	t.Parallel()
	kinds := [2]string{slice, native}
	v := newKindMove(t, kinds)
	mover := v.Mover()
	v.Drive(mover, func(_ *api.Migration, outcome engine.Outcome) error {
		if outcome.Finished != nil && outcome.Finished.Ordinal == 2 {
			return mover.Store.SetMode(v.Ctx, api.ModeRollback)
		}
		return nil
	})
	v.expectKind(v.Here(), slice, 3)
	v.ExpectVolumes(v.Here(), 3)
	v.Audit()
}

// TestRolloutDuringMove edits the template of each slice during a move, between two handoffs or while an
// ordinal is down. Rollouts and handoffs share the budget, with or without a PodDisruptionBudget, whether pods
// are recreated or updated in place. At most one replica is down at a time, and the rollout and the move both
// complete. I4.
func TestRolloutDuringMove(t *testing.T) {
	t.Parallel()
	const change = `{"spec":{"template":{"metadata":{"annotations":{"revision":"2"}}}}}`
	between := func(outcome engine.Outcome) bool { return outcome.Finished != nil && outcome.Finished.Ordinal == 2 }
	inFlight := func(outcome engine.Outcome) bool {
		e := outcome.Decision.Effect
		return outcome.Wrote && e != nil && e.Verb == plan.ScaleDown && e.Ordinal == 1
	}
	for name, tc := range map[string]struct {
		bare, inPlace bool
		now           func(engine.Outcome) bool
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
			v := newKindMove(t, [2]string{slice, slice}, by(func(v *move) {
				if tc.inPlace {
					v.Deployed = v.adoptedInPlace
				}
				if tc.bare {
					v.App.MaxUnavailable = nil
				}
			}))
			edited := false
			v.Run(func(_ *api.Migration, outcome engine.Outcome) error {
				if edited || !tc.now(outcome) {
					return nil
				}
				edited = true
				return errors.Join(v.patchKind(v.Here(), slice, change), v.patchKind(v.There(), slice, change))
			})
			if !edited {
				t.Error("the template was not edited")
			}
			v.expectKind(v.There(), slice, 3)
			v.expectRevision(v.There(), "2")
			if report := v.Audit(); report.FewestAvailable < 2 {
				t.Errorf("of 3 replicas %d were available at %s", report.FewestAvailable, report.FewestAt)
			}
		})
	}
}

// adoptedInPlace converts the source to our kind, with in-place updates of its pods.
func (v *move) adoptedInPlace() {
	v.T.Helper()
	v.adopted()
	v.Must(v.patchKind(v.Here(), slice, `{"spec":{
		"updateStrategy":{"rollingUpdate":{"podUpdatePolicy":"InPlaceIfPossible"}},
		"template":{"metadata":{"annotations":{"revision":"1"}},"spec":{"readinessGates":[{"conditionType":"InPlaceUpdateReady"}]}}}}`))
	v.expectRevision(v.Here(), "1")
	v.expectKind(v.Here(), slice, v.App.Replicas)
}

// expectRevision waits until all pods of the application run on one side with this revision.
func (v *move) expectRevision(at harness.Endpoint, revision string) {
	v.T.Helper()
	v.Eventually("all pods run with revision "+revision, func(ctx context.Context) (bool, error) {
		pods, err := at.Client.CoreV1().Pods(at.Namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		running := int32(0)
		for _, pod := range pods.Items {
			if pod.Annotations["revision"] == revision && pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodRunning {
				running++
			}
		}
		return running == v.App.Replicas && len(pods.Items) == int(running), nil
	})
}

// newKindMove returns a move between kinds of StatefulSet. A source of our kind has adopted pods that apps/v1
// had started.
func newKindMove(t *testing.T, kinds [2]string, more ...harness.Setting) *move {
	t.Helper()
	if err := sliceControllers(); err != nil {
		t.Fatal(err)
	}
	return newMove(t, harness.Usual(3), append([]harness.Setting{harness.AcrossClusters, ofKinds(kinds[0], kinds[1])}, more...)...)
}

// orphaned deletes the source's Kubernetes StatefulSet and keeps its pods. It returns the set, and its spec in
// a form that other kinds accept.
func (v *move) orphaned() (*appsv1.StatefulSet, map[string]any) {
	v.T.Helper()
	sets := v.Source.AppsV1().StatefulSets(v.App.Namespace)
	set, err := sets.Get(v.Ctx, v.App.Name, metav1.GetOptions{})
	v.Must(err)
	v.Must(v.deleteSet(v.Here(), metav1.DeletePropagationOrphan))
	v.Eventually("the native set is gone", func(ctx context.Context) (bool, error) {
		_, err := sets.Get(ctx, v.App.Name, metav1.GetOptions{})
		return apierrors.IsNotFound(err), ignoreMissing(err)
	})
	spec, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&set.Spec)
	v.Must(err)
	return set, spec
}

// adopted converts the source to our kind and keeps its pods.
func (v *move) adopted() {
	v.T.Helper()
	_, spec := v.orphaned()
	c, ours := v.kindClient(v.Here(), slice)
	ours.Object["spec"] = spec
	v.Must(c.Create(v.Ctx, ours))
	v.expectKind(v.Here(), slice, v.App.Replicas)
}

// kindClient returns a client and an object for the StatefulSet of any kind on one side.
func (v *move) kindClient(at harness.Endpoint, version string) (client.Client, *unstructured.Unstructured) {
	v.T.Helper()
	where := v.From
	if at == v.There() {
		where = v.To
	}
	c, err := harness.Client(where)
	v.Must(err)
	set := &unstructured.Unstructured{}
	set.SetAPIVersion(version)
	set.SetKind("StatefulSet")
	set.SetNamespace(at.Namespace)
	set.SetName(at.Set)
	return c, set
}

// expectKind waits until a slice has this number of available replicas and no fence.
func (v *move) expectKind(at harness.Endpoint, version string, replicas int32) {
	v.T.Helper()
	c, set := v.kindClient(at, version)
	v.Eventually("the slice is complete", func(ctx context.Context) (bool, error) {
		if err := c.Get(ctx, client.ObjectKeyFromObject(set), set); err != nil {
			return false, err
		}
		want, _, _ := unstructured.NestedInt64(set.Object, "spec", "replicas")
		have, _, _ := unstructured.NestedInt64(set.Object, "status", "availableReplicas")
		return want == int64(replicas) && have == want, nil
	})
	for _, key := range []string{api.FenceAnnotationKey, slicesapi.MigratingAnnotationKey, slicesapi.MaxUnavailableAnnotationKey} {
		if value, left := set.GetAnnotations()[key]; left {
			v.T.Errorf("%s still has %s: %s", set.GetName(), key, value)
		}
	}
	pods, err := at.Client.CoreV1().Pods(at.Namespace).List(v.Ctx, metav1.ListOptions{})
	v.Must(err)
	running := 0
	for _, pod := range pods.Items {
		if pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil {
			running++
		}
	}
	if running != int(replicas) {
		v.T.Errorf("%d pods run in %s, want %d", running, at.Namespace, replicas)
	}
}

func (v *move) patchKind(at harness.Endpoint, version, patch string) error {
	c, set := v.kindClient(at, version)
	return c.Patch(v.Ctx, set, client.RawPatch("application/merge-patch+json", []byte(patch)))
}

// TestAdoptCommand changes the kind of a running set with one command, and changes it back. No pod is
// recreated, and no claim is deleted.
func TestAdoptCommand(t *testing.T) {
	t.Parallel()
	if err := sliceControllers(); err != nil {
		t.Fatal(err)
	}
	v := newMove(t, harness.Usual(3), harness.AcrossClusters)
	v.patchSource(`{"spec":{"persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Delete","whenScaled":"Retain"}}}`)
	v.awaitObserved()
	before := v.podUIDs()
	adopt := func(more ...string) {
		cmd := v.cli("adopt", more...)
		cmd.Dir = t.TempDir()
		t.Log(v.exits(cmd, 0))
	}
	adopt()
	v.expectKind(v.Here(), slice, 3)
	adopt("--to", "apps")
	v.expectKind(v.Here(), native, 3)
	if after := v.podUIDs(); after != before {
		t.Errorf("pods were made anew:\n%s\n%s", before, after)
	}
	v.ExpectVolumes(v.Here(), 3)
	v.auditHandover()
}

// auditHandover checks the auditor's verdict for a change of kind, in which no pod may be deleted. For a moment
// the pods have no owner, and the auditor then counts them as down (I4). It does observe that each pod was
// available all the time.
func (v *move) auditHandover() {
	v.T.Helper()
	verdict := v.Auditor.Finish(v.Ctx)
	for _, violation := range verdict.Violations {
		if violation.Invariant != auditor.I4 {
			v.T.Errorf("the auditor does not agree: %s", violation.Message)
		}
	}
	if verdict.FewestAvailable != v.App.Replicas || len(verdict.Unproved) > 0 {
		v.T.Errorf("%d of %d replicas were available at least, at %s, and not proved is %v\n%s", verdict.FewestAvailable, v.App.Replicas, verdict.FewestAt, verdict.Unproved, verdict)
	}
}

// podUIDs returns the UIDs of the source's pods.
func (v *move) podUIDs() string {
	v.T.Helper()
	var text strings.Builder
	for _, pod := range v.sourcePods() {
		fmt.Fprintf(&text, "%s %s ", pod.Name, pod.UID)
	}
	return text.String()
}
