package move

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/harness"
)

// markedGateToken is the token that gates send to their servers.
const markedGateToken = "MarkedTokenOfAGate.of-the_test"

// TestSecretsOfGates: tokens of gates appear neither in the manager's log nor in Migrations, events, reports or
// command output. This holds even though the server echoes each token in a body, an error, a header and a
// redirect.
func TestSecretsOfGates(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(1), harness.AcrossClusters)
	var shown atomic.Int32
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		if token == markedGateToken {
			shown.Add(1)
		}
		w.Header().Set("X-Token", token)
		switch {
		case strings.HasPrefix(r.URL.Path, "/away"):
			http.Redirect(w, r, "https://127.0.0.2:1/?token="+token, http.StatusFound)
		case strings.HasPrefix(r.URL.Path, "/error"):
			http.Error(w, "no "+token, http.StatusForbidden)
		case strings.HasPrefix(r.URL.Path, "/wrong"):
			_, _ = w.Write([]byte(`{"status":"error","errorType":"` + token + `","error":"` + token + `"}`))
		case strings.HasPrefix(r.URL.Path, "/refuses"):
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"status":"error","errorType":"bad_data","error":"no query of ` + token + `"}`))
		case strings.HasPrefix(r.URL.Path, "/warns"):
			_, _ = w.Write([]byte(`{"status":"success","warnings":["asked by ` + token + `"],"data":{"resultType":"scalar","result":[1,"0"]}}`))
		default:
			_, _ = w.Write([]byte(`{"status":"success","data":{"resultType":"vector","result":[{"metric":{"a":"` + token + `"},"value":[1,"` + token + `"]}]}}`))
		}
	}))
	t.Cleanup(server.Close)
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	c := v.Managed()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: v.App.Namespace, Name: "gate"}, Data: map[string][]byte{"value": []byte(markedGateToken)}}
	v.Must(c.Create(v.Ctx, secret))
	v.Migration.Spec.Gates = gatesWithTokens(server.URL, authority)
	process := harness.NewManager(t, v.App.Namespace, "manager.log")
	process.Args = append(process.Args, "--log-level", "debug", "--gates-prometheus", server.URL)
	process.Start()
	t.Cleanup(func() { process.Kill() })
	v.Must(c.Create(v.Ctx, v.Migration))
	v.Await(c, api.ConditionStalled, metav1.ConditionTrue)
	var said strings.Builder
	for _, args := range [][]string{{"status"}, {"status", "-o", "json"}, {"report"}, {"report", "-o", "json"}, {"preflight"}} {
		cmd := exec.CommandContext(v.Ctx, harness.Program(t, "migrate"), append(args, v.Migration.Name, "-n", v.App.Namespace, "--kubeconfig", v.From.Kubeconfig())...)
		out, _ := cmd.CombinedOutput() // with any exit code
		said.Write(out)
	}
	log, err := os.ReadFile(process.Log.Name())
	v.Must(err)
	for where, text := range map[string]string{"the manager's log": string(log), "the command": said.String(), "the Migrations and their events": v.toldOf(c, 1)} {
		v.tellsNothing(where, text, marks(markedGateToken))
		if !strings.Contains(text, "gate") {
			t.Errorf("%s: nothing is told of any gate", where)
		}
	}
	if shown.Load() == 0 {
		t.Error("no gate has shown the token")
	}
}

// gatesWithTokens returns gates that send a token to a server, which echoes it.
func gatesWithTokens(server string, authority []byte) []api.HealthGate {
	var gates []api.HealthGate
	prometheus := func(name, path, key string) {
		gates = append(gates, quick(api.HealthGate{Name: "gate-" + name, At: []api.GatePoint{api.GateBeforeStop}, Prometheus: &api.PrometheusGate{
			PrometheusServer: api.PrometheusServer{Address: server + path, CABundle: authority, BearerTokenSecretRef: &api.SecretKeyReference{Name: "gate", Key: key}}, Query: "up", Expression: "result[0].value > 0.0",
		}}))
	}
	prometheus("answers", "", "value")
	prometheus("errors", "/error", "value")
	prometheus("redirects", "/away", "value")
	prometheus("is-wrong", "/wrong", "value")
	prometheus("refuses", "/refuses", "value")
	prometheus("warns", "/warns", "value")
	return gates
}
