package execute

import (
	"errors"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

var writesTotal = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "sliceshift_statefulset_writes_total",
	Help: "What was done to pods and claims, and status writes, by verb and result: done, conflict (the object had changed), refused, failed (no answer, or the API server's fault).",
}, []string{"verb", "result"})

func init() { //nolint:gochecknoinits // the registry of controller-runtime is filled at start
	metrics.Registry.MustRegister(writesTotal)
}

// RecordWrite counts a write by what came of it.
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

// Unsettled says whether something that was asked for may be done yet: what the API server
// has refused will not be, and of any other failure nobody knows.
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
