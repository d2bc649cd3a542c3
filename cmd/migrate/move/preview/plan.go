// Package preview shows what a move would do before it starts: each write, the obstacles, and a summary.
package preview

import (
	"k8s.io/utils/ptr"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/migration/preflight"
	"github.com/sliceshift/sliceshift/migration/simulate"
	"github.com/sliceshift/sliceshift/migration/view"
	"github.com/sliceshift/sliceshift/volumes"
)

// Standing is the state of a move when a command begins.
type Standing string

const (
	// Beginning means that the move has written nothing yet.
	Beginning Standing = "beginning"
	// Underway means that an earlier run has begun the move.
	Underway Standing = "underway"
	// Over means that an earlier run has completed the move.
	Over Standing = "over"
)

// Plan is a plan, for output as text, JSON or YAML.
type Plan struct {
	Source      Side `json:"source"`
	Destination Side `json:"destination"`
	// Standing is beginning, underway or over.
	Standing Standing `json:"standing"`
	// Mode is the mode of the migration. A paused migration is planned as if it were resumed.
	Mode api.Mode `json:"mode"`
	// Answer states whether the application can move, and the effect on its users.
	Answer string `json:"answer"`
	// WayBack states how to move back, and until when. It is absent if nothing moves to the destination.
	WayBack string `json:"wayBack,omitempty"`
	// Findings are the findings of the preflight. Refused is true if one of them is more than a warning.
	Findings []plan.Finding `json:"findings"`
	Refused  bool           `json:"refused"`
	// Templates lists the claim templates, each with its method and the alternatives. It is absent once the move has
	// begun.
	Templates []Template `json:"claimTemplates,omitempty"`
	Steps     []Step     `json:"steps"`
	Summary   Summary    `json:"summary"`
	// Gates lists the health gates that the move waits for. The plan assumes that they pass.
	Gates []api.HealthGate `json:"gates,omitempty"`
	// Schedule shows which handoffs fit into which windows. It is absent if the move may run at any time.
	Schedule *Schedule `json:"schedule,omitempty"`
	// Outcome is how the move ends: Moved or RolledBack.
	Outcome string `json:"outcome,omitempty"`
	// Stalled is why the move does not complete.
	Stalled *view.Stall `json:"stalled,omitempty"`
	// Split is set if the application is split over both slices now, and SplitAfter if it is split at the end.
	Split      *Split `json:"split,omitempty"`
	SplitAfter *Split `json:"splitAfter,omitempty"`
}

// Side is one of the two StatefulSets.
type Side struct {
	Cluster     string `json:"cluster"`
	Namespace   string `json:"namespace"`
	StatefulSet string `json:"statefulSet"`
}

// Summary is the summary of a move.
type Summary struct {
	// Ordinals is the number of ordinals that move, with Writes writes to both API servers.
	Ordinals int32 `json:"ordinals"`
	Writes   int   `json:"writes"`
	// FewestAvailable is the minimum of available replicas, out of Replicas.
	FewestAvailable int32 `json:"fewestAvailable"`
	Replicas        int32 `json:"replicas"`
	// Budget is d: how many replicas may be unavailable at once.
	Budget int32 `json:"budget"`
	// Volumes is the number of volumes that are carried over or created from others. Kept is the number that stay
	// behind, parked.
	Volumes int `json:"volumes"`
	Kept    int `json:"keptVolumes,omitempty"`
	// VolumesByMethod is the number of volumes that each method carries.
	VolumesByMethod map[api.VolumeMethod]int `json:"volumesByMethod,omitempty"`
	// CopiedBytes is the size of the volumes that are filled from others. It is absent if there are none, or if the size
	// is unknown.
	CopiedBytes int64 `json:"copiedBytes,omitempty"`
	// MaxInFlight is how many ordinals move at once, absent if one does. StartsInOrder is true if the destination starts
	// them one after the other.
	MaxInFlight   int32 `json:"maxInFlight,omitempty"`
	StartsInOrder bool  `json:"startsInOrder,omitempty"`
	// HandoffSeconds is the expected duration of each handoff, and HandoffSource its source: measured, said or assumed.
	// Both are absent if nothing moves to the destination.
	HandoffSeconds int64         `json:"handoffSeconds,omitempty"`
	HandoffSource  HandoffSource `json:"handoffSource,omitempty"`
	// Outage is how long each ordinal is expected to be down, and SoakSeconds how long it must then stay Ready. Both are
	// absent if nothing moves to the destination.
	Outage      *view.Outage `json:"outage,omitempty"`
	SoakSeconds float64      `json:"soakSeconds,omitempty"`
}

