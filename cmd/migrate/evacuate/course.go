package evacuate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/migration/evacuate"
	"github.com/sliceshift/sliceshift/migration/evacuation"
	"github.com/sliceshift/sliceshift/migration/report"
	"github.com/sliceshift/sliceshift/migration/view"
)

// course is the course of an Evacuation: planned, real, and expected.
type course struct {
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	Cluster   string    `json:"cluster"`
	Time      time.Time `json:"time"`
	State     string    `json:"state"`
	Progress  string    `json:"progress"`
	// Arrived ordinals of Ordinals are at the destination.
	Arrived  int32 `json:"arrivedOrdinals"`
	Ordinals int32 `json:"ordinals"`
	// Started is when the first Migration began; absent if none has.
	Started *time.Time `json:"started,omitempty"`
	// PlannedSeconds is the planned time of all; absent if it was not planned.
	PlannedSeconds *float64 `json:"plannedSeconds,omitempty"`
	// LeftSeconds is the expected time until all have moved that can, and Ends when that is. They are absent if none
	// moves or will move. Measured is the number of handoffs on which the forecast rests; 0: it is that of the plan.
	LeftSeconds *float64   `json:"leftSeconds,omitempty"`
	Ends        *time.Time `json:"ends,omitempty"`
	Measured    int32      `json:"measuredHandoffs,omitempty"`
	// Stuck is the number of Migrations that do not continue without a change. They are not part of the forecast.
	Stuck      int     `json:"stuck,omitempty"`
	Migrations []moved `json:"migrations"`
	// Left lists, by namespace, the remains in the source's cluster. Only a report has them.
	Left []left `json:"left,omitempty"`

	// settled is true when nothing is left to do.
	settled bool
}

// moved is the course of one Migration.
type moved struct {
	Migration string             `json:"migration"`
	Source    name               `json:"source"`
	State     api.EvacuatedState `json:"state"`
	Message   string             `json:"message,omitempty"`
	Moved     int32              `json:"moved"`
	Total     int32              `json:"total"`
	Started   *time.Time         `json:"started,omitempty"`
	Ended     *time.Time         `json:"ended,omitempty"`
	// Planned is its planned time since the begin of the Evacuation, and Expected the expected rest.
	Planned  *api.PlannedMove `json:"planned,omitempty"`
	Expected *window          `json:"expected,omitempty"`
	// Down is the median of the times in which ordinals were down, and LongestDown the longest; absent if none was.
	Down        *float64 `json:"downSeconds,omitempty"`
	LongestDown *float64 `json:"longestDownSeconds,omitempty"`

	// held is true if its Evacuation has paused it, driven if a process drives an ordinal, and undriven if none does any
	// more.
	held, driven, undriven bool
	// inLine is true while the manager lets it wait, because as many are under way as may be.
	inLine bool

	handoffs []report.Handoff
	// dropped is the number of the oldest handoffs, which the history lacks.
	dropped int32
}

// window is a time from one moment to another one.
type window struct {
	Begin time.Time `json:"begin"`
	End   time.Time `json:"end"`
}

// readCourse reads an Evacuation and its Migrations.
func readCourse(ctx context.Context, connection *clusters.Connection, key client.ObjectKey, clock func() time.Time) (course, error) {
	e, err := Read(ctx, connection, key)
	if err != nil {
		return course{}, err
	}
	var all api.MigrationList
	if err := connection.Live().List(ctx, &all, client.InNamespace(e.Namespace)); err != nil {
		return course{}, command.Unreachable(connection.Name(), err)
	}
	return courseOf(e, all.Items, connection.Name(), connection.ServerTime(clock())), nil
}

// missingError is that there is no such Evacuation.
type missingError struct {
	key     client.ObjectKey
	cluster string
}

// Error implements error.
func (m *missingError) Error() string {
	return fmt.Sprintf("no Evacuation %s in cluster %s; to list those that there are: kubectl get evacuations -A", m.key, m.cluster)
}

