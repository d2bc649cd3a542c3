package engine

import (
	"os"
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	lua "github.com/yuin/gopher-lua"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// waited is a Migration in one state, with the verdict of tools that wait for it.
type waited struct {
	migration *api.Migration
	state     api.State
	kstatus   status.Status
	argo      string
}

// inState renders a decision about a Migration of generation 2.
func inState(mode api.Mode, handoff bool, decision plan.Decision) *api.Migration {
	m := &api.Migration{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Generation: 2}}
	m.Spec.Source.Name, m.Spec.Mode = "web", mode
	m.Status.Baseline, m.Status.Total = &api.Baseline{Replicas: 5}, 5
	if handoff {
		m.Status.Handoff = &api.Handoff{Ordinal: 4, Step: api.StepCarryVolumes}
	}
	render(m, plan.Snapshot{Spec: plan.Spec{Mode: mode}}, decision)
	return m
}

// everyState returns a Migration in each state.
func everyState() map[string]waited {
	stall := plan.Stalled(api.ReasonForeignScale, "somebody has scaled it", "stop that")
	wait := func(reason string) plan.Decision {
		return plan.Decision{Hold: &plan.Hold{Reason: reason, Message: "waiting for it"}}
	}
	created := &api.Migration{ObjectMeta: metav1.ObjectMeta{Generation: 1}, Status: api.MigrationStatus{ObservedGeneration: -1}} // the default of the definition
	refused := &api.Migration{ObjectMeta: metav1.ObjectMeta{Generation: 1}}
	render(refused, plan.Snapshot{}, *stall)
	changed := inState(api.ModeRun, false, plan.Decision{Done: api.ReasonRolledBack})
	changed.Generation = 3
	deleted := inState(api.ModeRun, true, plan.Decision{})
	deleted.DeletionTimestamp = &metav1.Time{Time: metav1.Now().Time}
	unreadable := inState(api.ModeRun, false, *plan.Stalled(api.ReasonFieldUnreadable, "spec.x cannot be read", "write it"))
	return map[string]waited{
		"created":               {created, "", status.InProgressStatus, "Progressing"},
		"waiting in line":       {inState(api.ModeRun, false, wait(api.ReasonQueued)), "Moving", status.InProgressStatus, "Progressing"},
		"outside of its window": {inState(api.ModeRun, false, wait(api.ReasonOutsideWindow)), "Waiting", status.InProgressStatus, "Progressing"},
		"moving":                {inState(api.ModeRun, true, plan.Decision{}), "Moving", status.InProgressStatus, "Progressing"},
		"between two":           {inState(api.ModeRun, false, plan.Decision{}), "Moving", status.InProgressStatus, "Progressing"},
		"pausing":               {inState(api.ModePause, true, plan.Decision{}), "Pausing", status.InProgressStatus, "Progressing"},
		"paused":                {inState(api.ModePause, false, wait(api.ReasonPaused)), "Paused", status.InProgressStatus, "Suspended"},
		"stalled":               {inState(api.ModeRun, true, *stall), "Stalled", status.FailedStatus, "Degraded"},
		"refused":               {refused, "Refused", status.FailedStatus, "Degraded"},
		"invalid":               {unreadable, "Stalled", status.FailedStatus, "Degraded"},
		"going back":            {inState(api.ModeRollback, true, plan.Decision{}), "RollingBack", status.InProgressStatus, "Progressing"},
		"recovering":            {inState(api.ModeRecover, true, plan.Decision{}), "Recovering", status.InProgressStatus, "Progressing"},
		"moved":                 {inState(api.ModeRun, false, plan.Decision{Done: api.ReasonMoved}), "Moved", status.CurrentStatus, "Healthy"},
		"rolled back":           {inState(api.ModeRollback, false, plan.Decision{Done: api.ReasonRolledBack}), "RolledBack", status.InProgressStatus, "Degraded"},
		"recovered":             {inState(api.ModeRecover, false, plan.Decision{Done: api.ReasonRecovered}), "Recovered", status.InProgressStatus, "Degraded"},
		"released":              {inState(api.ModeRun, false, plan.Decision{Done: api.ReasonReleased}), "Released", status.InProgressStatus, "Degraded"},
		"changed since":         {changed, "RolledBack", status.InProgressStatus, "Progressing"},
		"being deleted":         {deleted, "Moving", status.TerminatingStatus, "Progressing"},
	}
}

