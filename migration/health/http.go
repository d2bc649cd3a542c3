package health

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/migration/endpoint"
)

// httpAsker queries an endpoint of a pod.
type httpAsker struct {
	gate    api.HTTPGate
	request clusters.PodRequest
	// sent lists the headers with values from Secrets. If there are any, the request goes through a separate
	// connection to the pod.
	sent  []sentSecret
	sides Sides
}

func newHTTP(gate api.HTTPGate, sides Sides) (*httpAsker, error) {
	request := clusters.PodRequest{Scheme: "http", Port: gate.Port, Header: http.Header{}}
	if gate.Scheme == api.GateHTTPS {
		request.Scheme = "https"
	}
	var err error
	if request.Path, request.Query, err = pathOf(gate.Path); err != nil {
		return nil, err
	}
	for _, header := range gate.Headers {
		if err := checkHeader(header); err != nil {
			return nil, err
		}
		if header.SecretRef == nil {
			request.Header.Set(header.Name, header.Value)
		}
	}
	sent, err := sentSecrets(gate)
	return &httpAsker{gate, request, sent, sides}, err
}

// authorization is the header with the client's credentials.
const authorization = "Authorization"

func checkHeader(header api.GateHeader) error {
	if credential := http.CanonicalHeaderKey(header.Name) == authorization; credential && header.SecretRef == nil {
		return refuse(api.ReasonGateInvalid, "http.headers: Authorization is a credential, which must not be written here; store it in a Secret, and name that in secretRef of the header, or in http.bearerTokenSecretRef")
	} else if !credential {
		if err := clusters.CheckPodHeader(header.Name); err != nil {
			return refuse(api.ReasonGateInvalid, fmt.Sprintf("http.headers: %v", err))
		}
	}
	switch {
	case header.SecretRef != nil && header.Value != "":
		return refuse(api.ReasonGateInvalid, fmt.Sprintf("http.headers: %s has a value and a secretRef; remove one of them", header.Name))
	case !fitsHeader(header.Value):
		return refuse(api.ReasonGateInvalid, fmt.Sprintf("http.headers: the value of %s has characters that no header may have; remove them", header.Name))
	}
	return nil
}

