// Package preview shows what a move would do before it is done: each write, what stands
// in its way, and what it comes to.
package preview

import (
	"encoding/json"

	"github.com/sliceshift/sliceshift/internal/shell"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/migration/preflight"
	"github.com/sliceshift/sliceshift/migration/simulate"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// Standing is where a move is when a command begins.
type Standing string

const (
	// Beginning means that nothing has been written in its name.
	Beginning Standing = "beginning"
	// Underway means that an earlier run has begun it.
	Underway Standing = "underway"
	// Over means that an earlier run has completed it.
	Over Standing = "over"
)

// Plan is a plan, for people and for programs.
type Plan struct {
	Source      Side `json:"source"`
	Destination Side `json:"destination"`
	// Standing is beginning, underway or over.
	Standing Standing `json:"standing"`
	// Mode is that of the migration; a paused one is planned as if resumed.
	Mode api.Mode `json:"mode"`
	// Answer says whether the application can move, and what that comes to.
	Answer string `json:"answer"`
	// WayBack says until when there is a way back, and which one; absent where nothing is moved to the destination.
	WayBack string `json:"wayBack,omitempty"`
	// Findings are what the preflight found; Refused is true when one of them is
	// more than a warning.
	Findings []plan.Finding `json:"findings"`
	Refused  bool           `json:"refused"`
	// Templates are the claim templates, each with its method and what is known of the others;
	// absent once the move has begun.
	Templates []Template `json:"claimTemplates,omitempty"`
	Steps     []Step     `json:"steps"`
	Summary   Summary    `json:"summary"`
	// Gates are the health gates that it waits for on its way; here they are taken to pass.
	Gates []api.HealthGate `json:"gates,omitempty"`
	// Schedule is how much fits into which windows; absent: it moves at any time.
	Schedule *Schedule `json:"schedule,omitempty"`
	// Outcome is how it ends: Moved or RolledBack.
	Outcome string `json:"outcome,omitempty"`
	// Stalled is why it does not get to its end.
	Stalled *Stall `json:"stalled,omitempty"`
	// Split is set when the application is split over both slices now, SplitAfter when it is
	// in the end.
	Split      *Split `json:"split,omitempty"`
	SplitAfter *Split `json:"splitAfter,omitempty"`
}

// Side is one of both StatefulSets.
type Side struct {
	Cluster     string `json:"cluster"`
	Namespace   string `json:"namespace"`
	StatefulSet string `json:"statefulSet"`
}

// Stall is why a move does not get to its end.
type Stall struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
	Remedy  string `json:"remedy,omitempty"`
}

// MarshalJSON adds the commands of the remedy.
func (s Stall) MarshalJSON() ([]byte, error) {
	type bare Stall
	return json.Marshal(struct {
		bare
		Commands []string `json:"commands,omitempty"`
	}{bare(s), shell.Commands(s.Remedy)})
}

// Summary is what a move comes to.
type Summary struct {
	// Ordinals are to be moved, in Writes writes to both API servers.
	Ordinals int32 `json:"ordinals"`
	Writes   int   `json:"writes"`
	// FewestAvailable of Replicas are available at any time.
	FewestAvailable int32 `json:"fewestAvailable"`
	Replicas        int32 `json:"replicas"`
	// Budget is d: how many replicas may be unavailable at once.
	Budget int32 `json:"budget"`
	// Volumes are carried over, the same ones or what was made of them; Kept stay behind, parked.
	Volumes int `json:"volumes"`
	Kept    int `json:"keptVolumes,omitempty"`
	// VolumesByMethod says how many of them each method carries.
	VolumesByMethod map[api.VolumeMethod]int `json:"volumesByMethod,omitempty"`
	// CopiedBytes is the size of the volumes that are filled from others; absent: there are none, or nobody says.
	CopiedBytes int64 `json:"copiedBytes,omitempty"`
	// HandoffSeconds is how long each handoff is expected to take, and HandoffSource where that is
	// known from: measured, said or assumed; absent where nothing is moved to the destination.
	HandoffSeconds int64         `json:"handoffSeconds,omitempty"`
	HandoffSource  HandoffSource `json:"handoffSource,omitempty"`
}

// HandoffSource is where it is known from how long a handoff takes.
type HandoffSource string

const (
	// HandoffMeasured means that it is as long as the longest so far.
	HandoffMeasured HandoffSource = "measured"
	// HandoffSaid means that spec.schedule.expectedHandoffSeconds says so.
	HandoffSaid HandoffSource = "said"
	// HandoffAssumed means that none was measured yet.
	HandoffAssumed HandoffSource = "assumed"
)

// NewPlan runs the planner over a model of what was observed, up to the end.
func NewPlan(m *api.Migration, stands Standing, s plan.Snapshot) (d Plan) {
	d = Plan{
		Source:      Side{s.Source.Cluster, s.Source.Namespace, s.Source.Set.Name},
		Destination: Side{s.Destination.Cluster, s.Destination.Namespace, s.Destination.Set.Name},
		Standing:    stands, Mode: s.Spec.Mode, Findings: []plan.Finding{}, Steps: []Step{}, Gates: m.Spec.Gates,
	}
	d.Summary.Replicas = s.Source.Set.Replicas
	sides := s
	sides.Volumes = nil // of thousands of ordinals, they are not kept beside those of the model
	defer func() {
		d.addSplits(sides)
		d.Answer = d.answer()
	}()
	if base := m.Status.Baseline; base != nil {
		d.Summary.Replicas, d.Summary.Budget = base.Replicas, base.Budget
	} else {
		// An epoch of an earlier move, which this one goes on from, is no other process's.
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
	steps := newSteps(s)
	sizes := filled(s)
	simulation := toTheEnd(s, steps.add)
	d.Steps, d.Summary.Ordinals, d.Summary.Volumes = steps.phased(), steps.started, len(steps.carried)
	d.Summary.VolumesByMethod, d.Summary.CopiedBytes = steps.methods(), steps.arrived(sizes)
	if d.Summary.HandoffSeconds > 0 {
		d.WayBack = wayBack(m)
	}
	for _, kept := range steps.kept {
		if kept {
			d.Summary.Kept++
		}
	}
	d.Summary.Writes, d.Summary.FewestAvailable = len(d.Steps), simulation.Fewest
	d.Outcome = simulation.Outcome
	if hold := simulation.Held; hold != nil && d.Outcome == "" {
		d.Stalled = &Stall{hold.Reason, hold.Message, hold.Remedy}
	}
	return d
}

// toTheEnd runs the planner to the end, as a resumed migration would, and shows each step.
func toTheEnd(s plan.Snapshot, show func(simulate.Step)) simulate.Result {
	return simulate.Each(resumed(s), show)
}

// resumed is a migration as it goes on after a pause.
func resumed(s plan.Snapshot) plan.Snapshot {
	if s.Spec.Mode == api.ModePause {
		s.Spec.Mode = api.ModeRun
		if fence := s.Record.Fence; fence != nil && fence.Direction == api.Back {
			s.Spec.Mode = api.ModeRollback
		}
	}
	return s
}
