package move

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/child"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/migration/engine"
)

// verdictMap is the ConfigMap at the source that reports the health of the application.
const verdictMap = "verdict"

// says returns a gate that reads the ConfigMap every second.
func says(at ...api.GatePoint) api.HealthGate {
	return quick(api.HealthGate{Name: "verdict", At: at, CEL: &api.CELGate{
		Objects:    api.GateObjects{APIVersion: "v1", Kind: "ConfigMap", Side: api.GateSource, Name: verdictMap},
		Expression: "object != null && object.data.well == 'yes'",
	}})
}

// allRun returns a gate that checks that all pods of the side run.
func allRun(at ...api.GatePoint) api.HealthGate {
	return quick(api.HealthGate{Name: "pods", At: at, CEL: &api.CELGate{
		Objects:    api.GateObjects{APIVersion: "v1", Kind: "Pod", Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
		Expression: "objects.size() > 0 && objects.all(p, p.status.phase == 'Running')",
	}})
}

func quick(gate api.HealthGate) api.HealthGate {
	gate.IntervalSeconds, gate.TimeoutSeconds, gate.FailureLimit = new(int32(1)), new(int32(2)), new(int32(2))
	return gate
}

func withGates(gates ...api.HealthGate) harness.Setting {
	return harness.WithSpec(func(s *api.MigrationSpec) { s.Gates = gates })
}

// pronounce reports the application as healthy or not.
func (v *move) pronounce(well string) error {
	maps := v.Source.CoreV1().ConfigMaps(v.App.Namespace)
	_, err := maps.Patch(v.Ctx, verdictMap, types.MergePatchType, []byte(fmt.Sprintf(`{"data":{"well":%q}}`, well)), metav1.PatchOptions{})
	return err
}

// gate adds a gate with this expression to the migration.
func (v *move) gate(expression string) {
	gate := says(api.GateBeforeStop)
	gate.CEL.Expression = expression
	v.Migration.Spec.Gates = []api.HealthGate{gate}
}

func (v *move) createVerdict(well string) {
	v.T.Helper()
	_, err := v.Source.CoreV1().ConfigMaps(v.App.Namespace).Create(v.Ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: verdictMap}, Data: map[string]string{"well": well},
	}, metav1.CreateOptions{})
	v.Must(err)
}

// TestGates: a health gate holds a migration before the stop of an ordinal, after its start and at the end.
// Every replica runs meanwhile, and the migration continues when the gate passes (I5, I6).
func TestGates(t *testing.T) {
	for name, tc := range map[string]struct {
		gates []api.HealthGate
		// here and there are the numbers of ordinals on each side while the gate holds.
		here, there int32
	}{
		"U-25: before the stop": {[]api.HealthGate{allRun(api.GateBeforeStop), says(api.GateBeforeStop)}, 2, 0},
		"U-25: after the start": {[]api.HealthGate{allRun(api.GateAfterStart), says(api.GateAfterStart)}, 1, 1},
		"U-25: at the end":      {[]api.HealthGate{allRun(api.GateAtEnd), says(api.GateAtEnd)}, 0, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newMove(t, harness.Usual(2), harness.AcrossClusters, withGates(tc.gates...))
			v.createVerdict("no")
			held := false
			mover := v.Mover()
			v.Drive(mover, harness.StalledWith(api.ReasonGateFailed)(func() error {
				held = true
				m, err := mover.Store.Load(v.Ctx)
				if err != nil {
					return err
				}
				if m.Status.Source.Replicas != tc.here || m.Status.Destination.Replicas != tc.there || m.Status.Source.Available+m.Status.Destination.Available != 2 {
					t.Errorf("it holds at %+v and %+v", m.Status.Source, m.Status.Destination)
				}
				if len(m.Status.Gates) != 2 || m.Status.Gates[0].State != api.GatePassed || m.Status.Gates[1].State != api.GateFailed {
					t.Errorf("the status says %+v", m.Status.Gates)
				}
				return v.pronounce("yes")
			}))
			if !held {
				t.Error("nothing has held it")
			}
			if m, err := mover.Store.Load(v.Ctx); err != nil || m.Status.Gates != nil {
				t.Errorf("at its end the status says %+v: %v", m, err)
			}
			v.ExpectMovedCleanly()
			v.Audit()
		})
	}
}

