package endpoint

import (
	"errors"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// LacksRight says whether an API server refused a request for want of a right: admission
// and quotas answer with the same code, and in other words (kubernetes apiserver,
// handlers/responsewriters/errors.go, forbiddenMessage).
func LacksRight(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), `User "`) && strings.Contains(err.Error(), " cannot ")
}

// NotLent says whether an API server refused to let one identity act as another one.
func NotLent(err error) bool {
	return LacksRight(err) && strings.Contains(err.Error(), " cannot impersonate")
}

// WebhookRefused says whether an admission webhook kept a request from being carried out, whatever code that
// was answered with: one that denies chooses its own, and for one that fails it is 500 (kubernetes apiserver,
// admission/plugin/webhook, errors/statuserror.go and the dispatchers; util/webhook/error.go).
func WebhookRefused(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	message := status.Status().Message
	denied := strings.HasPrefix(message, `admission webhook "`) && strings.Contains(message, `" denied the request`)
	return denied || apierrors.IsInternalError(err) && strings.HasPrefix(message, `Internal error occurred: failed calling webhook "`)
}

// OneLine is an error in one line, and what several reads say alike said once. It says so where it
// was the API server's load that was in the way, and nothing of ours.
func OneLine(err error) string {
	var lines []string
	for line := range strings.SplitSeq(err.Error(), "\n") {
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	text := strings.Join(lines, "; ")
	if apierrors.IsTooManyRequests(err) {
		return "its API server turns requests away for now (429, by its own limits: see its FlowSchemas): " + text
	}
	return text
}
