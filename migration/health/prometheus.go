package health

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	prometheus "github.com/prometheus/client_golang/api"
	prometheusv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// Bounds of what a Prometheus may answer, and of the time until it begins to.
const (
	maxResult       = 1 << 20
	maxResultHeader = 64 << 10
	handshake       = 10 * time.Second
)

// prometheusAsker evaluates a query.
type prometheusAsker struct {
	gate       api.PrometheusGate
	address    *url.URL
	transport  *http.Transport
	expression *expression
	secrets    Secrets
}

func newPrometheus(gate api.PrometheusGate, at []api.GatePoint, sides Sides) (*prometheusAsker, error) {
	address, judge, err := sides.Addresses.Allow(ofPrometheus, gate.Address)
	if err != nil {
		return nil, err
	}
	if gate.BearerTokenSecretRef != nil && address.Scheme != "https" {
		return nil, refuse(api.ReasonGateInvalid, "prometheus.bearerTokenSecretRef: by http the token could be read on the way; use the https address of the server, or no token")
	}
	if err := checkText("prometheus.query", gate.Query, at); err != nil {
		return nil, err
	}
	if strings.TrimSpace(gate.Query) == "" {
		return nil, refuse(api.ReasonGateInvalid, "prometheus.query asks nothing; write a query in PromQL")
	}
	transport := Transport(judge)
	if len(gate.CABundle) > 0 {
		transport.TLSClientConfig.RootCAs = x509.NewCertPool()
		if !transport.TLSClientConfig.RootCAs.AppendCertsFromPEM(gate.CABundle) {
			return nil, refuse(api.ReasonGateInvalid, "prometheus.caBundle holds no certificate in PEM; encode the PEM file in base64, once")
		}
	}
	expression, err := compile("prometheus.expression", gate.Expression, ofResults)
	return &prometheusAsker{gate, address, transport, expression, sides.Secrets}, err
}

// Ask implements Asker.
func (a *prometheusAsker) Ask(ctx context.Context, s Subject) Answer {
	token, trouble := a.token(ctx, s.Migration.Namespace)
	if trouble != nil {
		return *trouble
	}
	server, err := prometheus.NewClient(prometheus.Config{Address: a.address.String(), Client: &http.Client{
		Transport:     bounded{a.transport, token},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}})
	if err != nil {
		return because(api.ReasonGateInvalid, fmt.Sprintf("prometheus.address cannot be asked: %v", err))
	}
	query := s.fill(a.gate.Query)
	value, warnings, err := prometheusv1.NewAPI(server).Query(ctx, query, time.Time{})
	if err != nil {
		return a.unheard(err)
	}
	answer := a.judge(ctx, query, value)
	if len(warnings) > 0 {
		answer.Message += ". It warns: " + cut(strings.Join(warnings, "; "), maxWarnings)
	}
	return answer
}

// Of a message, what a server warns of and what values it shows.
const (
	maxWarnings = 300
	maxShown    = 5
)

func (a *prometheusAsker) name() string { return "Prometheus " + a.address.String() }

// judge evaluates the expression over what a query has found.
func (a *prometheusAsker) judge(ctx context.Context, query string, value model.Value) Answer {
	asked := fmt.Sprintf("%s to %.200q", a.name(), query)
	result, trouble := numbers(value)
	switch {
	case trouble != "":
		return because(api.ReasonGateInvalid, fmt.Sprintf("%s answers with %s", asked, trouble))
	case len(result) == 0:
		return because(api.ReasonGateResultEmpty, asked+" answers with nothing: no series matches. Check its names and labels there; where there may be none, say what holds then: ... or vector(0)")
	}
	if slices.ContainsFunc(result, math.IsNaN) {
		return because(api.ReasonGateFailed, asked+" answers with NaN, which is no number to compare: often there was nothing to divide by")
	}
	holds, err := a.expression.holds(ctx, map[string]any{"result": result})
	return answerTo("prometheus.expression", fmt.Sprintf("%s, which answers %s", asked, shown(result)), holds, err)
}

// numbers are the values of all series.
func numbers(value model.Value) (result []float64, trouble string) {
	switch value := value.(type) {
	case *model.Scalar:
		return []float64{float64(value.Value)}, ""
	case model.Vector:
		for _, sample := range value {
			if sample.Histogram != nil {
				return nil, "a histogram; take a number from it, as histogram_quantile() does"
			}
			result = append(result, float64(sample.Value))
		}
		return result, ""
	case model.Matrix:
		return nil, "a range of values for each series; take one from it, as rate() or max_over_time() do"
	default:
		return nil, fmt.Sprintf("a %T, which is no number", value)
	}
}

