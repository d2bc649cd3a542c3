package health

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/migration/endpoint"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
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
			"%s, with %s, was not read for want of a right: %s. Allow it to who is named there: %s, and bind it",
			c.where, c.use, endpoint.OneLine(err), c.from.Kubectl.Do("create", "role", "gate-"+c.at.Name, "-n", c.at.Namespace, "--verb=get", "--resource=secrets", "--resource-name="+c.at.Name))))
	case err != nil:
		return "", new(because(api.ReasonGateUnanswered, fmt.Sprintf("%s, with %s, could not be read: %s", c.where, c.use, endpoint.OneLine(err))))
	case secret == nil || len(secret.Data[c.key]) == 0:
		return "", new(because(api.ReasonGateInvalid, fmt.Sprintf("%s with key %q, which holds %s, does not exist; make it: %s",
			c.where, c.key, c.use, c.from.Kubectl.Do("create", "secret", "generic", "-n", c.at.Namespace, c.at.Name, "--from-literal="+c.key+"=TOKEN"))))
	}
	value := strings.TrimSpace(string(secret.Data[c.key]))
	switch {
	case c.bearer && !bearer.MatchString(value):
		return "", new(because(api.ReasonGateInvalid, fmt.Sprintf("%s, key %q, holds no bearer token: it has other characters than one has (RFC 6750); store the token alone", c.where, c.key)))
	case !fitsHeader(value):
		return "", new(because(api.ReasonGateInvalid, fmt.Sprintf("%s, key %q, has characters that no header may have; store the value of the header alone", c.where, c.key)))
	}
	return value, nil
}

// bearer matches a bearer token (RFC 6750, 2.1).
var bearer = regexp.MustCompile(`^[A-Za-z0-9._~+/-]+=*$`)

// fitsHeader reports whether a text can be the value of a header.
func fitsHeader(value string) bool {
	return !strings.ContainsFunc(value, func(r rune) bool { return r != '\t' && unicode.IsControl(r) })
}
