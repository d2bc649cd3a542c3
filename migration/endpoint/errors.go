package endpoint

import (
	"errors"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// LacksRight reports whether an API server refused a request because of a missing right. Admission and quotas return
// the same code with other texts (kubernetes apiserver, handlers/responsewriters/errors.go, forbiddenMessage).
func LacksRight(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), `User "`) && strings.Contains(err.Error(), " cannot ")
}

// OverQuota reports whether an API server rejected a request because a ResourceQuota has no room for it.
func OverQuota(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota")
}

// NotLent reports whether an API server refused impersonation.
func NotLent(err error) bool {
	return LacksRight(err) && strings.Contains(err.Error(), " cannot impersonate")
}

// WebhookRefused reports whether an admission webhook prevented a request, whatever the status code. A webhook that
// denies chooses its own code, and for a webhook that fails it is 500 (kubernetes apiserver,
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

// OneLine returns an error in one line, without repeated messages of several reads. For a 429 it adds that the API
// server limits requests.
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
