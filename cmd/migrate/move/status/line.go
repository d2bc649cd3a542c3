package status

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
	message, remedy := CutRemedy(c.Message)
	return &Stall{c.Reason, message, remedy}
}

// CutRemedy takes the way out off a condition's message.
func CutRemedy(message string) (what, remedy string) {
	what, remedy, _ = strings.Cut(message, ". To mend it: ")
	return what, remedy
}

// Line says in one line where a migration is.
func Line(m *api.Migration) string {
	status := m.Status
	words := []string{fmt.Sprintf("%d/%d moved", status.Arrived(), status.Total)}
	if m.Spec.Mode != api.ModeRun && m.Spec.Mode != "" {
		words = append(words, "mode "+string(m.Spec.Mode))
	}
	if h := status.Handoff; h != nil {
		words = append(words, strings.TrimSpace(fmt.Sprintf("ordinal %d %s", h.Ordinal, h.Step)))
	}
	if completed := records.Completed(m); completed != "" {
		return strings.Join(append(words, "completed: "+completed), "  ")
	}
	if stall := StallOf(m); stall != nil {
		return strings.Join(append(words, "STALLED "+stall.Reason+": "+stall.Message), "  ")
	}
	for _, c := range status.Conditions {
		if c.Type == api.ConditionProgressing && c.Message != "" {
			words = append(words, c.Message)
		}
	}
	return strings.Join(words, "  ")
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
