// Package view converts a migration into the values that user interfaces show: a row of the list, or all
// details of one migration. It is pure: it reads no cluster and no clock.
package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/internal/shell"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// State is the state of a migration in one word.
type State string

// The states. Those that need a user's attention come first.
const (
	// StateStalled means that it cannot continue before a problem is fixed.
	StateStalled State = "stalled"
	// StateRefused means that a check before the first write has failed.
	StateRefused State = "refused"
	// StateMoving means that ordinals move to the destination.
	StateMoving State = "moving"
	// StateRollingBack means that ordinals move back to the source.
	StateRollingBack State = "rolling back"
	// StateRecovering means that ordinals move back to the source without the destination.
	StateRecovering State = "recovering"
	// StateWaiting means that it will continue without an action of the user.
	StateWaiting State = "waiting"
	// StatePausing means that the handoff in flight completes and no other one begins.
	StatePausing State = "pausing"
	// StatePaused means that it waits to be resumed.
	StatePaused State = "paused"
	// StateMoved, StateRolledBack and StateRecovered mean that it is completed.
	StateMoved      State = "moved"
	StateRolledBack State = "rolled back"
	StateRecovered  State = "recovered"
	// StateReleased means that it was deleted before its end, and has released both StatefulSets.
	StateReleased State = "released"
)

