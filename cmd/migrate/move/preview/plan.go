// Package preview shows what a move would do before it is done: each write, what stands
// in its way, and what it comes to.
package preview

import (
	"strings"

	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/simulate"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
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
	// Findings are what the preflight found; Refused is true when one of them is
	// more than a warning.
	Findings []plan.Finding `json:"findings"`
	Refused  bool           `json:"refused"`
	Steps    []Step         `json:"steps"`
	Summary  Summary        `json:"summary"`
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

// Summary is what a move comes to.
type Summary struct {
	// Ordinals are to be moved, in Writes writes to both API servers.
	Ordinals int32 `json:"ordinals"`
	Writes   int   `json:"writes"`
	// FewestAvailable of Replicas are available at any time.
	FewestAvailable int32 `json:"fewestAvailable"`
	Replicas        int32 `json:"replicas"`
	// Budget is d: how many replicas may be unavailable at once.
	Budget  int32 `json:"budget"`
	Volumes int   `json:"volumes"`
}

// phase is the part of a move that a step belongs to.
type phase string

const (
	phasePrepare phase = "prepare"
	phaseHandoff phase = "handoff"
	phaseRestore phase = "restore"
)

// Step is one write.
type Step struct {
	Step  int   `json:"step"`
	Phase phase `json:"phase"`
	// Ordinal is the one on its way; absent outside of a handoff.
	Ordinal     *int32             `json:"ordinal,omitempty"`
	Verb        plan.Verb          `json:"verb"`
	Action      string             `json:"action"`
	Side        plan.SideName      `json:"side"`
	Object      string             `json:"object"`
	Volume      string             `json:"volume,omitempty"`
	Source      *simulate.Forecast `json:"source,omitempty"`
	Destination *simulate.Forecast `json:"destination,omitempty"`
	Available   int32              `json:"available"`
}

// NewPlan runs the planner over a model of what was observed, up to the end.
func NewPlan(m *api.Migration, stands Standing, s plan.Snapshot) (d Plan) {
	d = Plan{
		Source:      Side{s.Source.Cluster, s.Source.Namespace, s.Source.Set.Name},
		Destination: Side{s.Destination.Cluster, s.Destination.Namespace, s.Destination.Set.Name},
		Standing:    stands, Mode: s.Spec.Mode, Findings: []plan.Finding{}, Steps: []Step{},
	}
	d.Summary.Replicas = s.Source.Set.Replicas
	defer func() { d.addSplits(s) }()
	if base := m.Status.Baseline; base != nil {
		d.Summary.Replicas, d.Summary.Budget = base.Replicas, base.Budget
	} else {
		// An epoch of an earlier move, which this one goes on from, is no other process's.
		s.Record.Fence = nil
		d.Findings = append(d.Findings, plan.Preflight(s)...)
		d.Refused = Refusals(d.Findings) > 0
	}
	if d.Refused {
		return d
	}
	if first := plan.Plan(s); d.Summary.Budget == 0 && first.Record != nil && first.Record.Baseline != nil {
		d.Summary.Replicas, d.Summary.Budget = first.Record.Baseline.Replicas, first.Record.Baseline.Budget
	}
	simulation := toTheEnd(s)
	d.addSteps(s, simulation.Steps)
	d.Summary.Writes, d.Summary.FewestAvailable = len(simulation.Steps), simulation.Fewest
	d.Outcome = simulation.Outcome
	if hold := simulation.Held; hold != nil && d.Outcome == "" {
		d.Stalled = &Stall{hold.Reason, hold.Message, hold.Remedy}
	}
	return d
}

// addSteps numbers the writes, sorts them into the parts of the move, and counts what they
// move.
func (d *Plan) addSteps(s plan.Snapshot, steps []simulate.Step) {
	next := nextOrdinals(steps)
	sourceExists := s.Source.Set.Presence == plan.Seen
	destinationExists := s.Destination.Set.Presence == plan.Seen
	carried, templates := map[string]bool{}, map[string]string{}
	begun := s.Record.Handoff != nil
	for i, planned := range steps {
		e := planned.Effect
		object := ObjectOf(e)
		if _, known := templates[object]; !known {
			templates[object] = TemplateOf(s, object)
		}
		step := Step{
			Step: i + 1, Phase: phasePrepare, Verb: e.Verb, Action: planned.Description, Side: e.Side,
			Object: object, Volume: templates[object], Available: planned.Available,
		}
		begun = begun || inHandoff(e.Verb) || e.Verb == plan.SetBudget || e.Verb == plan.SetShare
		switch {
		case next[i] != nil && begun && e.Verb != plan.WriteFence:
			step.Phase, step.Ordinal = phaseHandoff, next[i]
		case next[i] == nil:
			step.Phase = phaseRestore
			if e.OfOrdinal() {
				step.Ordinal = &steps[i].Effect.Ordinal
			}
		}
		switch {
		case e.Verb == plan.CreateSet:
			destinationExists = true
		case e.Verb == plan.DeleteSet && e.Side == plan.SourceSide:
			sourceExists = false
		case e.Verb == plan.DeleteSet:
			destinationExists = false
		case e.Verb == plan.ScaleUp:
			d.Summary.Ordinals++
		case e.Verb == plan.CarryVolume:
			carried[object] = true
		}
		if sourceExists {
			step.Source = &steps[i].Source
		}
		if destinationExists {
			step.Destination = &steps[i].Destination
		}
		d.Steps = append(d.Steps, step)
	}
	d.Summary.Volumes = len(carried)
}

// TemplateOf is the claim template of a claim or a volume; empty when it is of none.
func TemplateOf(s plan.Snapshot, object string) string {
	kind, name, _ := strings.Cut(object, "/")
	for _, v := range s.Volumes {
		for _, h := range []volumes.Holding{v.Source, v.Destination} {
			if kind == "persistentvolume" && h.Volume.Found && h.Volume.Name == name || kind == "persistentvolumeclaim" && h.Ref.Name == name {
				return v.Template
			}
		}
	}
	return ""
}

// inHandoff says whether a write brings one ordinal on its way.
func inHandoff(verb plan.Verb) bool {
	return verb == plan.CarryVolume || verb == plan.ScaleDown || verb == plan.ScaleUp
}

// nextOrdinals is, for each step, the ordinal that is on its way then or next; nil
// after the last one has been started.
func nextOrdinals(steps []simulate.Step) []*int32 {
	next := make([]*int32, len(steps))
	var ordinal *int32
	for i := len(steps) - 1; i >= 0; i-- {
		if inHandoff(steps[i].Effect.Verb) {
			ordinal = &steps[i].Effect.Ordinal
		}
		next[i] = ordinal
	}
	return next
}

// ObjectOf names the object that a write changes.
func ObjectOf(e plan.Effect) string {
	kind := map[plan.Verb]string{
		plan.CreateNamespace: "namespace", plan.CreateService: "service",
		plan.CreateBudget: "poddisruptionbudget", plan.SetBudget: "poddisruptionbudget",
		plan.RestoreBudget: "poddisruptionbudget", plan.DeleteBudget: "poddisruptionbudget",
		plan.CreateExport: "serviceexport", plan.DeleteExport: "serviceexport",
		plan.CreatePodExport: "serviceexport", plan.MarkPodExport: "serviceexport", plan.DeletePodExport: "serviceexport",
		plan.CreatePodService: "service", plan.MarkPodService: "service", plan.DeletePodService: "service",
		plan.RestorePolicy: "persistentvolume", plan.DeleteVolume: "persistentvolume",
		plan.CarryVolume: "persistentvolume", plan.DeleteClaim: "persistentvolumeclaim",
	}[e.Verb]
	if kind == "" {
		kind = "statefulset"
	}
	return kind + "/" + e.Name
}

// toTheEnd runs the planner to the end, as a resumed migration would.
func toTheEnd(s plan.Snapshot) simulate.Result {
	if s.Spec.Mode == api.ModePause {
		s.Spec.Mode = api.ModeRun
		if fence := s.Record.Fence; fence != nil && fence.Direction == api.Back {
			s.Spec.Mode = api.ModeRollback
		}
	}
	return simulate.Run(s)
}