func shown(result []float64) string {
	text := fmt.Sprint(result[:min(len(result), maxShown)])
	if len(result) > maxShown {
		text += fmt.Sprintf(" and %d more", len(result)-maxShown)
	}
	return text
}

// unheard is for a query that has no result. Of what is no answer of a Prometheus nothing is shown but its
// code: the address may lead to something else.
func (a *prometheusAsker) unheard(err error) Answer {
	problem, is := errors.AsType[*prometheusv1.Error](err)
	if !is {
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			return because(api.ReasonGateTooCostly, fmt.Sprintf("%s answers with more than %d MiB; let the query aggregate: sum(), max(), topk()", a.name(), maxResult>>20))
		}
		if _, way := errors.AsType[*url.Error](err); way || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			return because(api.ReasonGateUnanswered, fmt.Sprintf("%s gives no answer: %v", a.name(), err))
		}
		if strings.Contains(err.Error(), "unexpected value type") {
			return because(api.ReasonGateInvalid, a.name()+" answers prometheus.query with what is no number; let it ask for one")
		}
		return a.stranger()
	}
	switch problem.Type {
	case prometheusv1.ErrBadData:
		return because(api.ReasonGateInvalid, fmt.Sprintf("%s refuses prometheus.query: %s", a.name(), problem.Msg))
	case prometheusv1.ErrExec:
		if strings.Contains(problem.Msg, "too many samples") {
			return because(api.ReasonGateTooCostly, fmt.Sprintf("%s refuses prometheus.query: %s", a.name(), problem.Msg))
		}
		return because(api.ReasonGateInvalid, fmt.Sprintf("%s cannot evaluate prometheus.query: %s", a.name(), problem.Msg))
	case prometheusv1.ErrTimeout, prometheusv1.ErrCanceled:
		return because(api.ReasonGateUnanswered, fmt.Sprintf("%s has not evaluated prometheus.query in time: %s", a.name(), problem.Msg))
	case prometheusv1.ErrClient, prometheusv1.ErrServer, prometheusv1.ErrBadResponse:
		return a.refused(problem)
	default:
		return a.stranger()
	}
}

// stranger is for what is no answer of a Prometheus.
func (a *prometheusAsker) stranger() Answer {
	return because(api.ReasonGateUnanswered, a.name()+" does not answer as a Prometheus does; check prometheus.address, and the path in it")
}

// code is that of an answer, in the words of the client. Others of its words may quote the answer.
var code = regexp.MustCompile(`^(?:client error|server error|bad response code):? ([1-5]\d\d)$`)

func (a *prometheusAsker) refused(problem *prometheusv1.Error) Answer {
	words := code.FindStringSubmatch(problem.Msg)
	if words == nil {
		return a.stranger()
	}
	found := words[1]
	if found == "401" || found == "403" {
		return because(api.ReasonGateUnanswered, fmt.Sprintf("%s answers HTTP %s: it wants to know who asks. Put a token that may read into a Secret, and name it in prometheus.bearerTokenSecretRef", a.name(), found))
	}
	return because(api.ReasonGateUnanswered, fmt.Sprintf("%s answers HTTP %s; check prometheus.address, and the path in it", a.name(), found))
}

// token is what is shown to the server; empty: nothing is.
func (a *prometheusAsker) token(ctx context.Context, namespace string) (string, *Answer) {
	ref := a.gate.BearerTokenSecretRef
	if ref == nil {
		return "", nil
	}
	return credential{
		from: a.secrets, at: client.ObjectKey{Namespace: namespace, Name: ref.Name}, key: cmp.Or(ref.Key, "value"),
		where: fmt.Sprintf("Secret %s/%s", namespace, ref.Name), use: "the token for " + a.name(), bearer: true,
	}.read(ctx)
}

// bounded reads no more than so much of an answer, and shows a token.
type bounded struct {
	next  http.RoundTripper
	token string
}

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	if b.token != "" {
		req = req.Clone(req.Context())
		req.Header.Set("Authorization", "Bearer "+b.token)
	}
	resp, err := b.next.RoundTrip(req)
	if err == nil {
		resp.Body = http.MaxBytesReader(nil, resp.Body, maxResult)
	}
	return resp, err
}
