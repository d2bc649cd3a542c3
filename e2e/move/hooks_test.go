package move

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/child"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/migration/engine"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// hook returns a hook whose Job does not retry its pod.
func hook(name string, point api.HookPoint) api.Hook {
	return api.Hook{Name: name, Point: point, Job: api.HookJob{Spec: api.JobSpec{JobSpec: oneTry()}}}
}

func withHooks(hooks ...api.Hook) harness.Setting {
	return harness.WithSpec(func(s *api.MigrationSpec) { s.Hooks = hooks })
}

var everyHook = []api.Hook{
	hook("begin", api.HookBeforeMigration), hook("leave", api.HookBeforeOrdinal), hook("join", api.HookAfterOrdinal), hook("finish", api.HookAfterMigration),
}

// runHooks ends the pods of Jobs on a side as their containers would, until the test ends. says returns the
// message of a failing hook, "" for success, or "-" to let the pod run on.
func (v *move) runHooks(t *testing.T, side kubernetes.Interface, says func(told map[string]string) string) {
	v.endPods(t, side, func(told map[string]string) string {
		switch said := says(told); said {
		case "-":
			return ""
		case "":
			return `{"status":{"phase":"Succeeded"}}`
		default:
			return fmt.Sprintf(`{"status":{"phase":"Failed","containerStatuses":[{"name":"tool","image":"tool","imageID":"tool","ready":false,"restartCount":0,"state":{"terminated":{"exitCode":3,"message":%q}}}]}}`, said)
		}
	})
}

// hooksOf describes the Jobs of hooks that ran on a side by hook, point, pod, ordinal, side, direction and
// attempt.
func (v *move) hooksOf(side kubernetes.Interface, namespace string) []string {
	v.T.Helper()
	return v.jobsIn(side, namespace, func(job string, told map[string]string) string {
		if told["NAMESPACE"] != namespace || told["STATEFULSET"] != v.App.Name || told["CLUSTER"] == "" {
			v.T.Errorf("Job %s is told %v", job, told)
		}
		return strings.Join([]string{told["HOOK"], told["POINT"], told["POD"], told["ORDINAL"], told["SIDE"], told["DIRECTION"], told["ATTEMPT"]}, " ")
	})
}

// ordered records the hooks, stops and starts of a run.
func ordered(into *[]string) harness.Report {
	return func(_ *api.Migration, outcome engine.Outcome) error {
		e := outcome.Decision.Effect
		if !outcome.Wrote {
			return nil
		}
		switch e.Verb {
		case plan.StartHook:
			*into = append(*into, fmt.Sprintf("%s %d", e.Hook.Hook.Name, e.Ordinal))
		case plan.ScaleDown, plan.ScaleUp:
			*into = append(*into, fmt.Sprintf("%s %d", e.Verb, e.Ordinal))
		default:
		}
		return nil
	}
}

// hooksCommand returns the command that retries or skips a hook.
func (v *move) hooksCommand(verb string) *exec.Cmd {
	cmd := v.cli(verb)
	cmd.Args = slices.Insert(cmd.Args, 1, "hooks")
	return cmd
}

