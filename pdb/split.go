// Package pdb holds the arithmetic of PodDisruptionBudgets for an application that is split over two slices.
//
// The whole application has a disruption budget d: how many of its replicas may be unavailable at once. While a
// migration runs, each slice has its own PodDisruptionBudget, with an integer value, and
//
//	source + destination <= d - inFlight            (invariant I4)
//
// where inFlight is 1 while an ordinal is in flight, because the migration itself keeps that replica unavailable. If
// d is 1, both are 0 during a handoff.
//
// A change of the split shrinks first. A side grows only after the disruption controller has confirmed every side that
// had to shrink, and only if the replicas that are already unavailable leave room. Shrinking a budget does not restore
// the pods that were evicted under the larger one.
package pdb

import (
	"cmp"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Form is the value of a PodDisruptionBudget as its author wrote it. At most one of the two fields is set.
type Form struct {
	MinAvailable   *intstr.IntOrString
	MaxUnavailable *intstr.IntOrString
}

// Unavailable returns the form for a slice that keeps or gains replicas: it may lose n.
func Unavailable(n int32) Form {
	value := intstr.FromInt32(n)
	return Form{MaxUnavailable: &value}
}

// Available returns the form for a slice that is about to give up a replica: n must remain. With maxUnavailable the
// disruption controller expects spec.replicas pods (getExpectedScale). Between a scale-down and the end of its pod there
// is one healthy pod more than that, so the controller would allow one eviction too many. minAvailable does not depend
// on spec.replicas.
func Available(n int32) Form {
	value := intstr.FromInt32(n)
	return Form{MinAvailable: &value}
}

// Equal reports whether two forms are identical, without conversion between percentages and integers.
func (f Form) Equal(other Form) bool { return equality.Semantic.DeepEqual(f, other) }

// String returns the form for display, such as "maxUnavailable 1".
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

// Parse parses the output of String. It returns nil for any other text.
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

// Budget returns the disruption budget d that the form grants to an application with the given replicas. It rounds as
// the disruption controller does (pkg/controller/disruption: percentages round up in both fields). The result is between
// 0 and replicas. A form with neither field grants nothing, as in policy/v1. On a malformed percentage it returns 0 and
// an error.
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

// Share holds one number for each slice: its size, or how many disruptions its budget allows.
type Share struct {
	Source      int32
	Destination int32
}

// Split divides d - inFlight between two slices in proportion to their sizes. The larger remainder gets the odd unit,
// and the source wins a tie. No slice gets more than its size. Each slice with replicas gets at least 1 if there is
// enough for both, because its nodes cannot be drained otherwise. The result is deterministic.
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
		// At most one unit remains, because the two remainders add up to exactly one whole.
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
