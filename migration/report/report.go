// Package report tells what a migration has done: from its status and, where there is one, from the log of
// its runs. A value in, a document out; it asks no cluster.
package report

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/view"
)

// Report is what a migration has done so far, or until its end.
type Report struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	// Cluster keeps the record, and Record is the object that is it.
	Cluster     string `json:"cluster"`
	Record      string `json:"record"`
	Source      Side   `json:"source"`
	Destination Side   `json:"destination"`
	// Time is when the report was made. Started is absent before the first write, Ended as long as
	// the migration is not completed.
	Time    time.Time  `json:"time"`
	Started *time.Time `json:"started,omitempty"`
	Ended   *time.Time `json:"ended,omitempty"`
	// Outcome is Moved, RolledBack or Recovered; empty as long as it is not completed.
	Outcome string   `json:"outcome,omitempty"`
	Mode    api.Mode `json:"mode"`
	// First is the first of Replicas ordinals of the application, of which the destination had Before already.
	First    int32 `json:"first"`
	Replicas int32 `json:"replicas"`
	Before   int32 `json:"before,omitempty"`
	Budget   int32 `json:"budget"`
	// Undriven says since when no process drives it, and which command continues it; empty: one does, or none needs to.
	Undriven string `json:"undriven,omitempty"`
	// AsOf is when the status was written that the report is made of; absent where that is not known.
	AsOf *time.Time `json:"asOf,omitempty"`
	// Moved ordinals have arrived, of Total.
	Moved int32 `json:"moved"`
	Total int32 `json:"total"`
	// FewestAvailable is the fewest replicas that were seen to be available in any handoff.
	FewestAvailable *int32 `json:"fewestAvailable,omitempty"`
	// Clients is what clients saw; absent: that was not measured.
	Clients  *Clients  `json:"clients,omitempty"`
	Handoffs []Handoff `json:"handoffs"`
	// Seals are of the volumes that ordinals have come up on, where these were copied or restored.
	Seals    []Seal        `json:"seals,omitempty"`
	Stops    []Stop        `json:"stops"`
	Drivers  []Driver      `json:"drivers"`
	Warnings []api.Warning `json:"warnings,omitempty"`
	// Conditions are those of the migration now.
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// DroppedHandoffs, DroppedSeals and DroppedStops are not known any more: of the oldest only their number is.
	DroppedHandoffs int32 `json:"droppedHandoffs,omitempty"`
	DroppedSeals    int32 `json:"droppedSeals,omitempty"`
	DroppedStops    int32 `json:"droppedStops,omitempty"`
	// Kept are the volumes that ordinals have left behind in the cluster that keeps the record, as they were seen when the
	// report was made; it is for whoever has looked.
	Kept []Kept `json:"kept,omitempty"`
	// Entries are from the log of its runs, if there is one.
	Entries []Entry `json:"entries,omitempty"`
}

// Kept is a volume that an ordinal has left behind.
type Kept struct {
	Volume string `json:"volume"`
	Claim  string `json:"claim"`
	// Disk is Own, InUse on the other side, or Unknown.
	Disk string `json:"disk"`
	// Remove is the command that removes it; empty while the migration goes on.
	Remove string `json:"remove,omitempty"`
}

// Side is one of both StatefulSets.
type Side struct {
	Cluster     string `json:"cluster,omitempty"`
	Namespace   string `json:"namespace"`
	StatefulSet string `json:"statefulSet"`
	// Start, Replicas and Available are as they were last seen.
	Start     int32 `json:"start"`
	Replicas  int32 `json:"replicas"`
	Available int32 `json:"available"`
	// AsOf is when they were like this, if not both sides answer since.
	AsOf *time.Time `json:"asOf,omitempty"`
}

// Handoff is one ordinal from one side to the other.
type Handoff struct {
	Ordinal   int32         `json:"ordinal"`
	Direction api.Direction `json:"direction"`
	Start     time.Time     `json:"start"`
	// Stopped is when the ordinal was stopped: before Start where it was, in a handoff that was turned back. Absent: it was
	// not, or it is not known when. Ready is since when its pod was Ready at the other side, without a break; absent: it was not, or it is
	// not known. DownSeconds is from Stopped to Ready, or to End, or up to now. SoakSeconds is how long it was Ready before it
	// counted as available.
	Stopped     *time.Time `json:"stopped,omitempty"`
	Ready       *time.Time `json:"ready,omitempty"`
	DownSeconds *float64   `json:"downSeconds,omitempty"`
	SoakSeconds *float64   `json:"soakSeconds,omitempty"`
	// End is when the ordinal was available, or the handoff was turned back. It is absent of the one that is on its way; Step is
	// where that is.
	End  *time.Time `json:"end,omitempty"`
	Step api.Step   `json:"step,omitempty"`
	// Outcome is TurnedBack where the ordinal has not arrived, and Stayed is true where it was not stopped at all.
	Outcome api.HandoffOutcome `json:"outcome,omitempty"`
	Stayed  bool               `json:"stayed,omitempty"`
	// Attempts counts how often it was begun, turned round or taken over.
	Attempts        int32  `json:"attempts"`
	FewestAvailable *int32 `json:"fewestAvailable,omitempty"`
	// Clients is what clients saw meanwhile; absent: that was not measured.
	Clients *api.ClientRequests `json:"clients,omitempty"`
	// By is who brought it to its end, or drives it now.
	By string `json:"by,omitempty"`
}

// Stop is a time in which nothing went on.
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

// Place is where a migration is kept.
type Place struct {
	// Cluster keeps it, in the object Record. Destination names the other cluster; empty: it is not known here.
	Cluster, Record, Destination string
	// Run is true when a run keeps it.
	Run bool
}

// Of is the report of a migration at a time.
func Of(m *api.Migration, at Place, now time.Time) Report {
	to, from, row := m.Spec.Destination, m.Spec.Source, view.NewRow(m, at.Run).At(m, now)
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

// holder is who drove in an epoch; empty: that is not known any more.
func (r *Report) holder(epoch int64) string {
	for _, d := range r.Drivers {
		if d.Epoch == epoch {
			return d.Holder
		}
	}
	return ""
}

// driverAt is who drove at a time.
func (r *Report) driverAt(t time.Time) string {
	for _, d := range slices.Backward(r.Drivers) {
		if !d.Start.After(t) {
			return d.Holder
		}
	}
	return ""
}

// end is up to when the report tells.
func (r *Report) end() time.Time {
	if r.Ended != nil {
		return *r.Ended
	}
	return r.Time
}