// TestHooks: hooks run in order, on their sides, once each, with their context in the environment. A failed
// hook stalls the migration with its exit code and last output while every replica runs. The command of the
// remedy runs it again.
func TestHooks(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(2), harness.AcrossClusters, withHooks(everyHook...))
	says := func(told map[string]string) string {
		if told["HOOK"] == "leave" && told["ORDINAL"] == "1" && told["ATTEMPT"] == "1" {
			return "asking the ring\nweb-1 is not a member\n"
		}
		return ""
	}
	v.runHooks(t, v.Source, says)
	v.runHooks(t, v.Destination, says)
	var order []string
	stalls := false
	mover := v.Mover()
	v.Drive(mover, ordered(&order), func(m *api.Migration, outcome engine.Outcome) error {
		hold := outcome.Decision.Hold
		if stalls || hold == nil || hold.Reason != api.ReasonHookFailed {
			return nil
		}
		stalls = true
		if m.Status.Source.Available != 2 || !strings.Contains(hold.Message, "exit code 3: web-1 is not a member") || !strings.Contains(hold.Remedy, "migrate hooks retry web -n "+v.App.Namespace) {
			t.Errorf("with %d available it stalls with %+v", m.Status.Source.Available, hold)
		}
		v.exits(v.hooksCommand("retry"), 0)
		return nil
	})
	if want := []string{"begin -1", "leave 1", "leave 1", "ScaleDown 1", "ScaleUp 1", "join 1", "leave 0", "ScaleDown 0", "ScaleUp 0", "join 0", "finish -1"}; !stalls || !cmp.Equal(want, order) {
		t.Errorf("it has stalled: %t; -want +got:\n%s", stalls, cmp.Diff(want, order))
	}
	if diff := cmp.Diff([]string{
		"begin BeforeMigration   Source Forward 1", "leave BeforeOrdinal web-0 0 Source Forward 1", "leave BeforeOrdinal web-1 1 Source Forward 1", "leave BeforeOrdinal web-1 1 Source Forward 2",
	}, v.hooksOf(v.Source, v.App.Namespace)); diff != "" {
		t.Errorf("at the source (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{
		"finish AfterMigration   Destination Forward 1", "join AfterOrdinal web-0 0 Destination Forward 1", "join AfterOrdinal web-1 1 Destination Forward 1",
	}, v.hooksOf(v.Destination, v.ToNamespace)); diff != "" {
		t.Errorf("at the destination (-want +got):\n%s", diff)
	}
	v.exits(v.hooksCommand("skip"), 3)
	v.ExpectMovedCleanly()
	v.Audit()
}

// TestHookHangs: a cluster ends a hanging hook at its timeout, and the migration continues without the hook
// when it is skipped.
func TestHookHangs(t *testing.T) {
	t.Parallel()
	hangs := hook("leave", api.HookBeforeOrdinal)
	hangs.TimeoutSeconds = new(int32(2))
	v := newMove(t, harness.Usual(1), harness.AcrossClusters, withHooks(hangs))
	var order []string
	v.Run(ordered(&order), harness.StalledWith(api.ReasonHookTimedOut)(func() error {
		v.exits(v.hooksCommand("skip"), 0)
		return nil
	}))
	if want := []string{"leave 0", "ScaleDown 0", "ScaleUp 0"}; !cmp.Equal(want, order) {
		t.Errorf("-want +got:\n%s", cmp.Diff(want, order))
	}
	v.ExpectMovedCleanly()
	v.Audit()
}

// TestHookRefused: when the API server refuses a Job or its pod during the move, the migration stalls with the
// server's message. It continues on its own when the object is allowed.
func TestHookRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		hard corev1.ResourceName
		says string
	}{
		"U-21: the Job": {"count/jobs.batch", "exceeded quota: none"},
		"U-21: its pod": {"requests.cpu", "has no pod, because its pod is rejected"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newMove(t, harness.Usual(2), harness.AcrossClusters, withHooks(hook("leave", api.HookBeforeOrdinal)))
			v.runHooks(t, v.Source, func(map[string]string) string { return "" })
			quotas := v.Source.CoreV1().ResourceQuotas(v.App.Namespace)
			refused := false
			v.Run(harness.Arrival(1)(func() error {
				_, err := quotas.Create(v.Ctx, &corev1.ResourceQuota{
					ObjectMeta: metav1.ObjectMeta{Name: "none"}, Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{tc.hard: resource.MustParse("1")}},
				}, metav1.CreateOptions{})
				v.Must(err)
				v.Eventually("the quota counts", func(ctx context.Context) (bool, error) {
					quota, err := quotas.Get(ctx, "none", metav1.GetOptions{})
					return err == nil && len(quota.Status.Used) > 0, err
				})
				return nil
			}), func(m *api.Migration, outcome engine.Outcome) error {
				hold := outcome.Decision.Hold
				if refused || hold == nil || hold.Reason != api.ReasonHookRefused {
					return nil
				}
				refused = true
				if !strings.Contains(hold.Message, tc.says) || !strings.Contains(hold.Remedy, "hooks skip") || m.Status.Source.Available+m.Status.Destination.Available != 2 {
					t.Errorf("it stalls with %+v", hold)
				}
				return quotas.Delete(v.Ctx, "none", metav1.DeleteOptions{})
			})
			if !refused {
				t.Error("nothing was refused")
			}
			v.ExpectMovedCleanly()
			v.Audit()
		})
	}
}

