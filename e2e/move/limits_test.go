package move

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/migration/engine"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// trouble is a failure while the first ordinal is down: how it begins, how it is reported and how it is fixed.
type trouble struct {
	breaks, mends func(*fixture.Mover) error
	// reason is the reason of the condition; its message contains says.
	reason, says string
	// limit is the limit of the gate or the hook. No ordinal is down longer.
	limit time.Duration
}

// patience is the time after which a gate of these tests fails.
const patience = 22 * time.Second

// unhurried returns a gate that runs after each start and before the next stop. It fails when it has not
// answered for patience.
func unhurried(gate api.HealthGate) api.HealthGate {
	gate.Name, gate.At = "unhurried", []api.GatePoint{api.GateAfterStart, api.GateBeforeStop}
	gate.IntervalSeconds, gate.TimeoutSeconds, gate.FailureLimit = new(int32(1)), new(int32(10)), new(int32(2))
	return gate
}

// nothing breaks or fixes nothing.
func nothing(*fixture.Mover) error { return nil }

// ofMetrics adds a gate that queries a Prometheus server, which later answers with body.
func ofMetrics(body, reason, says string) func(*move, *testing.T) trouble {
	return func(v *move, t *testing.T) trouble {
		server := newMetrics(t, oneSeries)
		v.Migration.Spec.Gates = []api.HealthGate{unhurried(api.HealthGate{Prometheus: &api.PrometheusGate{
			PrometheusServer: api.PrometheusServer{Address: server.URL}, Query: `up{pod="${pod}"}`, Expression: "result.all(r, r == 1.0)",
		}})}
		return trouble{
			breaks: func(*fixture.Mover) error { return server.answer(body) }, mends: func(*fixture.Mover) error { return server.answer(oneSeries) },
			reason: reason, says: says, limit: patience,
		}
	}
}

// ofExpression adds a CEL gate whose expression is later replaced by a bad one.
func ofExpression(expression, reason, message string) func(*move, *testing.T) trouble {
	return func(v *move, _ *testing.T) trouble {
		v.createVerdict("yes")
		v.Migration.Spec.Gates = []api.HealthGate{unhurried(says())}
		write := func(expression string) func(*fixture.Mover) error {
			return func(mover *fixture.Mover) error {
				return rewrite(v.Ctx, mover, func(m *api.Migration) { m.Spec.Gates[0].CEL.Expression = expression })
			}
		}
		return trouble{breaks: write(expression), mends: write(v.Migration.Spec.Gates[0].CEL.Expression), reason: reason, says: message, limit: patience}
	}
}

// ofSecret adds a gate that sends a token to a Prometheus server. The token in the Secret is later overwritten
// or removed.
func ofSecret(patch, reason, says string) func(*move, *testing.T) trouble {
	return func(v *move, t *testing.T) trouble {
		server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer "+theToken {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(oneSeries))
		}))
		t.Cleanup(server.Close)
		secrets := v.Source.CoreV1().Secrets(v.App.Namespace)
		_, err := secrets.Create(v.Ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "token"}, StringData: map[string]string{"value": theToken}}, metav1.CreateOptions{})
		v.Must(err)
		v.Migration.Spec.Gates = []api.HealthGate{unhurried(api.HealthGate{Prometheus: &api.PrometheusGate{
			PrometheusServer: api.PrometheusServer{Address: server.URL, BearerTokenSecretRef: &api.SecretKeyReference{Name: "token"}, CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})}, Query: "up", Expression: "result[0] == 1.0",
		}})}
		write := func(patch string) func(*fixture.Mover) error {
			return func(*fixture.Mover) error {
				_, err := secrets.Patch(v.Ctx, "token", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
				return err
			}
		}
		return trouble{breaks: write(patch), mends: write(fmt.Sprintf(`{"stringData":{"value":%q}}`, theToken)), reason: reason, says: says, limit: patience}
	}
}

// ofGateJob adds a gate whose Job is later refused by a webhook.
func ofGateJob(v *move, t *testing.T) trouble {
	fails, well := v.jobsWebhook(t), &atomic.Bool{}
	well.Store(true)
	v.endJobs(t, v.Source, well)
	v.endJobs(t, v.Destination, well)
	v.Migration.Spec.Gates = []api.HealthGate{unhurried(runsJobs())}
	return trouble{breaks: sets(fails, true), mends: sets(fails, false), reason: api.ReasonGateUnanswered, says: `cannot be created: Internal error occurred: failed calling webhook "jobs.policy.corp"`, limit: patience}
}

func sets(what *atomic.Bool, to bool) func(*fixture.Mover) error {
	return func(*fixture.Mover) error {
		what.Store(to)
		return nil
	}
}

// hookLimit is the timeout of the hooks of these tests.
const hookLimit = 20 * time.Second

