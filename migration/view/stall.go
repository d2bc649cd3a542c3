package view

import (
	"cmp"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sliceshift/sliceshift/internal/records"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// Stall is why a migration is stalled.
type Stall struct{ Reason, Message, Remedy string }

// StallOf is why a migration is stalled; nil when it is not.
func StallOf(m *api.Migration) *Stall {
	return heldBy(m, api.ConditionStalled)
}

// AheadOf is why copies for later turns are refused; nil when none is.
func AheadOf(m *api.Migration) *Stall { return heldBy(m, api.ConditionAheadHeld) }

// heldBy is what a condition says whose truth is a trouble; nil: it is not true.
func heldBy(m *api.Migration, kind string) *Stall {
	c := meta.FindStatusCondition(m.Status.Conditions, kind)
	if c == nil || c.Status != metav1.ConditionTrue {
		return nil
	}
	message, remedy := records.CutRemedy(c.Message)
	return &Stall{c.Reason, message, remedy}
}

// DestinationOf is the name of the destination's cluster: as the run's first user called it, or as it is
// called in what was last seen of its slice; empty when neither is known.
func DestinationOf(m *api.Migration) string {
	if name := m.Annotations[records.DestinationNameAnnotationKey]; name != "" {
		return name
	}
	if seen := m.Status.Destination; seen != nil {
		if name, _, found := strings.Cut(seen.Slice, fmt.Sprintf("/%s/", cmp.Or(m.Spec.Destination.Namespace, m.Namespace))); found {
			return name
		}
	}
	return ""
}