// TestHookTurnsBack: with onFailure: Rollback, a failed hook rolls the migration back. In a rollback, hooks run
// on the other side, except hooks with onRollback: Skip.
func TestHookTurnsBack(t *testing.T) {
	t.Parallel()
	join, finish := hook("join", api.HookAfterOrdinal), hook("finish", api.HookAfterMigration)
	join.OnFailure, finish.OnRollback = api.HookFailureRollback, api.HookRollbackSkip
	v := newMove(t, harness.Usual(2), harness.AcrossClusters, withHooks(hook("leave", api.HookBeforeOrdinal), join, finish))
	says := func(told map[string]string) string {
		if told["HOOK"] == "join" && told["DIRECTION"] == string(api.Forward) {
			return "no"
		}
		return ""
	}
	v.runHooks(t, v.Source, says)
	v.runHooks(t, v.Destination, says)
	var order []string
	mover := v.Mover()
	v.Drive(mover, ordered(&order))
	if want := []string{"leave 1", "ScaleDown 1", "ScaleUp 1", "join 1", "leave 1", "ScaleDown 1", "ScaleUp 1", "join 1"}; !cmp.Equal(want, order) {
		t.Errorf("-want +got:\n%s", cmp.Diff(want, order))
	}
	if diff := cmp.Diff([]string{"join AfterOrdinal web-1 1 Source Back 1", "leave BeforeOrdinal web-1 1 Source Forward 1"}, v.hooksOf(v.Source, v.App.Namespace)); diff != "" {
		t.Errorf("at the source (-want +got):\n%s", diff)
	}
	v.ExpectBack()
	v.Audit()
}

// TestHooksOfARun: the hooks of a run are read from a file. A plan shows where they run, and the status shows
// their state.
func TestHooksOfARun(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(1), harness.AcrossClusters)
	text, err := yaml.Marshal(map[string]any{"hooks": everyHook})
	v.Must(err)
	file := v.hooksFile(string(text))
	out := v.exits(v.cli("plan", "--hooks", file), 0)
	for _, want := range []string{"run hook begin (BeforeMigration) on the source", "run hook leave (BeforeOrdinal 0) on the source", "run hook finish (AfterMigration) on the destination"} {
		if !strings.Contains(out, want) {
			t.Errorf("the plan does not say that it is to %s:\n%s", want, out)
		}
	}
	var goes atomic.Bool
	says := func(map[string]string) string {
		if goes.Load() {
			return ""
		}
		return "-"
	}
	v.runHooks(t, v.Source, says)
	v.runHooks(t, v.Destination, says)
	from, err := harness.Client(v.From)
	v.Must(err)
	run := v.cli("run", "--hooks", file)
	v.Must(child.Start(run))
	v.Eventually("a hook runs", func(ctx context.Context) (bool, error) {
		m, err := records.ConfigMap{Client: from, Namespace: v.App.Namespace, Name: v.App.Name}.Load(ctx)
		return err == nil && len(m.Status.Hooks) > 0 && m.Status.Hooks[0].State == api.HookRunning, nil
	})
	if out := v.exits(v.cli("status"), 0); !strings.Contains(out, "begin BeforeMigration: Running, Job begin-") {
		t.Errorf("the status does not say so:\n%s", out)
	}
	v.exits(v.hooksCommand("retry"), 3)
	goes.Store(true)
	if err := run.Wait(); err != nil {
		t.Errorf("the run ended with %v", err)
	}
	v.ExpectMovedCleanly()
}

// hooksFile writes a file with hooks and returns its path.
func (v *move) hooksFile(text string) string {
	v.T.Helper()
	file := filepath.Join(v.T.TempDir(), "hooks.yaml")
	v.Must(os.WriteFile(file, []byte(text), 0o600))
	return file
}