// isMissing reports whether an error is that there is no such Evacuation.
func isMissing(err error) bool {
	_, is := errors.AsType[*missingError](err)
	return is
}

// Read reads an Evacuation. The error states whether there is none.
func Read(ctx context.Context, connection *clusters.Connection, key client.ObjectKey) (*api.Evacuation, error) {
	e := &api.Evacuation{}
	switch err := connection.Live().Get(ctx, key, e); {
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return nil, &missingError{key, connection.Name()}
	case err != nil:
		return nil, command.Unreachable(connection.Name(), err)
	}
	return e, nil
}

// courseOf returns the course of an Evacuation at a time of the API server's clock.
func courseOf(e *api.Evacuation, migrations []api.Migration, cluster string, now time.Time) course {
	s := e.Status
	r := course{Namespace: e.Namespace, Name: e.Name, Cluster: cluster, Time: now.UTC(), State: s.State, Progress: s.Progress, Migrations: []moved{}}
	r.settled = s.ObservedGeneration == e.Generation && (s.State == api.EvacuationCompleted || s.State == api.EvacuationRolledBack)
	if s.StartTime != nil {
		r.Started = new(s.StartTime.UTC())
	}
	states := map[string]api.EvacuatedStatus{}
	for _, each := range s.Migrations {
		states[each.Name] = each
	}
	found := map[string]*api.Migration{}
	for i := range migrations {
		found[migrations[i].Name] = &migrations[i]
	}
	var lasts int64
	for _, entry := range e.Spec.Migrations {
		next := moved{Migration: entry.Name, State: cmp.Or(states[entry.Name].State, api.EvacuatedWaiting), Message: states[entry.Name].Message, Planned: entry.Planned}
		if m := found[entry.Name]; m != nil {
			next.fill(m, cluster, now)
			next.held = next.State == api.EvacuatedPaused && evacuation.Holds(e.Name, m)
		}
		if cmp.Or(e.Spec.Mode, api.EvacuationRun) == api.EvacuationRun && next.held { // the status is of the time before
			next.State, next.Message = api.EvacuatedWaiting, ""
		}
		if plan := entry.Planned; plan != nil {
			lasts = max(lasts, plan.EndSeconds)
			if next.Total == 0 {
				next.Total = plan.Ordinals
			}
		}
		if next.State == api.EvacuatedMoved && found[entry.Name] == nil { // it was deleted after its end
			next.Moved = next.Total
		}
		r.Arrived, r.Ordinals = r.Arrived+next.Moved, r.Ordinals+next.Total
		r.Migrations = append(r.Migrations, next)
	}
	if lasts > 0 {
		r.PlannedSeconds = new(float64(lasts))
	}
	r.forecast(e)
	return r
}

// fill adds the facts of a Migration.
func (m *moved) fill(migration *api.Migration, cluster string, now time.Time) {
	of := report.Of(migration, report.Place{Cluster: cluster, Record: "Migration " + migration.Namespace + "/" + migration.Name, Destination: view.DestinationOf(migration)}, now)
	m.Source = name{of.Source.Namespace, of.Source.StatefulSet}
	if u := records.UndrivenAt(migration, false, now); u != nil {
		m.State, m.Message, m.undriven = api.EvacuatedStalled, api.ReasonNotDriven+": "+u.Text(), true
	}
	m.driven = !m.undriven && records.Beats(migration, false)
	m.inLine = records.InLine(migration)
	m.Moved, m.Total, m.Started, m.Ended, m.handoffs, m.dropped = of.Moved, of.Total, of.Started, of.Ended, of.Handoffs, of.DroppedHandoffs
	var down []time.Duration
	for _, h := range of.Handoffs {
		if h.DownSeconds != nil {
			down = append(down, inSeconds(*h.DownSeconds))
		}
	}
	if len(down) > 0 {
		spread := view.SpreadOf(down)
		m.Down, m.LongestDown = new(view.Exact(spread.Median)), new(view.Exact(spread.Longest))
	}
}