// pathOf splits a path into path and query. The path is appended to the pod's path in the API server, and must
// not lead out of it.
func pathOf(text string) (clean, query string, err error) {
	if text == "" {
		return "/", "", nil
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(text, "/") || strings.HasPrefix(text, "//"):
		return "", "", refuse(api.ReasonGateInvalid, fmt.Sprintf("http.path: %.63q is not a path; write /, its segments, and a query behind ? where it needs one", text))
	case u.Fragment != "" || u.RawFragment != "" || strings.Contains(text, "#"):
		return "", "", refuse(api.ReasonGateInvalid, fmt.Sprintf("http.path: %.63q has a fragment, which is never sent; remove it", text))
	case u.RawPath != "" || strings.Contains(u.Path, `\`) || path.Clean(u.Path) != strings.TrimSuffix(u.Path, "/") && u.Path != "/":
		return "", "", refuse(api.ReasonGateInvalid, fmt.Sprintf("http.path: %.63q has an empty segment, a . or .., or a character that is hidden by a %%; write the path without", text))
	}
	return u.Path, u.RawQuery, nil
}

// Ask implements Asker.
func (a *httpAsker) Ask(ctx context.Context, s Subject) Answer {
	side := a.sides.at(s.Side)
	request := a.request
	request.Pod = client.ObjectKey{Namespace: s.Namespace, Name: s.Pod}
	if len(a.sent) > 0 {
		return a.askWithSecrets(ctx, s, request)
	}
	answer, err := side.Connection.AskPod(ctx, request)
	if err != nil {
		return unheard(s, fmt.Sprintf("port %d", a.gate.Port), "get", "pods/proxy", err)
	}
	if doubt := samePod(ctx, side.Connection, s); doubt != nil {
		return *doubt
	}
	return a.judge(s, answer)
}

func (a *httpAsker) judge(s Subject, answer clusters.PodAnswer) Answer {
	asked := fmt.Sprintf("%s answers HTTP %d on port %d%s", s.pod(), answer.Code, a.gate.Port, a.request.Path)
	switch {
	case !a.expects(answer.Code) && len(a.sent) > 0 && (answer.Code == http.StatusUnauthorized || answer.Code == http.StatusForbidden):
		return because(api.ReasonGateUnanswered, fmt.Sprintf("%s: it rejects the credential from %s. Store a valid one there; each request reads the Secret", asked, a.named(s)))
	case !a.expects(answer.Code) && answer.Code == http.StatusUnauthorized:
		return because(api.ReasonGateFailed, asked+": it requires a credential. Store a token in a Secret in the pod's namespace, and set http.bearerTokenSecretRef; or use a path without authentication")
	case !a.expects(answer.Code):
		return because(api.ReasonGateFailed, fmt.Sprintf("%s, and a good answer is %s. It says: %s", asked, a.expected(), a.said(answer.Body)))
	case !bytes.Contains(answer.Body, []byte(a.gate.BodyContains)):
		return because(api.ReasonGateFailed, fmt.Sprintf("%s, without %.63q in its first %d KiB. It says: %s", asked, a.gate.BodyContains, clusters.MaxPodAnswer>>10, a.said(answer.Body)))
	}
	return passed("%s", asked)
}

func (a *httpAsker) expects(code int) bool {
	if len(a.gate.ExpectedStatus) == 0 {
		return code >= http.StatusOK && code < http.StatusMultipleChoices
	}
	return slices.Contains(a.gate.ExpectedStatus, int32(code)) //nolint:gosec // an HTTP code has three digits
}

func (a *httpAsker) expected() string {
	if len(a.gate.ExpectedStatus) == 0 {
		return "200 to 299"
	}
	return strings.Trim(strings.Join(strings.Fields(fmt.Sprint(a.gate.ExpectedStatus)), " or "), "[]")
}

// said returns the part of an answer that a message may show. A pod may repeat what it was sent, so nothing is
// shown if that included Secrets.
func (a *httpAsker) said(body []byte) string {
	if len(a.sent) > 0 {
		return "(not shown, because the value of a Secret was sent)"
	}
	return excerpt(body)
}

// excerpt returns the beginning of a pod's answer.
func excerpt(body []byte) string {
	const most = 200
	if text := line(string(body)); text != "" {
		return fmt.Sprintf("%q", cut(text, most))
	}
	return "nothing"
}

// pod returns the name of the pod for the user.
func (s Subject) pod() string {
	return fmt.Sprintf("pod %s/%s in cluster %s", s.Namespace, s.Pod, s.Cluster)
}

// unheard returns the answer for a pod that did not answer.
func unheard(s Subject, at, verb, resource string, err error) Answer {
	why := endpoint.OneLine(err)
	if endpoint.LacksRight(err) {
		return because(api.ReasonGateUnanswered, fmt.Sprintf("%s was not asked at %s, because a permission is missing: %s. Bind ClusterRole sliceshift-mover-gates there, or allow: %s %s", s.pod(), at, why, verb, resource))
	}
	return because(api.ReasonGateUnanswered, fmt.Sprintf("%s gives no answer at %s: %s", s.pod(), at, why))
}

// samePod checks that the requested pod has answered: if the pod is the same before and after a question, it
// was also the same during it.
func samePod(ctx context.Context, connection *clusters.Connection, s Subject) *Answer {
	var found corev1.Pod
	err := connection.Live().Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: s.Pod}, &found)
	switch {
	case err != nil && !apierrors.IsNotFound(err):
		return new(because(api.ReasonGateUnanswered, fmt.Sprintf("%s has answered, and could not be read afterwards: %s", s.pod(), endpoint.OneLine(err))))
	case err != nil || found.UID != s.PodUID:
		return new(because(api.ReasonGateUnanswered, s.pod()+" has been replaced while it was asked; its successor is asked"))
	}
	return nil
}
