package main

import (
	"cmp"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

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

// page is a migration's status for people.
type page struct {
	now     time.Time
	paint   painter
	unicode bool
	// width is that of the terminal that it is drawn on again and again; 0: lines may
	// be of any length.
	width int
	text  strings.Builder
}

// line writes one line; what is too long for the page is cut.
func (g *page) line(prefix, text string, paint func(string) string) {
	if g.width > 0 {
		text = clip(text, max(1, g.width-utf8.RuneCountInString(prefix)))
	}
	if paint != nil {
		text = paint(text)
	}
	g.text.WriteString(strings.TrimRight(prefix+text, " ") + "\n")
}

func (g *page) field(name, text string) { g.line(pad(name, fieldWidth), text, nil) }

// fieldWidth is where the values of fields begin.
const fieldWidth = 13

// show returns the page of a migration.
func (g *page) show(k *kept) string {
	status := k.Status
	g.line("", fmt.Sprintf("Migration %s/%s", k.Namespace, k.Name), g.paint.bold)
	if k.record {
		g.field("Record", k.where+" in cluster "+k.connection.Name())
	} else {
		g.field("Cluster", k.connection.Name())
	}
	g.field("Mode", string(cmp.Or(k.Spec.Mode, api.ModeRun)))
	if k.Spec.Mode == api.ModeRecover {
		g.field("Recovery", recoveryText(k.Migration))
	}
	from, to := k.Spec.Source, k.Spec.Destination
	g.field("Source", sliceText(status.Source, cmp.Or(from.Namespace, k.Namespace)+"/"+from.Name))
	g.field("Destination", sliceText(status.Destination, cmp.Or(to.Namespace, k.Namespace)+"/"+cmp.Or(to.Name, from.Name)))
	if status.Baseline != nil {
		const width = 20
		done := progress{moved: arrived(status), total: status.Total}
		meter := bar{paint: g.paint, unicode: g.unicode}.drawn(done.fraction(), width)
		g.line(pad("Moved", fieldWidth)+meter, fmt.Sprintf(" %d of %d", done.moved, done.total), nil)
		g.field("Budget", fmt.Sprintf("%d of %d replicas may be unavailable at once", status.Baseline.Budget, status.Baseline.Replicas))
	}
	g.field("Handoff", handoffText(status.Handoff, g.now))
	if stall := stallOf(k.Migration); stall != nil {
		g.line(pad("Stalled", fieldWidth), stall.Reason+": "+stall.Message, g.paint.red)
		if stall.Remedy != "" {
			g.field("", "to mend it: "+stall.Remedy)
		}
	}
	if claim := status.Claim; claim != nil && completedReason(k.Migration) == "" {
		g.field("Driven by", fmt.Sprintf("%s (%s, epoch %d)", claim.Holder, strings.ToLower(string(claim.Direction)), claim.Epoch))
	}
	g.line("Conditions", "", nil)
	g.conditions(status.Conditions)
	return g.text.String()
}

func recoveryText(m *api.Migration) string {
	id := m.Spec.Recovery.DestinationIsOff
	switch base := m.Status.Baseline; {
	case id == "":
		return "not confirmed: nobody has said that the destination is off"
	case base != nil && id != string(base.DestinationCluster):
		return "not confirmed: " + id + " is not the destination's cluster"
	}
	return "without the destination, cluster " + id + ": a person has said that it is off"
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
		text += " for " + coarse(since(now, h.StepTime.Time))
	}
	text += fmt.Sprintf(", begun %s ago", coarse(since(now, h.StartTime.Time)))
	if h.Attempts > 1 {
		text += fmt.Sprintf(" (attempt %d)", h.Attempts)
	}
	return text
}
