// Package view says what a person sees of a migration on the page: a row of the list, and all of one. A value in,
// a value out; it asks no cluster and has no clock.
package view

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/internal/shell"
	"github.com/sliceshift/sliceshift/migration/plan"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// State is how a migration stands, in one word.
type State string

// The states, those first that somebody has to look at.
const (
	// StateStalled: it does not go on before something is mended.
	StateStalled State = "stalled"
	// StateRefused: a check before the first write has failed.
	StateRefused State = "refused"
	// StateMoving: ordinals go to the destination.
	StateMoving State = "moving"
	// StateRollingBack: ordinals go back to the source.
	StateRollingBack State = "rolling back"
	// StateRecovering: ordinals go back to the source without the destination.
	StateRecovering State = "recovering"
	// StateWaiting: it goes on by itself, later.
	StateWaiting State = "waiting"
	// StatePausing: the ordinal in flight is finished, and no other begins.
	StatePausing State = "pausing"
	// StatePaused: nothing goes on before it is resumed.
	StatePaused State = "paused"
	// StateMoved, StateRolledBack and StateRecovered: it is completed.
	StateMoved      State = "moved"
	StateRolledBack State = "rolled back"
	StateRecovered  State = "recovered"
	// StateReleased: it was deleted before its end, and has let go of both StatefulSets.
	StateReleased State = "released"
)