// asObject returns a Migration as tools read it.
func asObject(t *testing.T, m *api.Migration) map[string]any {
	t.Helper()
	m.APIVersion, m.Kind = api.GroupVersion.String(), "Migration"
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(m)
	if err != nil {
		t.Fatal(err)
	}
	return object
}

// TestY14Waiters: for kstatus, which Flux and Helm use, and for Argo CD, a Migration is done only once every
// requested ordinal is at the destination. In any other state no later action begins, such as removing the old
// cluster.
func TestY14Waiters(t *testing.T) {
	script, err := os.ReadFile("../../config/argocd/migration-health.lua")
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range everyState() {
		t.Run(name, func(t *testing.T) {
			object := asObject(t, tc.migration)
			judged, err := status.Compute(&unstructured.Unstructured{Object: object})
			if err != nil || judged.Status != tc.kstatus {
				t.Errorf("kstatus: %+v, %v, want %s", judged, err, tc.kstatus)
			}
			if health, message := healthOf(t, string(script), object); health != tc.argo || message == "" {
				t.Errorf("Argo CD: %s (%s), want %s", health, message, tc.argo)
			}
			if got := tc.migration.Status.State; got != tc.state {
				t.Errorf("state %q, want %q", got, tc.state)
			}
			if tc.state != "" && (tc.migration.Status.Now == "" || tc.migration.Status.Progress != "0/5" && tc.state != "Refused") {
				t.Errorf("now %q, progress %q", tc.migration.Status.Now, tc.migration.Status.Progress)
			}
		})
	}
}

// TestArgoConfigMap: the patch of Argo CD's ConfigMap contains the tested script.
func TestArgoConfigMap(t *testing.T) {
	script, err := os.ReadFile("../../config/argocd/migration-health.lua")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../config/argocd/argocd-cm.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var patch corev1.ConfigMap
	if err := yaml.UnmarshalStrict(text, &patch); err != nil {
		t.Fatal(err)
	}
	if patch.Data["resource.customizations.health.migration.sliceshift.io_Migration"] != string(script) {
		t.Error("config/argocd/argocd-cm.yaml has another script than migration-health.lua")
	}
}

// healthOf runs a script as Argo CD does: the object is the global obj, and the result is a table.
func healthOf(t *testing.T, script string, object map[string]any) (health, message string) {
	t.Helper()
	engine := lua.NewState()
	defer engine.Close()
	engine.SetGlobal("obj", toLua(engine, object))
	if err := engine.DoString(script); err != nil {
		t.Fatal(err)
	}
	answer, is := engine.Get(-1).(*lua.LTable)
	if !is {
		t.Fatalf("it answers with %v", engine.Get(-1))
	}
	return lua.LVAsString(answer.RawGetString("status")), lua.LVAsString(answer.RawGetString("message"))
}

func toLua(engine *lua.LState, value any) lua.LValue {
	switch value := value.(type) {
	case map[string]any:
		table := engine.NewTable()
		for key, each := range value {
			table.RawSetString(key, toLua(engine, each))
		}
		return table
	case []any:
		table := engine.NewTable()
		for _, each := range value {
			table.Append(toLua(engine, each))
		}
		return table
	case string:
		return lua.LString(value)
	case bool:
		return lua.LBool(value)
	case int64:
		return lua.LNumber(value)
	case float64:
		return lua.LNumber(value)
	default:
		return lua.LNil
	}
}
