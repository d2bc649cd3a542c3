package health

import (
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters/clustertest"
	"github.com/sliceshift/sliceshift/internal/shell"
)

// secretBody must not be in any message.
const secretBody = "the-answer-of-something-internal"

// metrics answers queries by their text.
func metrics(answers map[string]string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/query" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		query := r.FormValue("query")
		switch {
		case query == "who":
			if r.Header.Get("Authorization") != "Bearer abc.DEF-1" {
				w.WriteHeader(http.StatusUnauthorized)
				fmt.Fprint(w, secretBody)
				return
			}
			fmt.Fprint(w, vector("1"))
		case query == "away":
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		case query == "large":
			fmt.Fprint(w, strings.Repeat(" ", maxResult+1))
		case query == "page":
			fmt.Fprint(w, "<html>"+secretBody)
		case query == "broken":
			w.WriteHeader(http.StatusBadGateway)
			fmt.Fprint(w, secretBody)
		case query == "silent":
			<-r.Context().Done()
		case answers[query] != "":
			if strings.Contains(answers[query], `"status":"error"`) {
				w.WriteHeader(http.StatusUnprocessableEntity)
			}
			fmt.Fprint(w, answers[query])
		default:
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"status":"error","errorType":"bad_data","error":"parse error: %s"}`, query)
		}
	}
}

func vector(values ...string) string {
	var series []string
	for _, value := range values {
		series = append(series, fmt.Sprintf(`{"metric":{},"value":[1,%q]}`, value))
	}
	return fmt.Sprintf(`{"status":"success","data":{"resultType":"vector","result":[%s]}}`, strings.Join(series, ","))
}

func TestPrometheus(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(metrics(map[string]string{
		"up":                          vector("1"),
		`lag{pod="web-2",n="2"}`:      vector("0.5", "+Inf"),
		"nothing":                     vector(),
		"nan":                         vector("1", "NaN"),
		"scalar":                      `{"status":"success","data":{"resultType":"scalar","result":[1,"7"]}}`,
		"text":                        `{"status":"success","data":{"resultType":"string","result":[1,"a"]}}`,
		"range":                       `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":[[1,"1"]]}]}}`,
		"warned":                      `{"status":"success","warnings":["partial answer"],"data":{"resultType":"vector","result":[{"metric":{},"value":[1,"1"]}]}}`,
		"histogram":                   `{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"histogram":[1,{"count":"1","sum":"1","buckets":[]}]}]}}`,
		"many-to-many":                `{"status":"error","errorType":"execution","error":"many-to-many matching not allowed"}`,
		"samples":                     `{"status":"error","errorType":"execution","error":"query processing would load too many samples into memory"}`,
		"slow":                        `{"status":"error","errorType":"timeout","error":"query timed out"}`,
		`a{b=~".*$",c="${d}"}`:        vector("1"),
		`sum(rate(errors_total[5m]))`: vector("0.25"),
	}))
	t.Cleanup(server.Close)
	for name, tc := range map[string]struct {
		query, expression string
		want              want
	}{
		"good":             {"up", "result[0] == 1", good("is true over Prometheus " + server.URL + ` to "up", which answers [1]`)},
		"bad":              {"sum(rate(errors_total[5m]))", "result[0] < 0.1", bad("is false over", "[0.25]")},
		"an integer":       {"up", "result[0] >= 1 && result.size() == 1", good()},
		"of the ordinal":   {`lag{pod="${pod}",n="${ordinal}"}`, "result.all(r, r > 0.1)", good("[0.5 +Inf]")},
		"scalar":           {"scalar", "result[0] == 7.0", good()},
		"nothing":          {"nothing", "result.size() == 0", emptyHanded("no series matches", "or vector(0)")},
		"NaN":              {"nan", "true", bad("NaN")},
		"warned":           {"warned", "result[0] == 1", good("It warns: partial answer")},
		"text":             {"text", "true", wrong("not a number")},
		"range":            {"range", "true", wrong("a range of values")},
		"histogram":        {"histogram", "true", wrong("a histogram")},
		"does not parse":   {"sum(", "true", wrong("refuses prometheus.query: parse error: sum(")},
		"cannot be":        {"many-to-many", "true", wrong("many-to-many matching")},
		"too many samples": {"samples", "true", tooDear("too many samples")},
		"too slow":         {"slow", "true", none("not evaluated prometheus.query in time")},
		"too large":        {"large", "true", tooDear("1 MiB", "aggregate")},
		"a page":           {"page", "true", none("does not answer as a Prometheus does")},
		"an error":         {"broken", "true", none("HTTP 502")},
		"a redirect":       {"away", "true", none("HTTP 307")},
		"a token":          {"who", "true", none("HTTP 401", "prometheus.bearerTokenSecretRef")},
		"no CEL":           {"up", "result[0] >", wrong("prometheus.expression is no CEL", "line 1, column")},
		"a list":           {"up", "result > 1.0", wrong("prometheus.expression is no CEL", "no matching overload")},
		"too few":          {"up", "result[1] > 1.0", bad("index out of bounds")},
		"no object":        {"up", "object == null", wrong("undeclared reference")},
		"no variable":      {"up{a='${ordinals}'}", "true", wrong("prometheus.query: there is no ${ordinals}")},
		"no query":         {" ", "true", wrong("prometheus.query asks nothing")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gate := api.HealthGate{Prometheus: &api.PrometheusGate{PrometheusServer: api.PrometheusServer{Address: server.URL}, Query: tc.query, Expression: tc.expression}}
			got := ask(t.Context(), t, gate, Sides{Addresses: Addresses{Any: true}}, web2)
			tc.want.check(t, got)
			if strings.Contains(got.Message, secretBody) {
				t.Errorf("shows what something else has answered: %s", got.Message)
			}
		})
	}
	t.Run("silent", func(t *testing.T) {
		gate := api.HealthGate{Prometheus: &api.PrometheusGate{PrometheusServer: api.PrometheusServer{Address: server.URL}, Query: "silent", Expression: "true"}}
		none("gives no answer").check(t, ask(shortly(t), t, gate, Sides{Addresses: Addresses{Any: true}}, web2))
	})
	t.Run("away", func(t *testing.T) {
		gate := api.HealthGate{Prometheus: &api.PrometheusGate{PrometheusServer: api.PrometheusServer{Address: "http://127.0.0.1:1"}, Query: "up", Expression: "true"}}
		none("gives no answer", "connection refused").check(t, ask(t.Context(), t, gate, Sides{Addresses: Addresses{Any: true}}, web2))
	})
}

