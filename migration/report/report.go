// Package report reports on a migration from its status and, if available, from the log of its runs. It is
// pure: a value in, a document out; it reads no cluster.
package report

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/view"
)

// Report is the course of a migration so far, or until its end.
type Report struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	// Cluster is the cluster that stores the record, and Record is the kind and name of that object.
	Cluster     string `json:"cluster"`
	Record      string `json:"record"`
	Source      Side   `json:"source"`
	Destination Side   `json:"destination"`
	// Time is when the report was created. Started is nil before the first write, and Ended until the migration
	// is completed.
	Time    time.Time  `json:"time"`
	Started *time.Time `json:"started,omitempty"`
	Ended   *time.Time `json:"ended,omitempty"`
	// Outcome is Moved, RolledBack, Recovered or Released; empty until the migration is completed.
	Outcome string   `json:"outcome,omitempty"`
	Mode    api.Mode `json:"mode"`
	// First is the lowest of the application's Replicas ordinals. The destination already had Before of them.
	First    int32 `json:"first"`
	Replicas int32 `json:"replicas"`
	Before   int32 `json:"before,omitempty"`
	Budget   int32 `json:"budget"`
	// Undriven reports since when no process drives it, and the command that continues it. It is empty if a
	// process does, or if none needs to.
	Undriven string `json:"undriven,omitempty"`
	// AsOf is when the status behind the report was written; nil if unknown.
	AsOf *time.Time `json:"asOf,omitempty"`
	// Moved ordinals of Total have arrived.
	Moved int32 `json:"moved"`
	Total int32 `json:"total"`
	// FewestAvailable is the lowest number of available replicas that was seen in any handoff.
	FewestAvailable *int32 `json:"fewestAvailable,omitempty"`
	// Clients is the probe's result; nil if there is none.
	Clients  *Clients  `json:"clients,omitempty"`
	Handoffs []Handoff `json:"handoffs"`
	// Seals lists the seals of copied or restored volumes on which ordinals now run.
	Seals    []Seal        `json:"seals,omitempty"`
	Stops    []Stop        `json:"stops"`
	Drivers  []Driver      `json:"drivers"`
	Warnings []api.Warning `json:"warnings,omitempty"`
	// Conditions are the current conditions of the migration.
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// DroppedHandoffs, DroppedSeals and DroppedStops count the oldest entries, which are not listed any more.
	DroppedHandoffs int32 `json:"droppedHandoffs,omitempty"`
	DroppedSeals    int32 `json:"droppedSeals,omitempty"`
	DroppedStops    int32 `json:"droppedStops,omitempty"`
	// Kept lists the volumes that ordinals have left behind in the cluster that stores the record, as seen when
	// the report was created. The caller sets it.
	Kept []Kept `json:"kept,omitempty"`
	// Entries are the entries of the log of its runs, if there is one.
	Entries []Entry `json:"entries,omitempty"`
}

// Kept is a volume that an ordinal has left behind.
type Kept struct {
	Volume string `json:"volume"`
	Claim  string `json:"claim"`
	// Disk is Own, InUse (on the other side), or Unknown.
	Disk string `json:"disk"`
	// Remove is the command that removes it; empty while the migration continues.
	Remove string `json:"remove,omitempty"`
}

// Side is one of the two StatefulSets.
type Side struct {
	Cluster     string `json:"cluster,omitempty"`
	Namespace   string `json:"namespace"`
	StatefulSet string `json:"statefulSet"`
	// Start, Replicas and Available are the last observed values.
	Start     int32 `json:"start"`
	Replicas  int32 `json:"replicas"`
	Available int32 `json:"available"`
	// AsOf is when they were observed, if one of the clusters has not answered since.
	AsOf *time.Time `json:"asOf,omitempty"`
}

