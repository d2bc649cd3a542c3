package endpoint

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestLacksRight: only an error about a missing right counts, because only then does a role binding help.
func TestLacksRight(t *testing.T) {
	sets, claims := appsv1.Resource("statefulsets"), corev1.Resource("persistentvolumeclaims")
	for text, want := range map[string]bool{
		`User "system:serviceaccount:shop:mover" cannot patch resource "statefulsets" in API group "apps" in the namespace "shop"`: true,
		`ValidatingAdmissionPolicy 'frozen' with binding 'frozen' denied request: no changes on Fridays`:                           false,
	} {
		if got := LacksRight(apierrors.NewForbidden(sets, "web", errors.New(text))); got != want {
			t.Errorf("%s: got %t", text, got)
		}
	}
	if LacksRight(apierrors.NewForbidden(claims, "data-web-0", errors.New("exceeded quota: small, requested: 1, used: 2, limited: 2"))) {
		t.Error("a quota is no right")
	}
	if LacksRight(apierrors.NewConflict(sets, "web", errors.New(`User "x" cannot`))) {
		t.Error("a conflict is no right")
	}
}

// TestWebhookRefused: a webhook that denies with its own code, and a webhook that fails, have prevented a request;
// another internal error may not have.
func TestWebhookRefused(t *testing.T) {
	denied := func(code int32, reason metav1.StatusReason) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: `admission webhook "policy.corp" denied the request: not today`}}
	}
	failed := errors.New(`failed calling webhook "policy.corp": failed to call webhook: the server is currently unable to handle the request`)
	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"it denies":            {denied(400, metav1.StatusReasonBadRequest), true},
		"it denies with 500":   {denied(500, metav1.StatusReasonInternalError), true},
		"it fails":             {fmt.Errorf("cluster east: %w", apierrors.NewInternalError(failed)), true},
		"another error":        {apierrors.NewInternalError(errors.New("etcdserver: request timed out")), false},
		"the words of another": {apierrors.NewInternalError(fmt.Errorf("etcd: %w", failed)), false},
		"no API server's":      {failed, false},
	} {
		if got := WebhookRefused(tc.err); got != tc.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}

// TestOneLine: equal errors of several reads appear once, and a busy server is not reported as unreachable.
func TestOneLine(t *testing.T) {
	gone, other := errors.New("no route to host"), errors.New("i/o timeout")
	for want, err := range map[string]error{
		"no route to host":              errors.Join(gone, gone),
		"no route to host; i/o timeout": errors.Join(gone, other, gone),
	} {
		if got := OneLine(err); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	busy := errors.Join(gone, apierrors.NewTooManyRequests("please try again later", 3))
	if got := OneLine(busy); !strings.HasPrefix(got, "its API server turns requests away") || !strings.Contains(got, "429") || !strings.Contains(got, "try again later") {
		t.Errorf("got %q", got)
	}
}
