package preflight

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters/clustertest"
	"github.com/sliceshift/sliceshift/migration/endpoint/endpointtest"
	"github.com/sliceshift/sliceshift/migration/plan"
)

func tellHook(change func(*api.Hook)) api.Hook {
	spec := batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "tool", Image: "tool"}}}}}
	hook := api.Hook{Name: "tell", Point: api.HookBeforeOrdinal, OnRollback: api.HookRollbackSkip, Job: api.HookJob{Spec: api.JobSpec{JobSpec: spec}}}
	if change != nil {
		change(&hook)
	}
	return hook
}

// TestJobHooks: hooks that could not run refuse a migration: because of their spec, a missing right on their side, or
// a refused Job or pod.
func TestJobHooks(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "x"}, "tell", nil)
	for name, tc := range map[string]struct {
		change func(*api.Hook)
		// lacks is true if the rights are missing; refused is the kind that is refused: Job or Pod.
		lacks   bool
		refused string
		want    string
		asks    []string
	}{
		"nothing":          {want: "", asks: []string{"Job", "Pod"}},
		"it never ends":    {change: func(h *api.Hook) { h.Job.Spec.Suspend = new(true) }, want: "HookInvalid hook tell"},
		"a right":          {lacks: true, want: "PermissionMissing StatefulSet shop/web in cluster east"},
		"its Job":          {refused: "Job", want: "HookRefused hook tell in cluster east", asks: []string{"Job"}},
		"its pod":          {refused: "Pod", want: "HookRefused hook tell in cluster east", asks: []string{"Job", "Pod"}},
		"on the other one": {change: func(h *api.Hook) { h.Side = api.GateDestination }, refused: "Job", lacks: true, want: ""},
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			var asked []string
			east := clustertest.Hooked(clustertest.Hooks{Create: func(_ context.Context, _ client.WithWatch, object client.Object, options ...client.CreateOption) error {
				mu.Lock()
				defer mu.Unlock()
				kind := "Pod"
				switch object := object.(type) {
				case *authorizationv1.SelfSubjectAccessReview:
					object.Status.Allowed = !tc.lacks
					return nil
				case *batchv1.Job:
					kind = "Job"
				case *corev1.Pod:
				default:
					return nil
				}
				if !slices.Contains(options, client.CreateOption(client.DryRunAll)) {
					t.Errorf("a %s is made", kind)
				}
				asked = append(asked, kind)
				if kind == tc.refused {
					return forbidden
				}
				return nil
			}})
			west := clustertest.Hooked(clustertest.Hooks{Create: func(_ context.Context, _ client.WithWatch, object client.Object, _ ...client.CreateOption) error {
				if review, one := object.(*authorizationv1.SelfSubjectAccessReview); one {
					review.Status.Allowed = true
				}
				return nil
			}})
			e := &Inspector{Pair: endpointtest.Pair(east, west)}
			m := &api.Migration{Spec: api.MigrationSpec{Hooks: []api.Hook{tellHook(tc.change)}}}
			findings, err := e.jobHooks(t.Context(), m, &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Spec: appsv1.StatefulSetSpec{Replicas: new(int32(2))}})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range findings {
				got = append(got, f.Reason+" "+f.Object)
				if f.Message == "" || f.Remedy == "" {
					t.Errorf("found %+v", f)
				}
			}
			if strings.Join(got, "; ") != tc.want || !slices.Equal(asked, tc.asks) {
				t.Errorf("found %q, want %q; asked %q", got, tc.want, asked)
			}
		})
	}
}

// TestRunsOn: a hook needs its rights on the side that runs it, also for the rollback unless it is skipped then.
func TestRunsOn(t *testing.T) {
	for name, tc := range map[string]struct {
		change              func(*api.Hook)
		source, destination bool
	}{
		"before":               {nil, true, false},
		"after":                {func(h *api.Hook) { h.Point = api.HookAfterMigration }, false, true},
		"there and back":       {func(h *api.Hook) { h.OnRollback = "" }, true, true},
		"always on that side":  {func(h *api.Hook) { h.OnRollback, h.Side = "", api.GateDestination }, false, true},
		"always on this, here": {func(h *api.Hook) { h.OnRollback, h.Side, h.Point = "", api.GateSource, api.HookAfterOrdinal }, true, false},
	} {
		hooks := []api.Hook{tellHook(tc.change)}
		if runsOn(hooks, plan.SourceSide) != tc.source || runsOn(hooks, plan.DestinationSide) != tc.destination {
			t.Errorf("%s: it runs on the source: %t, and on the destination: %t", name, runsOn(hooks, plan.SourceSide), runsOn(hooks, plan.DestinationSide))
		}
	}
}
