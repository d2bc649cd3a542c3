package execute

import (
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/sliceshift/sliceshift/internal/metric"
)

var writesTotal = metric.Counter(metric.Definition{
	Name: "sliceshift_statefulset_writes_total", Labels: []string{"verb", "result"},
	Help: "What was done to pods and claims of all StatefulSets, and status writes, by verb and result: done, conflict (the object had changed), refused, failed (no answer, or the API server's fault).",
	Use:  "refused is a quota or an admission policy; failed an API server that does not answer.",
})

// RecordWrite counts a write by its result.
func RecordWrite(verb string, err error) {
	writesTotal.WithLabelValues(verb, resultOf(err)).Inc()
}

func resultOf(err error) string {
	var answer apierrors.APIStatus
	switch {
	case err == nil:
		return "done"
	case apierrors.IsConflict(err):
		return "conflict"
	case errors.As(err, &answer) && answer.Status().Code >= 400 && answer.Status().Code < 500:
		return "refused"
	default:
		return "failed"
	}
}

// Unsettled reports whether a failed request may still take effect. A request that the API server refused (4xx) will not.
// The effect of any other failure is unknown.
func Unsettled(failed error) bool {
	if several, is := failed.(interface{ Unwrap() []error }); is {
		return slices.ContainsFunc(several.Unwrap(), Unsettled)
	}
	var answer apierrors.APIStatus
	if failed == nil || errors.As(failed, &answer) && answer.Status().Code >= 400 && answer.Status().Code < 500 {
		return false
	}
	return true
}