// TestGateInDryRun: a gate in dry-run mode is evaluated and shown, but holds nothing.
func TestGateInDryRun(t *testing.T) {
	t.Parallel()
	gate := says(api.GateBeforeStop, api.GateAfterStart, api.GateAtEnd)
	gate.DryRun = true
	v := newMove(t, harness.Usual(2), harness.AcrossClusters, withGates(gate))
	shown := false
	v.Run(func(m *api.Migration, _ engine.Outcome) error {
		for _, each := range m.Status.Gates {
			shown = shown || !each.Holds
		}
		return nil
	})
	if !shown {
		t.Error("it was not shown")
	}
	v.ExpectMovedCleanly()
	v.Audit()
}

// TestRollbackWithAGate: a failure of the forward move does not prevent a rollback. This holds even if the gate
// also applies to the rollback and the ordinal has failed (I8).
func TestRollbackWithAGate(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(3), harness.AcrossClusters, withGates(says(api.GateBeforeStop, api.GateAfterStart, api.GateAtEnd)))
	v.createVerdict("yes")
	mover := v.Mover()
	v.Drive(mover,
		harness.Arrival(1)(func() error { return v.pronounce("no") }),
		harness.StalledWith(api.ReasonGateFailed)(func() error { return mover.Store.SetMode(v.Ctx, api.ModeRollback) }),
	)
	v.ExpectBack()
	v.Audit()
}

// TestGateTurnsBack: with onFailure: Rollback, an ordinal that arrives unhealthy is rolled back, and the
// migration reports it.
func TestGateTurnsBack(t *testing.T) {
	t.Parallel()
	gate := says(api.GateAfterStart)
	gate.OnFailure = api.GateFailureRollback
	v := newMove(t, harness.Usual(3), harness.AcrossClusters, withGates(gate))
	v.createVerdict("yes")
	mover := v.Mover()
	v.Drive(mover, harness.Arrival(1)(func() error { return v.pronounce("no") }))
	if m, err := mover.Store.Load(v.Ctx); err != nil || m.Spec.Mode != api.ModeRollback {
		t.Errorf("its mode is %s: %v", m.Spec.Mode, err)
	}
	v.ExpectBack()
	v.Audit()
}

// gatesFile writes a file with health gates and returns its path.
func (v *move) gatesFile(text string) string {
	v.T.Helper()
	file := filepath.Join(v.T.TempDir(), "gates.yaml")
	v.Must(os.WriteFile(file, []byte(text), 0o600))
	return file
}

// TestGatesCommand: a run whose gates are in a file waits for them. Meanwhile another command evaluates them
// and reports the gate that has not passed.
func TestGatesCommand(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(2), harness.AcrossClusters)
	v.createVerdict("no")
	text, err := yaml.Marshal(map[string]any{"gates": []api.HealthGate{says(api.GateBeforeStop, api.GateAtEnd)}})
	v.Must(err)
	file := v.gatesFile(string(text))
	if out := v.exits(v.cli("plan", "--gates", file), 0); !strings.Contains(out, "verdict BeforeStop, AtEnd") {
		t.Errorf("the plan does not tell of the gates:\n%s", out)
	}
	from, err := harness.Client(v.From)
	v.Must(err)
	run := v.cli("run", "--gates", file)
	v.Must(child.Start(run))
	ask := func() *exec.Cmd { return v.cli("gates", "--to-kubeconfig", v.To.Kubeconfig()) }
	v.Eventually("the gate holds", func(ctx context.Context) (bool, error) {
		m, err := records.ConfigMap{Client: from, Namespace: v.App.Namespace, Name: v.App.Name}.Load(ctx)
		return err == nil && len(m.Status.Gates) > 0 && m.Status.Gates[0].State == api.GateFailed, client.IgnoreNotFound(err)
	})
	if out := v.exits(ask(), 3); !strings.Contains(out, "web-1") || !strings.Contains(out, "gate verdict of migration") {
		t.Errorf("it does not say which gate has not passed:\n%s", out)
	}
	v.Must(v.pronounce("yes"))
	if err := run.Wait(); err != nil {
		t.Errorf("the run ended with %v", err)
	}
	v.exits(ask(), 0)
	v.ExpectMovedCleanly()
}