// forecast adds the expected rest of an Evacuation that runs.
func (r *course) forecast(e *api.Evacuation) {
	p := evacuate.Progress{AtOnce: r.atOnce(e)}
	for i, entry := range e.Spec.Migrations {
		move := r.Migrations[i].move(r.Time)
		move.Name, move.Wave = evacuate.Name{Name: entry.Name}, entry.Wave
		for _, before := range entry.After {
			move.After = append(move.After, evacuate.Name{Name: before})
		}
		if move.Stage == evacuate.Stuck {
			r.Stuck++
		}
		p.Moves = append(p.Moves, move)
	}
	if mode := cmp.Or(e.Spec.Mode, api.EvacuationRun); mode != api.EvacuationRun || r.settled {
		r.Stuck = 0
		return
	}
	f := p.Of()
	if r.idle() || len(f.Spans) == 0 {
		return
	}
	r.LeftSeconds, r.Ends, r.Measured = new(view.Exact(f.Left)), new(r.Time.Add(f.Left)), f.Measured
	for i := range r.Migrations {
		if span, moves := f.Spans[evacuate.Name{Name: r.Migrations[i].Migration}]; moves {
			r.Migrations[i].Expected = &window{r.Time.Add(span.Begin), r.Time.Add(span.End)}
		}
	}
}

// atOnce returns how many Migrations may be under way at once; 0: no limit is known. The manager's own limits are in no
// object, but while it lets a Migration wait in line, as many are under way as may be.
func (r *course) atOnce(e *api.Evacuation) int {
	most := int(ptr.Deref(e.Spec.MaxActive, 0))
	active, waits := 0, false
	for i := range r.Migrations {
		waits = waits || r.Migrations[i].inLine
		if r.Migrations[i].stage() == evacuate.Moves {
			active++
		}
	}
	if waits && (most == 0 || active < most) {
		return max(1, active)
	}
	return most
}

// idle reports whether no process drives any Migration of which an ordinal is in flight. It begins no other one either.
func (r *course) idle() bool {
	return slices.ContainsFunc(r.Migrations, func(m moved) bool { return m.undriven }) &&
		!slices.ContainsFunc(r.Migrations, func(m moved) bool { return m.driven })
}

// move returns how far a Migration has come, for the forecast.
func (m *moved) move(now time.Time) evacuate.Move {
	move := evacuate.Move{Stage: m.stage(), Total: m.Total, Arrived: m.Moved}
	if m.Planned != nil {
		move.Planned = time.Duration(m.Planned.EndSeconds-m.Planned.BeginSeconds) * time.Second
	}
	if m.Started == nil {
		return move
	}
	since := *m.Started
	var first, last time.Time
	for _, h := range m.handoffs {
		if h.Direction != api.Forward || h.Stayed {
			continue
		}
		if first.IsZero() || h.Start.Before(first) {
			first = h.Start
		}
		if h.End != nil && h.Outcome == "" {
			move.Listed++
			if h.End.After(last) {
				last = *h.End
			}
		}
	}
	if move.HandsOver = !first.IsZero(); move.HandsOver && m.dropped == 0 {
		move.Lead = max(0, first.Sub(since))
	}
	if move.Listed > 0 {
		move.Handing, since = last.Sub(first), last
		if m.Ended != nil {
			move.Tail = max(0, m.Ended.Sub(last))
		}
	}
	move.Since = max(0, now.Sub(since))
	return move
}

// stage returns how far a Migration has come. Its own status may be newer than that of the Evacuation.
func (m *moved) stage() evacuate.Stage {
	switch {
	case m.State == api.EvacuatedMoved || m.State == api.EvacuatedMoving && m.Ended != nil:
		return evacuate.Ended
	case m.State == api.EvacuatedMoving && !m.inLine || m.State == api.EvacuatedWaiting && m.Started != nil && m.Ended == nil:
		return evacuate.Moves
	case m.State == api.EvacuatedMoving || m.State == api.EvacuatedWaiting:
		return evacuate.Waits
	default:
		return evacuate.Stuck
	}
}