// ofHook adds a hook that never ends for the first ordinal, after its start or before its stop. The hook is
// later skipped.
func ofHook(point api.HookPoint) func(*move, *testing.T) trouble {
	return func(v *move, t *testing.T) trouble {
		hangs := hook("hangs", point)
		hangs.TimeoutSeconds = new(int32(hookLimit / time.Second))
		v.Migration.Spec.Hooks = []api.Hook{hangs}
		first := func(told map[string]string) string {
			if told["ORDINAL"] == "1" {
				return "-"
			}
			return ""
		}
		v.runHooks(t, v.Source, first)
		v.runHooks(t, v.Destination, first)
		skip := func(*fixture.Mover) error {
			v.exits(v.hooksCommand("skip"), 0)
			return nil
		}
		return trouble{breaks: nothing, mends: skip, reason: api.ReasonHookTimedOut, says: "has not ended within 20s", limit: hookLimit}
	}
}

// ofHookJob adds a hook whose Job is later refused by a webhook.
func ofHookJob(v *move, t *testing.T) trouble {
	fails := v.jobsWebhook(t)
	refused := hook("refused", api.HookAfterOrdinal)
	refused.TimeoutSeconds = new(int32(hookLimit / time.Second))
	v.Migration.Spec.Hooks = []api.Hook{refused}
	v.runHooks(t, v.Destination, func(map[string]string) string { return "" })
	return trouble{breaks: sets(fails, true), mends: sets(fails, false), reason: api.ReasonHookRefused, says: `failed calling webhook "jobs.policy.corp"`, limit: hookLimit}
}

// ofWindow adds a window that later closes permanently.
func ofWindow(v *move, _ *testing.T) trouble {
	v.Migration.Spec.Schedule = hourly()
	v.Migration.Spec.Schedule.ExpectedHandoffSeconds = new(int32(hookLimit / time.Second))
	return trouble{
		breaks: func(mover *fixture.Mover) error {
			return reschedule(v.Ctx, mover, &api.ScheduleSpec{NotAfter: new(metav1.NewTime(time.Now()))})
		},
		mends:  func(mover *fixture.Mover) error { return reschedule(v.Ctx, mover, hourly()) },
		reason: api.ReasonScheduleNeverOpens, limit: hookLimit,
	}
}

// TestNobodyIsDownForAnAnswer: a gate, a hook or a window fails while an ordinal is down. The ordinal starts
// nevertheless, within the limit of the unresponsive part, and the next ordinal is not stopped. The condition
// names the cause, and the migration continues when it is fixed (I5, I6). The test measures at the pods how
// long each ordinal was down.
func TestNobodyIsDownForAnAnswer(t *testing.T) {
	for name, of := range map[string]func(*move, *testing.T) trouble{
		"a gate that never answers":         ofMetrics(noReply, api.ReasonGateUnanswered, "gives no answer"),
		"a query that finds nothing":        ofMetrics(noSeries, api.ReasonGateResultEmpty, "no series matches"),
		"an expression that is no CEL":      ofExpression("object.", api.ReasonGateInvalid, "is no CEL"),
		"an expression that costs too much": ofExpression(costly, api.ReasonGateTooCostly, "cel.expression"),
		"a Secret that is written over":     ofSecret(`{"stringData":{"value":"abc.DEF-0"}}`, api.ReasonGateUnanswered, "HTTP 401"),
		"a Secret that loses its key":       ofSecret(`{"data":{"value":null}}`, api.ReasonGateInvalid, "create secret generic"),
		"a Job of a gate that is refused":   ofGateJob,
		"a Job of a hook that is refused":   ofHookJob,
		"a hook that hangs after the start": ofHook(api.HookAfterOrdinal),
		"a hook that hangs before the stop": ofHook(api.HookBeforeOrdinal),
		"a window that closes for good":     ofWindow,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newMove(t, harness.Usual(2), harness.AcrossClusters)
			tc := of(v, t)
			down := v.watchOutages(t)
			mover, told := v.Mover(), false
			v.Drive(mover,
				harness.WroteOn(plan.SourceSide, plan.ScaleDown)(func() error { return tc.breaks(mover) }),
				func(m *api.Migration, outcome engine.Outcome) error {
					hold := outcome.Decision.Hold
					if told || hold == nil || !hold.Stalled {
						return nil
					}
					told = true
					if hold.Reason != tc.reason || !strings.Contains(hold.Message, tc.says) || hold.Remedy == "" {
						t.Errorf("it stalls with %+v", hold)
					}
					if available := m.Status.Source.Available + m.Status.Destination.Available; available != 2 {
						t.Errorf("%d are available meanwhile", available)
					}
					return tc.mends(mover)
				})
			if !told {
				t.Error("nothing has held it")
			}
			v.ExpectMovedCleanly()
			v.Audit()
			for pod, longest := range down.longest(v) {
				t.Logf("%s was down for %s at the longest, and the limit is %s", pod, longest.Round(time.Millisecond), tc.limit)
				if longest == 0 || longest > tc.limit {
					t.Errorf("%s was down for %s, and the limit is %s", pod, longest, tc.limit)
				}
			}
		})
	}
}