// HandoffSource is the source of the expected duration of a handoff.
type HandoffSource string

const (
	// HandoffMeasured means the duration of the longest handoff so far.
	HandoffMeasured HandoffSource = "measured"
	// HandoffSaid means the value of spec.schedule.expectedHandoffSeconds.
	HandoffSaid HandoffSource = "said"
	// HandoffAssumed means that no handoff was measured yet.
	HandoffAssumed HandoffSource = "assumed"
)

// NewPlan simulates the plan to its end on a model of the observed state.
func NewPlan(m *api.Migration, stands Standing, s plan.Snapshot) (d Plan) {
	d = Plan{
		Source:      Side{s.Source.Cluster, s.Source.Namespace, s.Source.Set.Name},
		Destination: Side{s.Destination.Cluster, s.Destination.Namespace, s.Destination.Set.Name},
		Standing:    stands, Mode: s.Spec.Mode, Findings: []plan.Finding{}, Steps: []Step{}, Gates: m.Spec.Gates,
	}
	d.Summary.Replicas = s.Source.Set.Replicas
	sides := s
	sides.Volumes = nil // saves memory: the model has its own volumes of thousands of ordinals
	defer func() {
		d.addSplits(sides)
		d.Answer = d.answer()
	}()
	if base := m.Status.Baseline; base != nil {
		d.Summary.Replicas, d.Summary.Budget = base.Replicas, base.Budget
	} else {
		// This move continues the epochs of an earlier one, so that fence belongs to no other process.
		s.Record.Fence = nil
		d.Findings = append(d.Findings, preflight.Findings(s)...)
		d.Refused = Refusals(d.Findings) > 0
		d.Templates = methodsOf(m, s, d.Findings)
	}
	if d.Refused {
		return d
	}
	if first := planner.Plan(s); d.Summary.Budget == 0 && first.Record != nil && first.Record.Baseline != nil {
		d.Summary.Replicas, d.Summary.Budget = first.Record.Baseline.Replicas, first.Record.Baseline.Budget
	}
	d.Schedule = scheduleOf(s)
	d.Summary.HandoffSeconds, d.Summary.HandoffSource = expected(s)
	d.Summary.setInFlight(s)
	steps := newSteps(s)
	steps.several = d.Summary.MaxInFlight > 1
	sizes := filled(s)
	simulation := toTheEnd(s, steps.add)
	d.Steps, d.Summary.Ordinals, d.Summary.Volumes = steps.phased(), steps.started, len(steps.carried)
	d.Summary.VolumesByMethod, d.Summary.CopiedBytes = steps.methods(), steps.arrived(sizes)
	if d.Summary.HandoffSeconds > 0 {
		d.WayBack = wayBack(m)
		d.Summary.Outage = view.OutageOf(ptr.Deref(sides.Record.Outage, volumes.Outage{}), d.Summary.VolumesByMethod[api.MethodCopy] > 0)
		d.Summary.SoakSeconds = max(sides.Spec.MinReady, sides.Source.Set.MinReady, sides.Destination.Set.MinReady).Seconds()
	}
	for _, kept := range steps.kept {
		if kept {
			d.Summary.Kept++
		}
	}
	d.Summary.Writes, d.Summary.FewestAvailable = len(d.Steps), simulation.Fewest
	d.Outcome = simulation.Outcome
	if hold := simulation.Held; hold != nil && d.Outcome == "" {
		d.Stalled = &view.Stall{Reason: hold.Reason, Message: hold.Message, Remedy: hold.Remedy}
	}
	return d
}

// Rehearsed replaces the assumed outage by that of a rehearsal. An outage that handoffs of this move have measured
// stays.
func (d *Plan) Rehearsed(o volumes.Outage) {
	if d.Summary.Outage == nil || d.Summary.Outage.Measured > 0 {
		return
	}
	d.Summary.Outage = view.OutageOf(o, d.Summary.VolumesByMethod[api.MethodCopy] > 0)
	d.Answer = d.answer()
}

// toTheEnd runs the planner to the end, as a resumed migration would, and calls show with each step.
func toTheEnd(s plan.Snapshot, show func(simulate.Step)) simulate.Result {
	return simulate.Each(resumed(s), show)
}

// resumed returns the snapshot with a paused migration resumed.
func resumed(s plan.Snapshot) plan.Snapshot {
	if s.Spec.Mode == api.ModePause {
		s.Spec.Mode = api.ModeRun
		if fence := s.Record.Fence; fence != nil && fence.Direction == api.Back {
			s.Spec.Mode = api.ModeRollback
		}
	}
	return s
}
