package execute

import (
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/sliceshift/sliceshift/internal/metric"
)

var writesTotal = metric.Counter(metric.Definition{
	Name: "sliceshift_statefulset_writes_total", Labels: []string{"verb", "result"},
	Help: "Writes to pods, claims and status of all StatefulSets, by verb and result: done, conflict (the object had changed), refused, failed (no answer, or the API server's fault).",
	Use:  "refused is a quota, an admission policy or a PodDisruptionBudget (Evict, ChargeBudget); failed an API server that does not answer.",
})

// RecordWrite counts a write by its result.
func RecordWrite(verb string, err error) {
	writesTotal.WithLabelValues(verb, resultOf(err)).Inc()
}

func resultOf(err error) string {
	_, byBudget := isByBudget(err)
	switch {
	case err == nil:
		return "done"
	case apierrors.IsConflict(err):
		return "conflict"
	case byBudget || rejected(err):
		return "refused"
	default:
		return "failed"
	}
}

// rejected reports whether the API server answered that it does not execute a request (4xx).
func rejected(err error) bool {
	var answer apierrors.APIStatus
	return errors.As(err, &answer) && answer.Status().Code >= 400 && answer.Status().Code < 500
}

// isRefusal reports whether an API server refuses a write, for example because of a quota or an admission policy, and would
// refuse it again. Conflicts, existing objects and overload are no refusals.
func isRefusal(err error) bool {
	return rejected(err) && !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) && !apierrors.IsTooManyRequests(err)
}

// Unsettled reports whether a failed request may still take effect. A request that the API server refused (4xx) will not.
// The effect of any other failure is unknown.
func Unsettled(failed error) bool {
	if several, is := failed.(interface{ Unwrap() []error }); is {
		return slices.ContainsFunc(several.Unwrap(), Unsettled)
	}
	return failed != nil && !rejected(failed)
}