// Word returns the state as the status of a Migration has it: RollingBack.
func (s State) Word() api.State {
	var word strings.Builder
	for part := range strings.SplitSeq(string(s), " ") {
		word.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return api.State(word.String())
}

// Key names a migration among all that are shown: "migration/NAMESPACE/NAME", or "run/NAMESPACE/NAME" for the
// record of a run.
type Key string

// KeyOf is the key of a migration; record is true when a run keeps it.
func KeyOf(namespace, name string, record bool) Key {
	return Key(map[bool]string{false: "migration/", true: "run/"}[record] + namespace + "/" + name)
}

// Row is a migration in the list.
type Row struct {
	Key       Key    `json:"key"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Record is true when a run keeps it, in a ConfigMap.
	Record bool  `json:"record,omitempty"`
	State  State `json:"state"`
	// Now describes the current action or wait in one short sentence.
	Now  string   `json:"now"`
	Mode api.Mode `json:"mode"`
	// Sides are the source and the destination.
	Sides [2]Side `json:"sides"`
	// First is the first of Replicas ordinals of the application; both are 0 before it was looked at.
	First    int32 `json:"first"`
	Replicas int32 `json:"replicas"`
	// Budget is how many of them may be unavailable at once.
	Budget int32 `json:"budget"`
	// Moved ordinals have arrived, of Total.
	Moved int32 `json:"moved"`
	Total int32 `json:"total"`
	// Handoff is the ordinal in flight, if any.
	Handoff *Handoff `json:"handoff,omitempty"`
	// Hold is what it waits for, if anything.
	Hold *Hold `json:"hold,omitempty"`
	// LeftSeconds is how long the ordinals that are left take by those so far, at the time of the row; absent where that is not
	// known, and while it is stalled.
	LeftSeconds *int64 `json:"leftSeconds,omitempty"`
	// AsOf is when the status was written that all of this is from; absent where that is not known.
	AsOf *time.Time `json:"asOf,omitempty"`
	// Driven is whether a process drives it; absent: none needs to, or it is not known.
	Driven *bool `json:"driven,omitempty"`
	// Warnings is how many things were found before the first write and did not refuse it.
	Warnings int `json:"warnings,omitempty"`

	pace *Pace
}

// At is the row at a time of the API server's clock, with the times that grow. A migration that no process drives any more is stalled.
func (r Row) At(m *api.Migration, now time.Time) Row {
	if left := r.Left(now); left > 0 {
		r.LeftSeconds = new(seconds(left))
	}
	if r.Handoff != nil && r.Handoff.Down != nil {
		handoff := *r.Handoff
		handoff.OutageSeconds = new(exact(handoff.Down.Outage(now)))
		if handoff.Down.Ready != nil {
			handoff.SoakSeconds = new(exact(handoff.Down.Soak(now)))
		}
		r.Handoff = &handoff
	}
	u := records.UndrivenAt(m, r.Record, now)
	if u == nil {
		if records.Beats(m, r.Record) && m.Status.Heartbeat != nil && !records.AtRest(m) {
			r.Driven = new(true)
		}
		return r
	}
	remedy := "see why its manager does not act: " + shell.Kubectl{}.Do("logs", "-n", "sliceshift-system", "deployment/sliceshift-manager")
	if r.Record {
		remedy = "go on, with the arguments of the first time: " + shell.Command("kubectl", "migrate", "run", r.Name, "-n", r.Namespace)
	}
	r.State, r.LeftSeconds, r.Driven = StateStalled, nil, new(false)
	r.Hold = &Hold{Reason: api.ReasonNotDriven, Message: u.Text(), Remedy: remedy, Stalled: true, Since: u.Since.UTC()}
	r.Now = r.now()
	return r
}

// exact is a duration in seconds, to the millisecond.
func exact(d time.Duration) float64 { return d.Round(time.Millisecond).Seconds() }

// Left returns how long the ordinals that are left take by those so far, at a time; 0: it is not known, or nothing goes on.
func (r Row) Left(now time.Time) time.Duration {
	if r.pace == nil || r.Hold != nil && (r.Hold.Stalled || r.Hold.Reason == api.ReasonPaused) {
		return 0
	}
	return r.pace.Left(r.Handoff, now)
}

// Side is one of both slices, as it was last seen.
type Side struct {
	// Name is CLUSTER/NAMESPACE/NAME, without the cluster where that is not known.
	Name      string `json:"name"`
	Start     int32  `json:"start"`
	Replicas  int32  `json:"replicas"`
	Available int32  `json:"available"`
	// MaxUnavailable is how many evictions its PodDisruptionBudget allows; absent without one.
	MaxUnavailable *int32 `json:"maxUnavailable,omitempty"`
	// AsOf is when it was like this, if that is longer ago than the row's AsOf: not both sides answer since.
	AsOf *time.Time `json:"asOf,omitempty"`
}

// Text says what a side has, for people.
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

// asOf says when a side was as it is shown; empty: now.
func (s Side) asOf() string {
	if s.AsOf == nil {
		return ""
	}
	return ", as of " + s.AsOf.Format(time.TimeOnly) + " UTC"
}

// BudgetText says how many replicas are available against the budget, for people.
func (r Row) BudgetText() string {
	return fmt.Sprintf("%d of %d available; %d may be unavailable at once%s", r.Sides[0].Available+r.Sides[1].Available, r.Replicas, r.Budget, r.Sides[0].asOf())
}

func (s Side) has(ordinal int32) bool { return s.Start <= ordinal && ordinal < s.Start+s.Replicas }

// Handoff is the ordinal in flight.
type Handoff struct {
	Ordinal   int32         `json:"ordinal"`
	Direction api.Direction `json:"direction"`
	Step      api.Step      `json:"step,omitempty"`
	// StepTime is since when it is at that step; StartTime is when it began.
	StepTime  *time.Time `json:"stepTime,omitempty"`
	StartTime time.Time  `json:"startTime"`
	Attempts  int32      `json:"attempts"`
	// Down is since when it is down; absent: it is not, or it is not known. OutageSeconds is how long it was down, or is so far,
	// and SoakSeconds how long it has been Ready, at the time of the row.
	Down          *Down    `json:"down,omitempty"`
	OutageSeconds *float64 `json:"outageSeconds,omitempty"`
	SoakSeconds   *float64 `json:"soakSeconds,omitempty"`
}

// Hold is what a migration waits for.
type Hold struct {
	Reason  string `json:"reason"`
	Message string `json:"message,omitempty"`
	// Remedy is what mends it; empty: it goes on by itself.
	Remedy string `json:"remedy,omitempty"`
	// Stalled is true when it does not go on before somebody has mended it.
	Stalled bool      `json:"stalled,omitempty"`
	Since   time.Time `json:"since"`
}

// MarshalJSON adds the commands of the remedy.
func (h Hold) MarshalJSON() ([]byte, error) {
	type bare Hold
	return json.Marshal(struct {
		bare
		Commands []string `json:"commands,omitempty"`
	}{bare(h), shell.Commands(h.Remedy)})
}

// NewRow is the row of a migration.
func NewRow(m *api.Migration, record bool) Row {
	s := m.Status
	row := Row{
		Key: KeyOf(m.Namespace, m.Name, record), Namespace: m.Namespace, Name: m.Name, Record: record,
		State: stateOf(m), Mode: cmp.Or(m.Spec.Mode, api.ModeRun), Sides: sidesOf(m),
		Moved: s.Moved, Total: s.Total, Hold: holdOf(m), Warnings: len(s.Warnings),
	}
	if beat := s.Heartbeat; beat != nil {
		row.AsOf = new(beat.Time.UTC())
	}
	if base := s.Baseline; base != nil {
		row.First, row.Replicas, row.Budget = base.Start, base.Replicas, base.Budget
	}
	if records.Completed(m) != "" {
		row.Now = row.now()
		return row
	}
	if h := s.Handoff; h != nil {
		row.Handoff = &Handoff{Ordinal: h.Ordinal, Direction: directionOf(m), Step: h.Step, StartTime: h.StartTime.UTC(), Attempts: h.Attempts, Down: DownOf(m)}
		if !h.StepTime.IsZero() {
			at := h.StepTime.UTC()
			row.Handoff.StepTime = &at
		}
	}
	row.pace = PaceOf(m)
	row.Now = row.now()
	return row
}

func directionOf(m *api.Migration) api.Direction {
	if m.Status.Fence != nil {
		return m.Status.Fence.Direction
	}
	return api.Forward
}

// sidesOf are the source and the destination.
func sidesOf(m *api.Migration) [2]Side {
	from, to := m.Spec.Source, m.Spec.Destination
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
	switch completed := records.Completed(m); completed {
	case "":
	case api.ReasonRolledBack:
		return StateRolledBack
	case api.ReasonRecovered:
		return StateRecovered
	case api.ReasonReleased:
		return StateReleased
	default:
		return StateMoved
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

// holdOf is what a migration waits for: why it is stalled, else what it says of its progress.
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

// Where names the object that keeps it.
func (r Row) Where() string {
	if r.Record {
		return "ConfigMap " + r.Namespace + "/sliceshift-" + r.Name
	}
	return "Migration " + r.Namespace + "/" + r.Name
}

// HeldAhead is why copies for later turns do not go on, while the move does; nil: they do, or there are none.
func HeldAhead(m *api.Migration) *Hold {
	if records.Completed(m) != "" {
		return nil
	}
	return holdBy(m, api.ConditionAheadHeld, AheadOf(m))
}

// holdBy is what a condition says whose truth is a trouble; nil: there is none.
func holdBy(m *api.Migration, kind string, trouble *Stall) *Hold {
	if trouble == nil {
		return nil
	}
	since := meta.FindStatusCondition(m.Status.Conditions, kind).LastTransitionTime.UTC()
	return &Hold{Reason: trouble.Reason, Message: trouble.Message, Remedy: trouble.Remedy, Since: since}
}