// TestPrometheusToken: the token is read from the Migration's namespace, and sent only to a verified server.
func TestPrometheusToken(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(metrics(nil))
	t.Cleanup(server.Close)
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	secret := func(name, token string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Data: map[string][]byte{"value": []byte(token)}}
	}
	sides := Sides{Secrets: Secrets{clustertest.New(secret("token", "abc.DEF-1\n"), secret("empty", ""), secret("two", "a\r\nX: b")), shell.Kubectl{Flags: "--context east"}}, Addresses: Addresses{Any: true}}
	for name, tc := range map[string]struct {
		address, secret, key string
		authority            []byte
		want                 want
	}{
		"shown":               {server.URL, "token", "", authority, good()},
		"none":                {server.URL, "", "", authority, none("HTTP 401")},
		"missing":             {server.URL, "gone", "", authority, wrong("Secret shop/gone", "kubectl --context east create secret generic -n shop gone --from-literal=value=TOKEN")},
		"empty":               {server.URL, "empty", "", authority, wrong("Secret shop/empty")},
		"another key":         {server.URL, "token", "token", authority, wrong(`key "token"`)},
		"no token":            {server.URL, "two", "", authority, wrong("holds no bearer token")},
		"by http":             {"http://127.0.0.1:1", "token", "", nil, wrong("could be read on the way")},
		"not verified":        {server.URL, "token", "", nil, none("certificate")},
		"authority is no PEM": {server.URL, "token", "", []byte(base64.StdEncoding.EncodeToString(authority)), wrong("prometheus.caBundle")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gate := &api.PrometheusGate{PrometheusServer: api.PrometheusServer{Address: tc.address, CABundle: tc.authority}, Query: "who", Expression: "result[0] == 1"}
			if tc.secret != "" {
				gate.BearerTokenSecretRef = &api.SecretKeyReference{Name: tc.secret, Key: tc.key}
			}
			got := ask(t.Context(), t, api.HealthGate{Prometheus: gate}, sides, web2)
			tc.want.check(t, got)
			if strings.Contains(got.Message, "abc.DEF") {
				t.Errorf("shows the token: %s", got.Message)
			}
		})
	}
}

