package simulate

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
)

func hookAt(point api.HookPoint) api.Hook {
	spec := corev1.PodSpec{Containers: []corev1.Container{{Name: "tool", Image: "tool"}}}
	return api.Hook{Name: "tell", Point: point, Job: api.HookJob{Spec: api.JobSpec{JobSpec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: spec}}}}}
}

// TestDryRunOfHooks: a dry run shows each hook where it runs, and none prevents its end. A hook that already runs
// is expected to succeed.
func TestDryRunOfHooks(t *testing.T) {
	hooks := []api.Hook{hookAt(api.HookBeforeMigration), hookAt(api.HookBeforeOrdinal), hookAt(api.HookAfterOrdinal), hookAt(api.HookAfterMigration)}
	s := plantest.Scenario{Replicas: 3, Templates: []string{"data"}, Spec: plan.Spec{Hooks: hooks}}.Build()
	result := Run(s)
	if result.Outcome != api.ReasonMoved || result.Held != nil {
		t.Fatalf("it ends with %q, held by %+v", result.Outcome, result.Held)
	}
	var order []string
	for _, step := range result.Steps {
		if e := step.Effect; e.Verb == plan.RunHook || e.Verb == plan.ScaleDown {
			order = append(order, step.Description)
		}
	}
	want := []string{
		"run hook tell (BeforeMigration) on the source",
		"run hook tell (BeforeOrdinal 2) on the source", "stop ordinal 2 on the source: StatefulSet web becomes [0,2)", "run hook tell (AfterOrdinal 2) on the destination",
		"run hook tell (BeforeOrdinal 1) on the source", "stop ordinal 1 on the source: StatefulSet web becomes [0,1)", "run hook tell (AfterOrdinal 1) on the destination",
		"run hook tell (BeforeOrdinal 0) on the source", "stop ordinal 0 on the source: StatefulSet web becomes [0,0)", "run hook tell (AfterOrdinal 0) on the destination",
		"run hook tell (AfterMigration) on the destination",
	}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestDryRunGoesOnWithAHook: the Job of a hook that already runs is expected to succeed.
func TestDryRunGoesOnWithAHook(t *testing.T) {
	s := halfSimulated(t, plantest.Scenario{Replicas: 1, Spec: plan.Spec{Hooks: []api.Hook{hookAt(api.HookBeforeOrdinal)}}}, plan.StartHook, 1).Snapshot()
	if result := Run(s); result.Outcome != api.ReasonMoved {
		t.Errorf("it ends with %q, held by %+v", result.Outcome, result.Held)
	}
}

// TestDryRunOfManyHooks: a dry run ends with any number of hooks.
func TestDryRunOfManyHooks(t *testing.T) {
	var hooks []api.Hook
	for i := range 100 {
		hook := hookAt(api.HookBeforeOrdinal)
		hook.Name = fmt.Sprintf("tell-%d", i)
		hooks = append(hooks, hook)
	}
	result := Run(plantest.Scenario{Replicas: 3, Spec: plan.Spec{Hooks: hooks}}.Build())
	if result.Outcome != api.ReasonMoved {
		t.Errorf("it ends with %q, held by %+v", result.Outcome, result.Held)
	}
}
