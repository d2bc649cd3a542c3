package move

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/migration/engine"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// TestHookAfterACrash: a process dies when it creates a Job, or when it records the Job's state. The hook runs
// exactly once nevertheless (I7).
func TestHookAfterACrash(t *testing.T) {
	for name, dies := range map[string]func(*http.Request) bool{
		"U-22: made": func(r *http.Request) bool {
			return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/jobs")
		},
		"U-22: seen": func(r *http.Request) bool {
			return r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/configmaps/sliceshift-") && hookIs(r, "Running")
		},
		"U-22: ended": func(r *http.Request) bool {
			return r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/configmaps/sliceshift-") && hookIs(r, "Succeeded")
		},
	} {
		for _, f := range []fate{diesBefore, diesAfter} {
			t.Run(fmt.Sprintf("%s, it %s", name, f), func(t *testing.T) {
				t.Parallel()
				v := newMove(t, harness.Usual(1), harness.AcrossClusters, withHooks(hook("leave", api.HookBeforeOrdinal)))
				v.runHooks(t, v.Source, func(map[string]string) string { return "" })
				ctx, die := context.WithCancel(v.Ctx)
				defer die()
				c := &crasher{fate: f, at: 1, die: die}
				through := func(config *rest.Config) *rest.Config {
					config = rest.CopyConfig(config)
					config.Wrap(func(next http.RoundTripper) http.RoundTripper {
						return roundTrip(func(r *http.Request) (*http.Response, error) {
							if !c.dead.Load() && (!changes(r) || !dies(r)) {
								return next.RoundTrip(r)
							}
							return c.pass(next, r)
						})
					})
					return config
				}
				_, err := fixture.NewMover(v.Ctx, v.From.RESTConfig(), v.To.RESTConfig(), v.Migration)
				v.Must(err)
				mover, err := fixture.Rejoin(through(v.From.RESTConfig()), through(v.To.RESTConfig()), v.Migration)
				v.Must(err)
				err = mover.Run(ctx, func(*api.Migration, engine.Outcome) error { return nil })
				if !c.dead.Load() {
					t.Fatalf("it has not crashed, and ended with %v", err)
				}
				again, err := fixture.Rejoin(v.From.RESTConfig(), v.To.RESTConfig(), v.Migration)
				v.Must(err)
				v.Drive(again)
				if diff := cmp.Diff([]string{"leave BeforeOrdinal web-0 0 Source Forward 1"}, v.hooksOf(v.Source, v.App.Namespace)); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
				v.ExpectMovedCleanly()
				v.Audit()
			})
		}
	}
}

// TestHookWhoseJobGoesUnseen: a process creates a Job and dies, and the Job is deleted before another process
// sees it. The suspended Job has not run, so its replacement is the first that runs (I7).
func TestHookWhoseJobGoesUnseen(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(1), harness.AcrossClusters, withHooks(hook("leave", api.HookBeforeOrdinal)))
	v.runHooks(t, v.Source, func(map[string]string) string { return "" })
	ctx, die := context.WithCancel(v.Ctx)
	defer die()
	c := &crasher{fate: diesAfter, at: 1, die: die}
	config := rest.CopyConfig(v.From.RESTConfig())
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			if !c.dead.Load() && (r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/jobs") || r.URL.Query().Has("dryRun")) {
				return next.RoundTrip(r)
			}
			return c.pass(next, r)
		})
	})
	_, err := fixture.NewMover(v.Ctx, v.From.RESTConfig(), v.To.RESTConfig(), v.Migration)
	v.Must(err)
	mover, err := fixture.Rejoin(config, v.To.RESTConfig(), v.Migration)
	v.Must(err)
	if err := mover.Run(ctx, func(*api.Migration, engine.Outcome) error { return nil }); !c.dead.Load() {
		t.Fatalf("it has not crashed, and ended with %v", err)
	}
	jobs := v.Source.BatchV1().Jobs(v.App.Namespace)
	v.Eventually("the Job is held", func(ctx context.Context) (bool, error) {
		found, err := jobs.List(ctx, metav1.ListOptions{LabelSelector: api.MigrationLabelKey})
		return err == nil && len(found.Items) == 1 && slices.ContainsFunc(found.Items[0].Status.Conditions, func(c batchv1.JobCondition) bool {
			return c.Type == batchv1.JobSuspended && c.Status == corev1.ConditionTrue
		}), err
	})
	v.Must(jobs.DeleteCollection(v.Ctx, metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}, metav1.ListOptions{LabelSelector: api.MigrationLabelKey}))
	again, err := fixture.Rejoin(v.From.RESTConfig(), v.To.RESTConfig(), v.Migration)
	v.Must(err)
	v.Drive(again)
	if diff := cmp.Diff([]string{"leave BeforeOrdinal web-0 0 Source Forward 1"}, v.hooksOf(v.Source, v.App.Namespace)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	v.ExpectMovedCleanly()
	v.Audit()
}

// hookIs reports whether a request writes a hook's run in this state.
func hookIs(r *http.Request, state string) bool {
	body, err := r.GetBody()
	if err != nil {
		return false
	}
	text, err := io.ReadAll(body)
	if closed := body.Close(); closed != nil {
		return false
	}
	return err == nil && strings.Contains(string(text), "state: "+state)
}

// TestHookWhoseJobIsRemoved: a Job that is deleted after its end was recorded does not run again. A Job that is
// deleted earlier stalls the migration, because its effect is unknown.
func TestHookWhoseJobIsRemoved(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(1), harness.AcrossClusters, withHooks(hook("leave", api.HookBeforeOrdinal), hook("finish", api.HookAfterMigration)))
	v.runHooks(t, v.Source, func(map[string]string) string { return "" })
	v.runHooks(t, v.Destination, func(told map[string]string) string {
		if told["ATTEMPT"] == "1" {
			return "-"
		}
		return ""
	})
	removes := func(side kubernetes.Interface, namespace string) func() error {
		return func() error {
			return side.BatchV1().Jobs(namespace).DeleteCollection(v.Ctx, metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}, metav1.ListOptions{LabelSelector: api.MigrationLabelKey})
		}
	}
	is := func(name string, state api.HookState) harness.Moment {
		return harness.When(func(m *api.Migration, _ engine.Outcome) bool {
			return slices.ContainsFunc(m.Status.Hooks, func(run api.HookRun) bool { return run.Name == name && run.State == state })
		})
	}
	begins := harness.When(func(_ *api.Migration, outcome engine.Outcome) bool {
		e := outcome.Decision.Effect
		return outcome.Wrote && e.Verb == plan.StartHook && e.Hook.Hook.Name == "finish"
	})
	var order []string
	v.Run(ordered(&order), is("leave", api.HookSucceeded)(removes(v.Source, v.App.Namespace)), begins(removes(v.Destination, v.ToNamespace)),
		harness.StalledWith(api.ReasonHookFailed)(func() error {
			v.exits(v.hooksCommand("retry"), 0)
			return nil
		}))
	if want := []string{"leave 0", "ScaleDown 0", "ScaleUp 0", "finish -1", "finish -1"}; !cmp.Equal(want, order) {
		t.Errorf("-want +got:\n%s", cmp.Diff(want, order))
	}
	v.ExpectMovedCleanly()
	v.Audit()
}