// metrics is a Prometheus server that answers with one value, with no value, or not at all.
type metrics struct {
	*httptest.Server
	body atomic.Pointer[string]
}

// Responses of the Prometheus HTTP API to instant queries.
const (
	noSeries  = `{"status":"success","data":{"resultType":"vector","result":[]}}`
	oneSeries = `{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1700000000,"1"]}]}}`
	noReply   = ""
)

func newMetrics(t *testing.T, body string) *metrics {
	t.Helper()
	m := &metrics{}
	m.body.Store(&body)
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then the server notices that the client has disconnected
		text := *m.body.Load()
		if text == noReply {
			<-r.Context().Done()
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(text))
	}))
	t.Cleanup(m.Close)
	return m
}

func (m *metrics) answer(body string) error {
	m.body.Store(&body)
	return nil
}

// TestGateOfMetrics: an empty query result and an unresponsive server hold a migration before its first stop,
// each with its reason, until the answer is good.
func TestGateOfMetrics(t *testing.T) {
	for name, tc := range map[string]struct{ body, reason string }{
		"U-26: it finds nothing":   {noSeries, api.ReasonGateResultEmpty},
		"U-26: it does not answer": {noReply, api.ReasonGateUnanswered},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newMetrics(t, tc.body)
			gate := quick(api.HealthGate{Name: "lag", At: []api.GatePoint{api.GateBeforeStop}, Prometheus: &api.PrometheusGate{
				PrometheusServer: api.PrometheusServer{Address: server.URL}, Query: `up{pod="${pod}"}`, Expression: "result.all(r, r == 1.0)",
			}})
			v := newMove(t, harness.Usual(2), harness.AcrossClusters, withGates(gate))
			held := false
			mover := v.Mover()
			v.Drive(mover, harness.StalledWith(tc.reason)(func() error {
				held = true
				m, err := mover.Store.Load(v.Ctx)
				if err == nil && m.Status.Source.Available != 2 {
					t.Errorf("it holds at %+v", m.Status.Source)
				}
				return errors.Join(err, server.answer(oneSeries))
			}))
			if !held {
				t.Error("nothing has held it")
			}
			v.ExpectMovedCleanly()
			v.Audit()
		})
	}
}

// TestGateMendedInMidMove: a gate that breaks during the move holds it with its reason while every replica
// runs. The migration continues when the gate is fixed.
func TestGateMendedInMidMove(t *testing.T) {
	for name, tc := range map[string]struct{ expression, reason string }{
		"U-27: it does not compile": {"object.", api.ReasonGateInvalid},
		"U-27: it costs too much":   {costly, api.ReasonGateTooCostly},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newMove(t, harness.Usual(3), harness.AcrossClusters, withGates(says(api.GateBeforeStop)))
			v.createVerdict("yes")
			mover := v.Mover()
			write := func(expression string) func() error {
				return func() error {
					return rewrite(v.Ctx, mover, func(m *api.Migration) { m.Spec.Gates[0].CEL.Expression = expression })
				}
			}
			held := false
			v.Drive(mover, harness.Arrival(2)(write(tc.expression)), harness.StalledWith(tc.reason)(func() error {
				held = true
				m, err := mover.Store.Load(v.Ctx)
				if err != nil {
					return err
				}
				if m.Status.Source.Available+m.Status.Destination.Available != 3 {
					t.Errorf("it holds at %+v and %+v", m.Status.Source, m.Status.Destination)
				}
				return write("object != null")()
			}))
			if !held {
				t.Error("nothing has held it")
			}
			v.ExpectMovedCleanly()
			v.Audit()
		})
	}
}

// rewrite changes the record of a migration.
func rewrite(ctx context.Context, mover *fixture.Mover, change func(*api.Migration)) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		m, err := mover.Store.Load(ctx)
		if err != nil {
			return err
		}
		change(m)
		return mover.Store.Save(ctx, m)
	})
}

// costly is an expression with deeply nested loops over its own list.
const costly = "[1,2,3,4,5,6,7,8,9].all(a, [1,2,3,4,5,6,7,8,9].all(b, [1,2,3,4,5,6,7,8,9].all(c, [1,2,3,4,5,6,7,8,9].all(d, [1,2,3,4,5,6,7,8,9].all(e, [1,2,3,4,5,6,7,8,9].all(f, a + b + c + d + e + f > 0))))))"
