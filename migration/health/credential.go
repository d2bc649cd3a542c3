package health

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/endpoint"
)

// credential is one key of a Secret. Its value is sent with a request and is in no answer.
type credential struct {
	from Secrets
	at   client.ObjectKey
	key  string
	// where is the name of the Secret for the user, and use is the purpose of its value.
	where, use string
	// bearer is true for a token, and false for the whole value of a header.
	bearer bool
}

// read returns the current value.
func (c credential) read(ctx context.Context) (string, *Answer) {
	if c.from.Reader == nil {
		return "", new(because(api.ReasonGateUnanswered, c.where+" cannot be read here"))
	}
	secret, err := endpoint.Get[corev1.Secret](ctx, c.from.Reader, c.at)
	switch {
	case endpoint.LacksRight(err):
		return "", new(because(api.ReasonGateUnanswered, fmt.Sprintf(
			"%s, with %s, was not read, because a permission is missing: %s. Grant it to the user in this error: %s, and bind the Role",
			c.where, c.use, endpoint.OneLine(err), c.from.Kubectl.Do("create", "role", "gate-"+c.at.Name, "-n", c.at.Namespace, "--verb=get", "--resource=secrets", "--resource-name="+c.at.Name))))
	case err != nil:
		return "", new(because(api.ReasonGateUnanswered, fmt.Sprintf("%s, with %s, could not be read: %s", c.where, c.use, endpoint.OneLine(err))))
	case secret == nil || len(secret.Data[c.key]) == 0:
		return "", new(because(api.ReasonGateInvalid, fmt.Sprintf("%s with key %q, which holds %s, does not exist; create it: %s",
			c.where, c.key, c.use, c.from.Kubectl.Do("create", "secret", "generic", "-n", c.at.Namespace, c.at.Name, "--from-literal="+c.key+"=TOKEN"))))
	}
	value := strings.TrimSpace(string(secret.Data[c.key]))
	switch {
	case c.bearer && !bearer.MatchString(value):
		return "", new(because(api.ReasonGateInvalid, fmt.Sprintf("%s, key %q, holds no bearer token: it has characters that RFC 6750 does not allow; store only the token", c.where, c.key)))
	case !fitsHeader(value):
		return "", new(because(api.ReasonGateInvalid, fmt.Sprintf("%s, key %q, has characters that a header must not have; store only the value of the header", c.where, c.key)))
	}
	return value, nil
}

// bearer matches a bearer token (RFC 6750, 2.1).
var bearer = regexp.MustCompile(`^[A-Za-z0-9._~+/-]+=*$`)

// fitsHeader reports whether a text can be the value of a header.
func fitsHeader(value string) bool {
	return !strings.ContainsFunc(value, func(r rune) bool { return r != '\t' && unicode.IsControl(r) })
}
