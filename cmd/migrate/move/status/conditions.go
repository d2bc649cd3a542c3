package status

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/migration/view"
)

// conditionOrder lists the conditions in the order of a migration's life.
var conditionOrder = []string{api.ConditionAccepted, api.ConditionProgressing, api.ConditionStalled, api.ConditionCompleted}

// conditions writes the conditions as a tree. It omits the message of the stall, which the page already shows.
func (g *Page) conditions(conditions []metav1.Condition, said *view.Stall) {
	branch, last := "|- ", "`- "
	if g.Unicode {
		branch, last = "├─ ", "└─ "
	}
	kinds := conditionOrder
	if meta.FindStatusCondition(conditions, api.ConditionAheadHeld) != nil {
		kinds = slices.Insert(slices.Clone(kinds), len(kinds)-1, api.ConditionAheadHeld)
	}
	for i, kind := range kinds {
		if i == len(kinds)-1 {
			branch = last
		}
		text, paint := g.condition(kind, meta.FindStatusCondition(conditions, kind), said)
		g.line(branch, text, paint)
	}
}

func (g *Page) condition(kind string, c *metav1.Condition, said *view.Stall) (text string, paint func(string) string) {
	if c == nil {
		return fmt.Sprintf("%-12s -", kind), g.Paint.Dim
	}
	text = fmt.Sprintf("%-12s %-5s", kind, c.Status)
	holds, stalled := c.Status == metav1.ConditionTrue, kind == api.ConditionStalled || kind == api.ConditionAheadHeld
	if holds || !stalled {
		text += "  " + c.Reason
	}
	text += fmt.Sprintf(" (%s)", view.Ago(g.Now, c.LastTransitionTime.Time))
	if message, _ := records.CutRemedy(c.Message); message != "" && !stalled && (said == nil || message != said.Message) {
		text += ": " + message
	}
	switch {
	case holds && stalled:
		return text, g.Paint.Red
	case holds:
		return text, g.Paint.Green
	default:
		return text, g.Paint.Dim
	}
}