// Word returns the state as the status of a Migration has it, for instance RollingBack.
func (s State) Word() api.State {
	var word strings.Builder
	for part := range strings.SplitSeq(string(s), " ") {
		word.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return api.State(word.String())
}

// Key is the unique key of a migration: "migration/NAMESPACE/NAME", or "run/NAMESPACE/NAME" for the record of a
// run.
type Key string

// KeyOf returns the key of a migration; record is true for the record of a run.
func KeyOf(namespace, name string, record bool) Key {
	return Key(map[bool]string{false: "migration/", true: "run/"}[record] + namespace + "/" + name)
}

// Row is a migration in the list.
type Row struct {
	Key       Key    `json:"key"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Record is true for the record of a run, in a ConfigMap.
	Record bool `json:"record,omitempty"`
	// Evacuation is the Evacuation of its namespace that begins it; empty if there is none.
	Evacuation string `json:"evacuation,omitempty"`
	State      State  `json:"state"`
	// Now describes the current action or wait in one short sentence.
	Now  string   `json:"now"`
	Mode api.Mode `json:"mode"`
	// Sides are the source and the destination.
	Sides [2]Side `json:"sides"`
	// First is the lowest of the application's Replicas ordinals; both are 0 before it was observed.
	First    int32 `json:"first"`
	Replicas int32 `json:"replicas"`
	// Budget is the number of them that may be unavailable at once.
	Budget int32 `json:"budget"`
	// Moved ordinals of Total have arrived.
	Moved int32 `json:"moved"`
	Total int32 `json:"total"`
	// Handoff is the ordinal in flight, if any. Further are the others, if several are.
	Handoff *Handoff  `json:"handoff,omitempty"`
	Further []Handoff `json:"furtherHandoffs,omitempty"`
	// Hold is the reason why it waits, if it does.
	Hold *Hold `json:"hold,omitempty"`
	// LeftSeconds is the estimated remaining time at the time of the row. It is nil if unknown, and while the
	// migration is stalled.
	LeftSeconds *int64 `json:"leftSeconds,omitempty"`
	// Outage is how long the next ordinal is expected to be down; nil once the migration is completed.
	Outage *Outage `json:"outage,omitempty"`
	// AsOf is when the status behind this row was written; nil if unknown.
	AsOf *time.Time `json:"asOf,omitempty"`
	// Driven reports whether a process drives it; nil if none needs to, or if that is unknown.
	Driven *bool `json:"driven,omitempty"`
	// Warnings is the number of warnings that were found before the first write.
	Warnings int `json:"warnings,omitempty"`
	// Back is true while ordinals return to the source. Began is when the migration began; zero if it has not. InPlace is
	// true for a change of the storage in place.
	Back    bool      `json:"-"`
	Began   time.Time `json:"-"`
	InPlace bool      `json:"-"`

	pace *Pace
}

// At returns the row at a time of the API server's clock, with the durations up to that time. A migration that
// no process drives any more is stalled.
func (r Row) At(m *api.Migration, now time.Time) Row {
	if left := r.Left(now); left > 0 {
		r.LeftSeconds = new(seconds(left))
	}
	if r.Handoff != nil {
		r.Handoff = new(r.Handoff.at(now))
	}
	r.Further = slices.Clone(r.Further)
	for i := range r.Further {
		r.Further[i] = r.Further[i].at(now)
	}
	u := records.UndrivenAt(m, r.Record, now)
	if u == nil {
		if records.Beats(m, r.Record) && m.Status.Heartbeat != nil && !records.AtRest(m) {
			r.Driven = new(true)
		}
		return r
	}
	remedy := WhyIdle(shell.Kubectl{})
	if r.Record {
		remedy = "go on, with the arguments of the first time: " + shell.Command("kubectl", "migrate", "run", r.Name, "-n", r.Namespace)
	}
	r.State, r.LeftSeconds, r.Driven = StateStalled, nil, new(false)
	r.Hold = &Hold{Reason: api.ReasonNotDriven, Message: u.Text(), Remedy: remedy, Stalled: true, Since: u.Since.UTC()}
	r.Now = r.now()
	return r
}

// WhyIdle returns how to find out why a manager does not act.
func WhyIdle(kubectl shell.Kubectl) string {
	return "see why its manager does not act: " + kubectl.Do("logs", "-n", "sliceshift-system", "deployment/sliceshift-manager")
}

// Left returns the estimated remaining time; 0 if it is unknown, or if the migration does not progress.
func (r Row) Left(now time.Time) time.Duration {
	if r.pace == nil || r.Hold != nil && (r.Hold.Stalled || r.Hold.Reason == api.ReasonPaused) {
		return 0
	}
	return r.pace.Left(r.Handoff, now) / time.Duration(1+len(r.Further))
}

// InFlight returns the handoffs in flight.
func (r Row) InFlight() []Handoff {
	if r.Handoff == nil {
		return nil
	}
	return append([]Handoff{*r.Handoff}, r.Further...)
}

// moves reports whether an ordinal is in flight.
func (r Row) moves(ordinal int32) bool {
	return slices.ContainsFunc(r.InFlight(), func(h Handoff) bool { return h.Ordinal == ordinal })
}

// LeftText returns the estimated remaining time as text; empty if it is unknown, or less than a second.
func (r Row) LeftText(now time.Time) string {
	if left := r.Left(now); left >= time.Second {
		return "about " + Coarse(left) + " left"
	}
	return ""
}

// Fraction returns the completed fraction. The step of an ordinal in flight counts in part.
func (r Row) Fraction() float64 {
	if r.Total == 0 {
		return 0
	}
	part := 0.0
	for _, h := range r.InFlight() {
		steps := Steps()
		part += float64(max(0, slices.IndexFunc(steps, func(s Step) bool { return s.Name == h.Step }))) / float64(len(steps))
	}
	if r.Back {
		part = -part
	}
	return min(1, max(0, (float64(r.Moved)+part)/float64(r.Total)))
}

// Side is one of the two slices as last observed.
type Side struct {
	// Name is CLUSTER/NAMESPACE/NAME, without the cluster if that is unknown.
	Name      string `json:"name"`
	Start     int32  `json:"start"`
	Replicas  int32  `json:"replicas"`
	Available int32  `json:"available"`
	// MaxUnavailable is the number of evictions that its PodDisruptionBudget allows; nil without one.
	MaxUnavailable *int32 `json:"maxUnavailable,omitempty"`
	// AsOf is when the side was observed, if that is before the row's AsOf, because one of the clusters has not
	// answered since.
	AsOf *time.Time `json:"asOf,omitempty"`
}

// Text returns the contents of a side as text for the user.
func (s Side) Text() string {
	text := "no ordinals"
	if s.Replicas > 0 {
		text = fmt.Sprintf("%s %d of %d available", plan.Span(s.Start, s.Replicas), s.Available, s.Replicas)
	}
	if s.MaxUnavailable != nil {
		text += fmt.Sprintf(", evictions allowed: %d", *s.MaxUnavailable)
	}
	return text + s.asOf()
}

// asOf returns the time at which a side was observed as text; empty if it is current.
func (s Side) asOf() string {
	if s.AsOf == nil {
		return ""
	}
	return ", as of " + s.AsOf.Format(time.TimeOnly) + " UTC"
}

// BudgetText returns the number of available replicas and the budget as text for the user.
func (r Row) BudgetText() string {
	return fmt.Sprintf("%d of %d available; %d may be unavailable at once%s", r.Sides[0].Available+r.Sides[1].Available, r.Replicas, r.Budget, r.Sides[0].asOf())
}

func (s Side) has(ordinal int32) bool { return s.Start <= ordinal && ordinal < s.Start+s.Replicas }

// Handoff is the ordinal in flight.
type Handoff struct {
	Ordinal   int32         `json:"ordinal"`
	Direction api.Direction `json:"direction"`
	Step      api.Step      `json:"step,omitempty"`
	// StepTime is when it reached that step; StartTime is when it began.
	StepTime  *time.Time `json:"stepTime,omitempty"`
	StartTime time.Time  `json:"startTime"`
	Attempts  int32      `json:"attempts"`
	// Down is the time since which it is down; nil if it is not, or if that is unknown. At the time of the row,
	// OutageSeconds is how long it has been down, and SoakSeconds how long it has been Ready.
	Down          *Down    `json:"down,omitempty"`
	OutageSeconds *float64 `json:"outageSeconds,omitempty"`
	SoakSeconds   *float64 `json:"soakSeconds,omitempty"`
}

// at returns the handoff with its durations up to a time.
func (h Handoff) at(now time.Time) Handoff {
	if h.Down == nil {
		return h
	}
	h.OutageSeconds = new(Exact(h.Down.Outage(now)))
	if h.Down.Ready != nil {
		h.SoakSeconds = new(Exact(h.Down.Soak(now)))
	}
	return h
}

// handoffOf returns the handoff in status.handoff.
func handoffOf(m *api.Migration) *Handoff {
	h := m.Status.Handoff
	handoff := &Handoff{Ordinal: h.Ordinal, Direction: m.Status.Fence.Heading(), Step: h.Step, StartTime: h.StartTime.UTC(), Attempts: h.Attempts, Down: DownOf(m)}
	if !h.StepTime.IsZero() {
		at := h.StepTime.UTC()
		handoff.StepTime = &at
	}
	return handoff
}

// Hold is the reason why a migration waits.
type Hold struct {
	Reason  string `json:"reason"`
	Message string `json:"message,omitempty"`
	// Remedy is the fix; empty if it continues without an action.
	Remedy string `json:"remedy,omitempty"`
	// Stalled is true if it does not continue before the problem is fixed.
	Stalled bool      `json:"stalled,omitempty"`
	Since   time.Time `json:"since"`
}

// MarshalJSON adds the commands of the remedy.
func (h Hold) MarshalJSON() ([]byte, error) {
	type bare Hold
	return shell.WithCommands(bare(h), h.Remedy)
}

// NewRow returns the row of a migration.
func NewRow(m *api.Migration, record bool) Row {
	s := m.Status
	row := Row{
		Key: KeyOf(m.Namespace, m.Name, record), Namespace: m.Namespace, Name: m.Name, Record: record,
		Evacuation: m.Labels[api.EvacuationLabelKey],
		State:      stateOf(m), Mode: cmp.Or(m.Spec.Mode, api.ModeRun), Sides: sidesOf(m),
		Moved: s.Moved, Total: s.Total, Hold: holdOf(m), Warnings: len(s.Warnings), Back: s.Fence.Heading() == api.Back, InPlace: m.Spec.Storage != nil,
	}
	if beat := s.Heartbeat; beat != nil {
		row.AsOf = new(beat.Time.UTC())
	}
	if base := s.Baseline; base != nil {
		row.First, row.Replicas, row.Budget, row.Began = base.Start, base.Replicas, base.Budget, base.StartTime.Time
	}
	if records.Completed(m) != "" {
		row.Now = row.now()
		return row
	}
	if s.Handoff != nil {
		row.Handoff = handoffOf(m)
	}
	for _, further := range s.FurtherHandoffs {
		row.Further = append(row.Further, *handoffOf(m.FocusOn(&further.Ordinal)))
	}
	row.pace, row.Outage = PaceOf(m), expectedOutage(m)
	row.Now = row.now()
	return row
}

// sidesOf returns the source and the destination.
func sidesOf(m *api.Migration) [2]Side {
	from, to := m.Spec.Source, m.Target()
	source := cmp.Or(from.Namespace, m.Namespace) + "/" + from.Name
	destination := cmp.Or(to.Namespace, m.Namespace) + "/" + cmp.Or(to.Name, from.Name)
	if name := m.Annotations[records.DestinationNameAnnotationKey]; name != "" {
		destination = name + "/" + destination
	}
	sides := [2]Side{sideOf(m.Status.Source, source), sideOf(m.Status.Destination, destination)}
	if stale := m.Status.StaleSince; stale != nil && records.Completed(m) == "" {
		for i := range sides {
			sides[i].AsOf = new(stale.UTC())
		}
	}
	return sides
}

func sideOf(s *api.SliceStatus, name string) Side {
	if s == nil {
		return Side{Name: name}
	}
	if full, _, found := strings.Cut(s.Slice, " ["); found {
		name = full
	}
	return Side{Name: name, Start: s.Start, Replicas: s.Replicas, Available: s.Available, MaxUnavailable: s.MaxUnavailable}
}

func stateOf(m *api.Migration) State {
	s := m.Status
	if completed := records.Completed(m); completed != "" {
		return endOf(completed)
	}
	accepted := meta.FindStatusCondition(s.Conditions, api.ConditionAccepted)
	progressing := meta.FindStatusCondition(s.Conditions, api.ConditionProgressing)
	switch {
	case s.Baseline == nil && accepted != nil && accepted.Status == metav1.ConditionFalse:
		return StateRefused
	case StallOf(m) != nil:
		return StateStalled
	case m.Spec.Mode == api.ModePause && s.Handoff != nil:
		return StatePausing
	case m.Spec.Mode == api.ModePause:
		return StatePaused
	case s.Baseline == nil:
		return StateWaiting
	case s.Handoff == nil && progressing != nil && progressing.Status == metav1.ConditionFalse:
		return StateWaiting
	case m.Spec.Mode == api.ModeRecover:
		return StateRecovering
	case m.Spec.Mode == api.ModeRollback:
		return StateRollingBack
	}
	return StateMoving
}

// holdOf returns the reason why a migration waits: that of its stall, or else that of its progress.
func holdOf(m *api.Migration) *Hold {
	if records.Completed(m) != "" {
		return nil
	}
	if stall := holdBy(m, api.ConditionStalled, StallOf(m)); stall != nil {
		stall.Stalled = true
		return stall
	}
	conditions := m.Status.Conditions
	c := meta.FindStatusCondition(conditions, api.ConditionAccepted)
	if c == nil || c.Status != metav1.ConditionFalse {
		c = meta.FindStatusCondition(conditions, api.ConditionProgressing)
	}
	if c == nil || c.Message == "" || c.Reason == api.ReasonMoving {
		return nil
	}
	message, remedy := records.CutRemedy(c.Message)
	since := c.LastTransitionTime.UTC()
	if h := m.Status.Handoff; h != nil && c.Status == metav1.ConditionTrue && h.StepTime.After(since) {
		since = h.StepTime.UTC() // the condition keeps its time when its reason changes
	}
	return &Hold{Reason: c.Reason, Message: message, Remedy: remedy, Since: since}
}

// Where returns the kind and name of the object that stores it.
func (r Row) Where() string {
	if r.Record {
		return "ConfigMap " + r.Namespace + "/sliceshift-" + r.Name
	}
	return "Migration " + r.Namespace + "/" + r.Name
}

// HeldAhead returns the reason why copies ahead of their ordinals' turns are held although the move continues;
// nil if none is held.
func HeldAhead(m *api.Migration) *Hold {
	if records.Completed(m) != "" {
		return nil
	}
	return holdBy(m, api.ConditionAheadHeld, AheadOf(m))
}

// holdBy returns the contents of a condition that is True while there is a problem; nil if there is none.
func holdBy(m *api.Migration, kind string, trouble *Stall) *Hold {
	if trouble == nil {
		return nil
	}
	since := meta.FindStatusCondition(m.Status.Conditions, kind).LastTransitionTime.UTC()
	return &Hold{Reason: trouble.Reason, Message: trouble.Message, Remedy: trouble.Remedy, Since: since}
}
