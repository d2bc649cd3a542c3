package preview

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/view"
)

// answer returns the first line of a plan: whether the application can move, and the effect on its users. If it cannot
// move, the line states what to correct first.
func (d Plan) answer() string {
	what := fmt.Sprintf("StatefulSet %s from %s to %s", d.Source.StatefulSet, d.Source, d.Destination)
	switch {
	case d.Refused:
		first := d.Findings[slices.IndexFunc(d.Findings, func(f plan.Finding) bool { return !f.Warning })]
		return fmt.Sprintf("No: %s cannot move yet: %s. Correct %s first.", what, view.Count(Refusals(d.Findings), "refusal"), first.Reason)
	case d.Stalled != nil && d.Summary.Ordinals == 0:
		return fmt.Sprintf("No: the move of %s would begin, and stall before an ordinal has moved: %s.", what, d.Stalled.Reason)
	case d.Stalled != nil:
		return fmt.Sprintf("No: the move of %s would stall once %s moved: %s.", what, haveOf(d.Summary.Ordinals), d.Stalled.Reason)
	case d.Mode == api.ModeRollback || d.Mode == api.ModeRecover || len(d.Steps) == 0 || d.Summary.Ordinals == 0:
		return what
	case d.Standing == Underway:
		return fmt.Sprintf("Yes: %s can continue. %s", what, d.comesTo())
	default:
		return fmt.Sprintf("Yes: %s can move. %s", what, d.comesTo())
	}
}

func haveOf(ordinals int32) string {
	if ordinals == 1 {
		return "1 ordinal has"
	}
	return fmt.Sprintf("%d ordinals have", ordinals)
}

// comesTo returns how many ordinals move, how long that takes, how many are down at once and for how long each, and how
// much data is copied.
func (d Plan) comesTo() string {
	sum := d.Summary
	text := view.Count(int(sum.Ordinals), "ordinal")
	if sum.HandoffSeconds > 0 {
		text += " in about " + view.Coarse(sum.each()*time.Duration(sum.Ordinals))
	}
	text += fmt.Sprintf(", %d of %d down at once", sum.Replicas-sum.FewestAvailable, sum.Replicas)
	if sum.HandoffSeconds > 0 {
		text += ", each for about " + view.Coarse(sum.each())
	}
	if sum.HandoffSource == HandoffAssumed {
		text += " (assumed)"
	}
	return text + "; " + cmp.Or(sum.copiedText(), "nothing is copied") + "."
}

func (s Summary) each() time.Duration { return time.Duration(s.HandoffSeconds) * time.Second }

// copiedText returns how much data is copied, or an empty string if none is.
func (s Summary) copiedText() string {
	count := s.VolumesByMethod[api.MethodCopy] + s.VolumesByMethod[api.MethodSnapshot]
	switch {
	case count == 0:
		return ""
	case s.CopiedBytes == 0:
		return view.Count(count, "volume") + " copied"
	default:
		return fmt.Sprintf("%s copied, of %s", view.Count(count, "volume"), view.Size(s.CopiedBytes))
	}
}

// wayBack returns how to move back, and until when each way is possible.
func wayBack(m *api.Migration) string {
	const back = "migrate rollback, at any moment until the move is completed; then "
	if m.Spec.Cleanup.Source == api.CleanupDelete {
		return back + "the StatefulSet of the source is deleted, and a move the other way creates it again"
	}
	return back + "a move the other way"
}

// filled returns, for each ordinal, the bytes of its volumes that are filled from other volumes.
func filled(s plan.Snapshot) map[int32]int64 {
	bytes := map[int32]int64{}
	for i := range s.Volumes {
		if v := &s.Volumes[i]; v.Method.FillsSecond() {
			bytes[v.Ordinal] += v.Source.Volume.Size
		}
	}
	return bytes
}
