package health

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	prometheus "github.com/prometheus/client_golang/api"
	prometheusv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// Limits of the answer of a Prometheus server, and of the time until it begins.
const (
	maxResult       = 1 << 20
	maxResultHeader = 64 << 10
	handshake       = 10 * time.Second
)

// Prometheus is a Prometheus server.
type Prometheus struct {
	// field is the field of a Migration that describes the server.
	field     string
	token     *api.SecretKeyReference
	address   *url.URL
	transport *http.Transport
	secrets   Secrets
}

// NewPrometheus returns the server that a field of a Migration describes. It opens no connection. The error is
// an *InvalidError.
func NewPrometheus(field string, server api.PrometheusServer, allowed Addresses, secrets Secrets) (*Prometheus, error) {
	address, judge, err := allowed.Allow(ofPrometheus(field), server.Address)
	if err != nil {
		return nil, err
	}
	if server.BearerTokenSecretRef != nil && address.Scheme != "https" {
		return nil, refuse(api.ReasonGateInvalid, field+".bearerTokenSecretRef: by http the token could be read on the way; use the https address of the server, or no token")
	}
	transport := Transport(judge)
	if len(server.CABundle) > 0 {
		transport.TLSClientConfig.RootCAs = x509.NewCertPool()
		if !transport.TLSClientConfig.RootCAs.AppendCertsFromPEM(server.CABundle) {
			return nil, refuse(api.ReasonGateInvalid, field+".caBundle holds no certificate in PEM; encode the PEM file in base64, once")
		}
	}
	return &Prometheus{field, server.BearerTokenSecretRef, address, transport, secrets}, nil
}

// String returns the name of the server for the user.
func (p *Prometheus) String() string { return "Prometheus " + p.address.String() }

// Numbers returns the current values of all series of a query, and the warnings of the server. name is the
// query's name in its field. trouble is the reason why there is no result.
func (p *Prometheus) Numbers(ctx context.Context, namespace, name, query string) (result []float64, warnings []string, trouble *Answer) {
	token, trouble := p.secret(ctx, namespace)
	if trouble != nil {
		return nil, nil, trouble
	}
	server, err := prometheus.NewClient(prometheus.Config{Address: p.address.String(), Client: &http.Client{
		Transport:     bounded{p.transport, token},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}})
	if err != nil {
		return nil, nil, new(because(api.ReasonGateInvalid, fmt.Sprintf("%s.address cannot be asked: %v", p.field, err)))
	}
	value, warnings, err := prometheusv1.NewAPI(server).Query(ctx, query, time.Time{})
	for i := range warnings {
		warnings[i] = without(token, warnings[i])
	}
	if err != nil {
		answer := p.unheard(p.field+"."+name, err)
		answer.Message = without(token, answer.Message)
		return nil, nil, &answer
	}
	result, odd := numbers(value)
	if odd != "" {
		return nil, nil, new(because(api.ReasonGateInvalid, fmt.Sprintf("%s to %.200q answers with %s", p, query, odd)))
	}
	return result, warnings, nil
}

// numbers returns the values of all series.
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

// unheard returns the answer for a query without a result. If the answer is not one of a Prometheus server, it
// shows only the status code, because the address may lead to another service.
func (p *Prometheus) unheard(query string, err error) Answer {
	problem, is := errors.AsType[*prometheusv1.Error](err)
	if !is {
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			return because(api.ReasonGateTooCostly, fmt.Sprintf("%s answers with more than %d MiB; let the query aggregate: sum(), max(), topk()", p, maxResult>>20))
		}
		if _, way := errors.AsType[*url.Error](err); way || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			return because(api.ReasonGateUnanswered, fmt.Sprintf("%s gives no answer: %v", p, err))
		}
		if strings.Contains(err.Error(), "unexpected value type") {
			return because(api.ReasonGateInvalid, fmt.Sprintf("%s answers %s with something that is not a number; let the query return one", p, query))
		}
		return p.stranger()
	}
	switch problem.Type {
	case prometheusv1.ErrBadData:
		return because(api.ReasonGateInvalid, fmt.Sprintf("%s refuses %s: %s", p, query, problem.Msg))
	case prometheusv1.ErrExec:
		if strings.Contains(problem.Msg, "too many samples") {
			return because(api.ReasonGateTooCostly, fmt.Sprintf("%s refuses %s: %s", p, query, problem.Msg))
		}
		return because(api.ReasonGateInvalid, fmt.Sprintf("%s cannot evaluate %s: %s", p, query, problem.Msg))
	case prometheusv1.ErrTimeout, prometheusv1.ErrCanceled:
		return because(api.ReasonGateUnanswered, fmt.Sprintf("%s has not evaluated %s in time: %s", p, query, problem.Msg))
	case prometheusv1.ErrClient, prometheusv1.ErrServer, prometheusv1.ErrBadResponse:
		return p.refused(problem)
	default:
		return p.stranger()
	}
}

// stranger returns the answer for a server that is not Prometheus.
func (p *Prometheus) stranger() Answer {
	return because(api.ReasonGateUnanswered, fmt.Sprintf("%s does not answer as a Prometheus does; check %s.address, and the path in it", p, p.field))
}

// code matches the status code in an error of the client. Its other errors may quote the answer.
var code = regexp.MustCompile(`^(?:client error|server error|bad response code):? ([1-5]\d\d)$`)

func (p *Prometheus) refused(problem *prometheusv1.Error) Answer {
	words := code.FindStringSubmatch(problem.Msg)
	if words == nil {
		return p.stranger()
	}
	found := words[1]
	if found == "401" || found == "403" {
		return because(api.ReasonGateUnanswered, fmt.Sprintf("%s answers HTTP %s: it requires a token. Put one that may read into a Secret, and name the Secret in %s.bearerTokenSecretRef", p, found, p.field))
	}
	return because(api.ReasonGateUnanswered, fmt.Sprintf("%s answers HTTP %s; check %s.address, and the path in it", p, found, p.field))
}

// secret reads the token for the server; empty if there is none.
func (p *Prometheus) secret(ctx context.Context, namespace string) (string, *Answer) {
	ref := p.token
	if ref == nil {
		return "", nil
	}
	return credential{
		from: p.secrets, at: client.ObjectKey{Namespace: namespace, Name: ref.Name}, key: cmp.Or(ref.Key, "value"),
		where: fmt.Sprintf("Secret %s/%s", namespace, ref.Name), use: "the token for " + p.String(), bearer: true,
	}.read(ctx)
}

// without removes the token that was sent to a server from a text of that server. Readers of the text may lack
// the right to read the Secret.
func without(token, text string) string {
	if token == "" {
		return text
	}
	return strings.ReplaceAll(text, token, "<token>")
}

// bounded limits the size of an answer, and adds a token to the request.
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
