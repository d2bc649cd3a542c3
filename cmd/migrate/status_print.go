package main

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// stall is why a migration is stalled.
type stall struct{ Reason, Message, Remedy string }

func stallOf(m *api.Migration) *stall {
	c := meta.FindStatusCondition(m.Status.Conditions, api.ConditionStalled)
	if c == nil || c.Status != metav1.ConditionTrue {
		return nil
	}
	message, remedy := cutRemedy(c.Message)
	return &stall{c.Reason, message, remedy}
}

// cutRemedy takes the way out off a condition's message.
func cutRemedy(message string) (what, remedy string) {
	what, remedy, _ = strings.Cut(message, ". To mend it: ")
	return what, remedy
}

// statusText is a migration's status for people.
func statusText(k *kept, now time.Time, p painter, unicode bool) string {
	status, b := k.Status, strings.Builder{}
	field := func(name, value string) { fmt.Fprintf(&b, "%-13s%s\n", name, value) }
	fmt.Fprintf(&b, "%s\n", p.bold(fmt.Sprintf("Migration %s/%s", k.Namespace, k.Name)))
	if k.record {
		field("Record", k.where+" in cluster "+k.connection.Name())
	} else {
		field("Cluster", k.connection.Name())
	}
	mode := string(k.Spec.Mode)
	if mode == "" {
		mode = string(api.ModeRun)
	}
	field("Mode", mode)
	from, to := k.Spec.Source, k.Spec.Destination
	field("Source", sliceText(status.Source, cmp.Or(from.Namespace, k.Namespace)+"/"+from.Name))
	field("Destination", sliceText(status.Destination, cmp.Or(to.Namespace, k.Namespace)+"/"+cmp.Or(to.Name, from.Name)))
	if status.Baseline != nil {
		meter := bar{paint: p, unicode: unicode}
		done := progress{moved: arrived(status), total: status.Total}
		const width = 20
		field("Moved", fmt.Sprintf("%s %d of %d", meter.drawn(done.fraction(), width), done.moved, done.total))
		field("Budget", fmt.Sprintf("%d of %d replicas may be unavailable at once", status.Baseline.Budget, status.Baseline.Replicas))
	}
	field("Handoff", handoffText(status.Handoff, now))
	if stall := stallOf(k.Migration); stall != nil {
		field("Stalled", p.red(stall.Reason+": "+stall.Message))
		if stall.Remedy != "" {
			field("", "to mend it: "+stall.Remedy)
		}
	}
	if claim := status.Claim; claim != nil && completedReason(k.Migration) == "" {
		field("Driven by", fmt.Sprintf("%s (%s, epoch %d)", claim.Holder, strings.ToLower(string(claim.Direction)), claim.Epoch))
	}
	b.WriteString("Conditions\n" + conditionsText(status.Conditions, now, p, unicode))
	return b.String()
}

// arrived is how many ordinals are at the destination: status.moved without the one
// that still has to become available there, and with the one that is on its way back.
func arrived(status api.MigrationStatus) int32 {
	h, to := status.Handoff, status.Destination
	if h == nil || to == nil {
		return status.Moved
	}
	there := to.Start <= h.Ordinal && h.Ordinal < to.Start+to.Replicas
	switch back := status.Claim != nil && status.Claim.Direction == api.Back; {
	case there && !back:
		return status.Moved - 1
	case !there && back:
		return status.Moved + 1
	}
	return status.Moved
}

func sliceText(s *api.SliceStatus, name string) string {
	if s == nil || s.Slice == "" {
		return name + " (not looked at yet)"
	}
	text := fmt.Sprintf("%s  %d/%d available", s.Slice, s.Available, s.Replicas)
	if s.MaxUnavailable != nil {
		text += fmt.Sprintf(", maxUnavailable %d", *s.MaxUnavailable)
	}
	return text
}

func handoffText(h *api.Handoff, now time.Time) string {
	if h == nil {
		return "none in flight"
	}
	text := fmt.Sprintf("ordinal %d", h.Ordinal)
	if h.Step != "" {
		text += " at " + string(h.Step)
	}
	if !h.StepTime.IsZero() {
		text += " for " + coarse(since(now, h.StepTime))
	}
	text += fmt.Sprintf(", begun %s ago", coarse(since(now, h.StartTime)))
	if h.Attempts > 1 {
		text += fmt.Sprintf(" (attempt %d)", h.Attempts)
	}
	return text
}

// conditionsText is the tree of conditions, in the order of a migration's life.
func conditionsText(conditions []metav1.Condition, now time.Time, p painter, unicode bool) string {
	branch, last := "|- ", "`- "
	if unicode {
		branch, last = "├─ ", "└─ "
	}
	order := []string{api.ConditionAccepted, api.ConditionProgressing, api.ConditionStalled, api.ConditionCompleted}
	var b strings.Builder
	for i, kind := range order {
		if i == len(order)-1 {
			branch = last
		}
		c := meta.FindStatusCondition(conditions, kind)
		if c == nil {
			fmt.Fprintf(&b, "%s%s\n", branch, p.dim(fmt.Sprintf("%-12s -", kind)))
			continue
		}
		paint := p.dim
		switch good := kind != api.ConditionStalled; {
		case c.Status == metav1.ConditionTrue && good:
			paint = p.green
		case c.Status == metav1.ConditionTrue:
			paint = p.red
		}
		message, _ := cutRemedy(c.Message)
		text := fmt.Sprintf("%-12s %-5s", kind, c.Status)
		if kind != api.ConditionStalled || c.Status == metav1.ConditionTrue {
			text += "  " + c.Reason
		}
		text += fmt.Sprintf(" (%s)", coarse(since(now, c.LastTransitionTime)))
		if message != "" && kind != api.ConditionStalled {
			text += ": " + message
		}
		fmt.Fprintf(&b, "%s%s\n", branch, paint(text))
	}
	return b.String()
}
