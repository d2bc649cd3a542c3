// Package status shows the state of a migration: on a page, or in one line for each change.
package status

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/migration/report"
	"github.com/sliceshift/sliceshift/migration/schedule"
	"github.com/sliceshift/sliceshift/migration/view"
)

// Page formats a migration's status as text.
type Page struct {
	// Now is the time; Paint and Unicode describe the terminal.
	Now     time.Time
	Paint   terminal.Painter
	Unicode bool
	// Width is the width of a terminal on which the page is redrawn; 0 means that lines may have any length.
	Width int
	// Undriven states that no process drives the migration, and which command continues it. It is empty if a process
	// drives it, or if none is needed.
	Undriven string
	text     strings.Builder
}

// line writes text that is wrapped to the width of the page.
func (g *Page) line(prefix, text string, paint func(string) string) {
	lines := []string{text}
	if g.Width > 0 {
		lines = terminal.Fold(text, max(1, g.Width-utf8.RuneCountInString(prefix)))
	}
	for _, each := range lines {
		if paint != nil {
			each = paint(each)
		}
		g.text.WriteString(strings.TrimRight(prefix+each, " ") + "\n")
		prefix = strings.Repeat(" ", utf8.RuneCountInString(prefix))
	}
}

func (g *Page) field(name, text string) { g.line(terminal.Pad(name, fieldWidth), text, nil) }

// fieldWidth is the column at which the values of fields begin.
const fieldWidth = 13

// Show returns the page of a migration in a cluster. record names the object that stores it, and is empty for a
// Migration resource.
func (g *Page) Show(m *api.Migration, cluster, record string) string {
	status, row := m.Status, view.NewRow(m, record != "").At(m, g.Now)
	g.line("", fmt.Sprintf("Migration %s/%s", m.Namespace, m.Name), g.Paint.Bold)
	if record != "" {
		g.field("Record", record+" in cluster "+cluster)
	} else {
		g.field("Cluster", cluster)
	}
	if row.AsOf != nil {
		g.field("As of", fmt.Sprintf("%s, %s ago", row.AsOf.Format(time.RFC3339), view.Ago(g.Now, *row.AsOf)))
	}
	g.field("Mode", string(row.Mode))
	if turn := status.AutomaticRollback; turn != nil {
		g.field("Turned back", fmt.Sprintf("automatically, %s: %s", turn.Time.UTC().Format(time.RFC3339), turn.Message))
	}
	if m.Spec.Mode == api.ModeRecover {
		g.field("Recovery", recoveryText(m))
	}
	g.field("Source", sideText(row.Sides[0], status.Source))
	g.field("Destination", sideText(row.Sides[1], status.Destination))
	if status.Baseline != nil {
		const width = 20
		bar := terminal.Bar{Paint: g.Paint, Unicode: g.Unicode}.Draw(row.Fraction(), width)
		text := fmt.Sprintf(" %d of %d", row.Moved, row.Total)
		if left := row.LeftText(g.Now); left != "" {
			text += ", " + left
		}
		g.line(terminal.Pad("Moved", fieldWidth)+bar, text, nil)
		g.field("Budget", row.BudgetText())
	}
	g.field("Handoff", handoffText(row.Handoff, g.Now))
	for i := range row.Further {
		g.field("", handoffText(&row.Further[i], g.Now))
	}
	if row.Outage != nil && status.Baseline != nil {
		g.field("Outage", "of an ordinal "+row.Outage.Text)
	}
	if proofs := view.ProofsText(m); proofs != "" {
		g.field("Proofs", proofs)
	}
	if clients := report.ClientsOf(m); clients != nil {
		g.field("Clients", strings.TrimSpace(clients.URL+" "+clients.Text))
	}
	if status.Schedule != nil {
		g.field("Schedule", scheduleText(*status.Schedule, schedule.Of(m.Spec.Schedule)))
	}
	for i, gate := range status.Gates {
		g.gate(i, gate)
	}
	for i, run := range status.Hooks {
		g.hook(i, run)
	}
	stall := view.StallOf(m)
	g.stall("Stalled", stall, g.Paint.Red)
	g.stall("Ahead", view.AheadOf(m), g.Paint.Yellow)
	if records.Completed(m) == "" {
		for i, w := range status.Warnings {
			g.entry("Warnings", i, w.Reason+": "+w.Message, g.Paint.Yellow)
		}
	}
	if g.Undriven != "" {
		g.line(terminal.Pad("Driven by", fieldWidth), g.Undriven, g.Paint.Red)
	} else if fence := status.Fence; fence != nil && records.Completed(m) == "" {
		g.field("Driven by", fmt.Sprintf("%s (%s, epoch %d)", fence.Holder, strings.ToLower(string(fence.Direction)), fence.Epoch))
	}
	g.line("Conditions", "", nil)
	g.conditions(status.Conditions, stall)
	return g.text.String()
}

