package view

import (
	"cmp"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/internal/shell"
)

// Stall is the reason why a migration is stalled.
type Stall struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
	Remedy  string `json:"remedy,omitempty"`
}

// MarshalJSON adds the commands of the remedy.
func (s Stall) MarshalJSON() ([]byte, error) {
	type bare Stall
	return shell.WithCommands(bare(s), s.Remedy)
}

// StallOf returns the reason why a migration is stalled; nil if it is not.
func StallOf(m *api.Migration) *Stall {
	return heldBy(m, api.ConditionStalled)
}

// AheadOf returns the reason why copies ahead of their ordinals' turns are refused; nil if none is.
func AheadOf(m *api.Migration) *Stall { return heldBy(m, api.ConditionAheadHeld) }

// heldBy returns the contents of a condition that is True while there is a problem; nil if it is not True.
func heldBy(m *api.Migration, kind string) *Stall {
	c := meta.FindStatusCondition(m.Status.Conditions, kind)
	if c == nil || c.Status != metav1.ConditionTrue {
		return nil
	}
	message, remedy := records.CutRemedy(c.Message)
	return &Stall{c.Reason, message, remedy}
}

// DestinationOf returns the name of the destination's cluster: the one that the run's first user gave it, or
// else the one in the last observed slice. It is empty if neither is known.
func DestinationOf(m *api.Migration) string {
	if name := m.Annotations[records.DestinationNameAnnotationKey]; name != "" {
		return name
	}
	if seen := m.Status.Destination; seen != nil {
		if name, _, found := strings.Cut(seen.Slice, fmt.Sprintf("/%s/", cmp.Or(m.Target().Namespace, m.Namespace))); found {
			return name
		}
	}
	return ""
}
