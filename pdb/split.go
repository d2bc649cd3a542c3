// Package pdb holds the arithmetic of PodDisruptionBudgets for an application
// that is split over two slices.
//
// The whole application has a disruption budget d: how many of its replicas may
// be unavailable at once. While a migration runs, each slice has a
// PodDisruptionBudget of its own in integers, and
//
//	source + destination <= d - inFlight            (invariant I4)
//
// where inFlight is 1 while an ordinal is on its way, because the migration
// itself holds that replica unavailable. With d = 1 both are 0 during a handoff.
//
// Changing the split shrinks first: a side grows only when every side that had
// to shrink has been confirmed by the disruption controller, and when what is
// unavailable already leaves room for it: a smaller budget does not bring back
// what was evicted under the larger one.
package pdb

import (
	"cmp"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Form is a PodDisruptionBudget as its author wrote it: one of the two is set.
type Form struct {
	MinAvailable   *intstr.IntOrString
	MaxUnavailable *intstr.IntOrString
}

// Unavailable is the form of a slice that keeps or gains replicas: it may lose n.
func Unavailable(n int32) Form {
	value := intstr.FromInt32(n)
	return Form{MaxUnavailable: &value}
}

// Available is the form of a slice that is about to give a replica: n must stay.
// For maxUnavailable the disruption controller expects spec.replicas pods
// (getExpectedScale): between a scale-down and the end of its pod there is one
// healthy pod more than that, and it would allow one eviction more. minAvailable
// does not look at spec.replicas.
func Available(n int32) Form {
	value := intstr.FromInt32(n)
	return Form{MinAvailable: &value}
}

// Equal says whether two forms are the same, word for word.
func (f Form) Equal(other Form) bool { return equality.Semantic.DeepEqual(f, other) }

// String is the form for people: "maxUnavailable 1".
func (f Form) String() string {
	switch {
	case f.MaxUnavailable != nil:
		return "maxUnavailable " + f.MaxUnavailable.String()
	case f.MinAvailable != nil:
		return "minAvailable " + f.MinAvailable.String()
	default:
		return "neither minAvailable nor maxUnavailable"
	}
}

// Parse reads what String has written; nil when it has not.
func Parse(text string) *Form {
	field, number, found := strings.Cut(text, " ")
	value := intstr.Parse(number)
	switch {
	case !found || number == "":
		return nil
	case field == "maxUnavailable":
		return &Form{MaxUnavailable: &value}
	case field == "minAvailable":
		return &Form{MinAvailable: &value}
	default:
		return nil
	}
}

// Budget returns the disruption budget d that the form grants an application of
// so many replicas. It rounds as the disruption controller does
// (pkg/controller/disruption: percentages of both fields round up), and is never
// below 0 nor above replicas. A form with neither field grants nothing, as in
// policy/v1. It fails on a malformed percentage, and grants nothing then.
func Budget(form Form, replicas int32) (int32, error) {
	field := cmp.Or(form.MaxUnavailable, form.MinAvailable)
	if field == nil {
		return 0, nil
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(field, int(replicas), true)
	if err != nil {
		return 0, fmt.Errorf("budget %q: %w", field.String(), err)
	}
	if form.MaxUnavailable == nil {
		n = int(replicas) - n
	}
	return int32(max(0, min(n, int(replicas)))), nil
}

// Share is one number for each slice: its size, or what its budget allows.
type Share struct {
	Source      int32
	Destination int32
}

// Split shares d - inFlight between two slices of the given sizes, in proportion
// to the sizes, the larger remainder first and the source first on a tie. No
// slice gets more than its size, and each that has replicas gets at least one where
// there is enough for both: the nodes of neither can be drained without. Same input,
// same output.
func Split(d, inFlight int32, size Share) Share {
	total := int64(size.Source) + int64(size.Destination)
	left := int64(max(0, d-inFlight))
	if total == 0 {
		return Share{}
	}
	left = min(left, total)
	source := left * int64(size.Source) / total
	destination := left * int64(size.Destination) / total
	if rest := left - source - destination; rest > 0 {
		// Of two shares at most one unit is left over: both remainders together
		// make exactly one whole.
		if left*int64(size.Source)%total >= left*int64(size.Destination)%total {
			source++
		} else {
			destination++
		}
	}
	if left > 1 {
		switch {
		case source == 0 && size.Source > 0:
			source, destination = 1, destination-1
		case destination == 0 && size.Destination > 0:
			source, destination = source-1, 1
		}
	}
	return Share{Source: int32(source), Destination: int32(destination)}
}