// TestPrometheusShowsNoToken: a token that a server repeats in an error or a warning does not reach a status.
func TestPrometheusShowsNoToken(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"refused": `{"status":"error","errorType":"bad_data","error":"no: %s"}`,
		"warned":  `{"status":"success","warnings":["old: %s"],"data":{"resultType":"vector","result":[{"metric":{},"value":[1,"1"]}]}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = fmt.Fprintf(w, answer, r.Header.Get("Authorization"))
			}))
			t.Cleanup(server.Close)
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "token"}, Data: map[string][]byte{"value": []byte("abc.DEF-1")}}
			gate := &api.PrometheusGate{Query: "up", Expression: "true", PrometheusServer: api.PrometheusServer{
				Address: server.URL, BearerTokenSecretRef: &api.SecretKeyReference{Name: "token"},
				CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
			}}
			got := ask(t.Context(), t, api.HealthGate{Prometheus: gate}, Sides{Secrets: Secrets{Reader: clustertest.New(secret)}, Addresses: Addresses{Any: true}}, web2)
			if strings.Contains(got.Message, "abc.DEF") || !strings.Contains(got.Message, "Bearer <token>") {
				t.Errorf("%s", got.Message)
			}
		})
	}
}

// TestAddresses: the addresses that an author may let the manager query.
func TestAddresses(t *testing.T) {
	t.Parallel()
	listed := Addresses{Listed: []string{"http://prometheus.monitoring:9090", "https://mimir.corp/team-a/prometheus/"}}
	for name, tc := range map[string]struct {
		of      Addresses
		address string
		says    string // empty if allowed
	}{
		"https":                        {Addresses{}, "https://prometheus.corp", ""},
		"https with a path":            {Addresses{}, "https://prometheus.corp:8443/a/b/", ""},
		"http":                         {Addresses{}, "http://prometheus.corp", "gates.prometheus"},
		"this machine":                 {Addresses{}, "https://localhost:8443", "metadata service"},
		"this machine, in capitals":    {Addresses{}, "https://LocalHost.:8443", "metadata service"},
		"this machine, as a number":    {Addresses{}, "https://2130706433", "metadata service"},
		"this machine, mapped":         {Addresses{}, "https://[::ffff:127.0.0.1]", "metadata service"},
		"the metadata service":         {Addresses{}, "https://169.254.169.254", "metadata service"},
		"the metadata service in IPv6": {Addresses{}, "https://[fd00:ec2::254]", "metadata service"},
		"this machine, in tests":       {Addresses{AllowLocal: true}, "https://127.0.0.1", ""},
		"a user":                       {Addresses{Any: true}, "https://a:b@prometheus.corp", "holds a user name"},
		"a query":                      {Addresses{Any: true}, "https://prometheus.corp/?a=b", "a query or a fragment"},
		"an empty query":               {Addresses{Any: true}, "https://prometheus.corp/a?", "a query or a fragment"},
		"a fragment":                   {Addresses{Any: true}, "https://prometheus.corp/a#b", "a query or a fragment"},
		"up":                           {Addresses{Any: true}, "https://prometheus.corp/a/../b", "write the path without"},
		"up, hidden":                   {Addresses{Any: true}, "https://prometheus.corp/a/%2e%2e/b", "write the path without"},
		"a slash, hidden":              {Addresses{Any: true}, "https://prometheus.corp/a%2fb", "write the path without"},
		"no URL":                       {Addresses{Any: true}, "prometheus.corp", "is no URL"},
		"a file":                       {Addresses{Any: true}, "file:///etc/passwd", "is no URL"},
		"no host":                      {Addresses{Any: true}, "https://", "is no URL"},
		"anything, for oneself":        {Addresses{Any: true}, "http://127.0.0.1:9090", ""},
		"listed":                       {listed, "http://prometheus.monitoring:9090", ""},
		"below what is listed":         {listed, "http://Prometheus.monitoring.:9090/a", ""},
		"listed with a path":           {listed, "https://mimir.corp:443/team-a/prometheus", ""},
		"above what is listed":         {listed, "https://mimir.corp/team-a", "is not an allowed address"},
		"beside what is listed":        {listed, "https://mimir.corp/team-a/prometheus2", "is not an allowed address"},
		"another port":                 {listed, "http://prometheus.monitoring", "is not an allowed address"},
		"another scheme":               {listed, "https://prometheus.monitoring:9090", "is not an allowed address"},
		"not listed":                   {listed, "https://prometheus.corp", "is not an allowed address"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, judge, err := tc.of.Allow(ofPrometheus("prometheus"), tc.address)
			switch {
			case tc.says == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tc.says != "" && (err == nil || !strings.Contains(err.Error(), tc.says)):
				t.Errorf("got %v, want %q", err, tc.says)
			case err == nil && judge != (name == "https" || name == "https with a path"):
				t.Errorf("connections are judged: %v", judge)
			}
		})
	}
}

// TestNameThatLeadsHere: a name may resolve to any address, so connections are checked by their IP address.
func TestNameThatLeadsHere(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	t.Cleanup(server.Close)
	gate := api.PrometheusGate{PrometheusServer: api.PrometheusServer{Address: "https://prometheus.corp"}, Query: "up", Expression: "true"}
	asker, err := newPrometheus(gate, nil, Sides{})
	if err != nil {
		t.Fatal(err)
	}
	asker.server.address.Host = server.Listener.Addr().String() // as if the name had resolved to it
	none("metadata service").check(t, asker.Ask(t.Context(), web2))
	if requests.Load() > 0 {
		t.Error("a request arrived")
	}
}