// stall writes a stall and its remedy; it writes nothing if stall is nil.
func (g *Page) stall(name string, stall *view.Stall, paint func(string) string) {
	if stall == nil {
		return
	}
	g.line(terminal.Pad(name, fieldWidth), stall.Reason+": "+stall.Message, paint)
	if stall.Remedy != "" {
		g.field("", terminal.Remedy(stall.Remedy))
	}
}

// entry writes a line of a list. The first line has the list's name.
func (g *Page) entry(name string, nth int, text string, paint func(string) string) {
	if nth > 0 {
		name = ""
	}
	g.line(terminal.Pad(name, fieldWidth), text, paint)
}

// about returns the name and point of a gate or hook, and its ordinal.
func about(name, point string, ordinal *int32) string {
	text := name + " " + point
	if ordinal != nil {
		text += fmt.Sprintf(" %d", *ordinal)
	}
	return text
}

// gate writes the line of one health gate.
func (g *Page) gate(nth int, gate api.GateStatus) {
	text := about(gate.Name, string(gate.At), gate.Ordinal) + ": " + string(gate.State)
	if !gate.Holds {
		text += " (only warns)"
	}
	if gate.Message != "" {
		text += ", " + gate.Message
	}
	var paint func(string) string
	if gate.State != api.GatePassed && gate.State != api.GatePending {
		paint = g.Paint.Red
	}
	g.entry("Gates", nth, text, paint)
}

// hook writes the line of one run of a hook.
func (g *Page) hook(nth int, run api.HookRun) {
	text := about(run.Name, string(run.Point), run.Ordinal)
	if run.Attempt > 1 {
		text += fmt.Sprintf(" (attempt %d)", run.Attempt)
	}
	text += fmt.Sprintf(": %s, Job %s on the %s", run.State, run.Job, strings.ToLower(string(run.Side)))
	if run.Message != "" {
		text += ", " + run.Message
	}
	var paint func(string) string
	if run.Broke() {
		paint = g.Paint.Red
	}
	g.entry("Hooks", nth, text, paint)
}

// scheduleText returns when the next handoff may begin, in the zone of the schedule, and how many are left.
func scheduleText(s api.ScheduleStatus, by *schedule.Schedule) string {
	if by == nil {
		return "changed since this was written"
	}
	text := "no window opens any more that a handoff fits into"
	switch {
	case s.Open:
		text = "a handoff may begin now"
	case s.OpensTime != nil:
		text = "the next handoff may begin at " + by.Text(s.OpensTime.Time)
	}
	if s.ClosesTime != nil {
		text += ", the window closes at " + by.Text(s.ClosesTime.Time)
	}
	return text + fmt.Sprintf("; %s left, %s each", view.Count(int(s.Left), "ordinal"), time.Duration(s.HandoffSeconds)*time.Second)
}

func recoveryText(m *api.Migration) string {
	id := m.Spec.Recovery.DestinationIsOff
	switch base := m.Status.Baseline; {
	case id == "":
		return "not confirmed: no confirmation that the destination is off"
	case base != nil && id != string(base.DestinationCluster):
		return "not confirmed: " + id + " is not the destination's cluster"
	case records.Completed(m) == api.ReasonMoved && !m.Spec.Recovery.NothingMovedOn:
		return "not confirmed: no confirmation that no ordinal was moved on from cluster " + id + " since the migration was completed"
	}
	text := "without the destination, cluster " + id + ": a person has said that it is off"
	if m.Spec.Recovery.NothingMovedOn {
		text += ", and that no ordinal was moved on from there"
	}
	return text
}

func sideText(side view.Side, seen *api.SliceStatus) string {
	if seen == nil || seen.Slice == "" {
		return side.Name + " (not looked at yet)"
	}
	return side.Name + " " + side.Text()
}

// handoffText describes the ordinal in flight: its step, and how long it has been down or Ready.
func handoffText(h *view.Handoff, now time.Time) string {
	if h == nil {
		return "none in flight"
	}
	text := h.Text()
	if h.StepTime != nil {
		text += ", for " + view.Ago(now, *h.StepTime)
	}
	text += fmt.Sprintf(", begun %s ago", view.Ago(now, h.StartTime))
	if h.Attempts > 1 {
		text += fmt.Sprintf(" (attempt %d)", h.Attempts)
	}
	if h.Down != nil {
		text += "; " + h.Down.Text(now)
	}
	return text
}

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