// Handoff is the move of one ordinal from one side to the other.
type Handoff struct {
	Ordinal   int32         `json:"ordinal"`
	Direction api.Direction `json:"direction"`
	Start     time.Time     `json:"start"`
	// Stopped is when the ordinal was stopped. It is before Start if the ordinal was stopped in an earlier
	// handoff that was reversed. It is nil if the ordinal was not stopped, or if the time is unknown. Ready is
	// since when its pod was continuously Ready at the other side; nil if it was not, or if unknown.
	// DownSeconds is the time from Stopped to Ready, to End, or to now. SoakSeconds is how long it was Ready
	// before it counted as available.
	Stopped     *time.Time `json:"stopped,omitempty"`
	Ready       *time.Time `json:"ready,omitempty"`
	DownSeconds *float64   `json:"downSeconds,omitempty"`
	SoakSeconds *float64   `json:"soakSeconds,omitempty"`
	// End is when the ordinal was available, or the handoff was reversed. It is nil for the current handoff,
	// and Step is then its step.
	End  *time.Time `json:"end,omitempty"`
	Step api.Step   `json:"step,omitempty"`
	// Outcome is TurnedBack if the ordinal did not arrive, and Stayed is true if it was not stopped at all.
	Outcome api.HandoffOutcome `json:"outcome,omitempty"`
	Stayed  bool               `json:"stayed,omitempty"`
	// Attempts counts how often it was begun, reversed or taken over.
	Attempts        int32  `json:"attempts"`
	FewestAvailable *int32 `json:"fewestAvailable,omitempty"`
	// Clients is the probe's result during the handoff; nil if there is none.
	Clients *api.ClientRequests `json:"clients,omitempty"`
	// By is the process that completed it, or drives it now.
	By string `json:"by,omitempty"`
}

// Stop is a time without progress.
type Stop struct {
	Reason  string     `json:"reason"`
	Message string     `json:"message,omitempty"`
	Ordinal *int32     `json:"ordinal,omitempty"`
	Start   time.Time  `json:"start"`
	End     *time.Time `json:"end,omitempty"`
}

// Driver is a process that has driven the migration from a time on.
type Driver struct {
	Epoch     int64         `json:"epoch"`
	Holder    string        `json:"holder"`
	Direction api.Direction `json:"direction"`
	Start     time.Time     `json:"start"`
}

// Place is where a migration is stored.
type Place struct {
	// Cluster stores it, in the object Record. Destination is the name of the other cluster; empty if unknown.
	Cluster, Record, Destination string
	// Run is true for the record of a run.
	Run bool
}

// Of returns the report of a migration at a time.
func Of(m *api.Migration, at Place, now time.Time) Report {
	to, from, row := m.Target(), m.Spec.Source, view.NewRow(m, at.Run).At(m, now)
	r := Report{
		Name: m.Name, Namespace: m.Namespace, Cluster: at.Cluster, Record: at.Record, Time: now.UTC(), Mode: cmp.Or(m.Spec.Mode, api.ModeRun),
		Source:      side(row.Sides[0], Side{Cluster: at.Cluster, Namespace: cmp.Or(from.Namespace, m.Namespace), StatefulSet: from.Name}),
		Destination: side(row.Sides[1], Side{Cluster: at.Destination, Namespace: cmp.Or(to.Namespace, m.Namespace), StatefulSet: cmp.Or(to.Name, from.Name)}),
		AsOf:        row.AsOf, Moved: row.Moved, Total: row.Total, Warnings: m.Status.Warnings, Conditions: m.Status.Conditions,
		Clients: ClientsOf(m), Handoffs: []Handoff{}, Stops: []Stop{}, Drivers: []Driver{},
	}
	if row.Driven != nil && !*row.Driven {
		r.Undriven = row.Hold.Message + "; " + row.Hold.Remedy
	}
	if base := m.Status.Baseline; base != nil {
		started := base.StartTime.UTC()
		r.Started, r.First, r.Replicas, r.Budget, r.Before = &started, base.Start, base.Replicas, base.Budget, base.DestinationReplicas
	}
	if c := meta.FindStatusCondition(m.Status.Conditions, api.ConditionCompleted); c != nil && c.Status == metav1.ConditionTrue {
		ended := c.LastTransitionTime.UTC()
		r.Outcome, r.Ended = c.Reason, &ended
	}
	if h := m.Status.History; h != nil {
		r.take(*h)
	}
	r.present(m.Status, row)
	r.measure()
	for _, h := range r.Handoffs {
		if few := h.FewestAvailable; few != nil && (r.FewestAvailable == nil || *few < *r.FewestAvailable) {
			r.FewestAvailable = few
		}
	}
	return r
}

func side(seen view.Side, s Side) Side {
	s.Start, s.Replicas, s.Available, s.AsOf = seen.Start, seen.Replicas, seen.Available, seen.AsOf
	return s
}

// holder returns the process that drove in an epoch; empty if unknown.
func (r *Report) holder(epoch int64) string {
	for _, d := range r.Drivers {
		if d.Epoch == epoch {
			return d.Holder
		}
	}
	return ""
}

// driverAt returns the process that drove at a time.
func (r *Report) driverAt(t time.Time) string {
	for _, d := range slices.Backward(r.Drivers) {
		if !d.Start.After(t) {
			return d.Holder
		}
	}
	return ""
}

// end returns the end of the reported time.
func (r *Report) end() time.Time {
	if r.Ended != nil {
		return *r.Ended
	}
	return r.Time
}
