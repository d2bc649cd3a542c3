package preview

import (
	"cmp"
	"strings"

	"k8s.io/utils/ptr"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/simulate"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/methods"
)

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
	// Ordinal is the ordinal in flight; absent outside of a handoff.
	Ordinal     *int32             `json:"ordinal,omitempty"`
	Verb        plan.Verb          `json:"verb"`
	Action      string             `json:"action"`
	Side        plan.SideName      `json:"side"`
	Object      string             `json:"object"`
	Volume      string             `json:"volume,omitempty"`
	Source      *simulate.Forecast `json:"source,omitempty"`
	Destination *simulate.Forecast `json:"destination,omitempty"`
	Available   int32              `json:"available"`
	// PersistentVolume is the volume that the write concerns. It is absent if there is none, or if it does not exist
	// yet.
	PersistentVolume string `json:"persistentVolume,omitempty"`
}

// steps collects the writes of a simulation. It keeps only the printed part of each write, to limit memory with
// thousands of ordinals.
type steps struct {
	list []Step
	// ordinals holds the ordinal of each effect.
	ordinals  []int32
	templates map[string]string
	// carried holds each volume that is carried over, or filled and then taken over, with its method. kept holds the
	// volumes that are left behind, parked.
	carried map[string]api.VolumeMethod
	kept    map[string]bool
	// started counts the started ordinals. begun is the number of steps before the first one that prepares a handoff, or
	// -1 if there is none so far.
	started int32
	begun   int
	// several is true if more than one ordinal moves at once.
	several bool
	// exists holds which StatefulSets exist.
	exists map[plan.SideName]bool
}

func newSteps(s plan.Snapshot) *steps {
	c := &steps{
		list: []Step{}, templates: templatesOf(s), carried: map[string]api.VolumeMethod{}, kept: map[string]bool{}, begun: -1,
		exists: map[plan.SideName]bool{plan.SourceSide: s.Source.Set.Presence == plan.Seen, plan.DestinationSide: s.Destination.Set.Presence == plan.Seen},
	}
	if s.Record.Handoff != nil {
		c.begun = 0
	}
	return c
}

// add numbers a write, and updates the counts.
func (c *steps) add(planned simulate.Step) {
	e := planned.Effect
	object, volume := e.Object(), e.PersistentVolume()
	if name, is := strings.CutPrefix(object, string(volumes.KindVolume)+"/"); is {
		volume = name // shares one string, which saves memory with thousands of ordinals
	}
	ofNext := e.Hook != nil && e.Hook.Hook.Point == api.HookBeforeOrdinal
	if c.begun < 0 && (e.Hands() || ofNext || e.Reserves()) {
		c.begun = len(c.list)
	}
	switch {
	case e.On() == plan.KindSet && !e.OfOrdinal():
		c.exists[e.Side] = e.Change() != volumes.Deletes
	case e.Starts():
		c.started++
	case e.Carries():
		c.carries(e, volume)
	}
	step := Step{
		Step: len(c.list) + 1, Phase: phasePrepare, Verb: e.Verb, Action: planned.Description, Side: e.Side,
		Object: object, Volume: cmp.Or(c.templates[object], e.Template), Available: planned.Available, PersistentVolume: volume,
	}
	var before Step
	if len(c.list) > 0 {
		before = c.list[len(c.list)-1]
	}
	if c.exists[plan.SourceSide] {
		step.Source = same(before.Source, planned.Source)
	}
	if c.exists[plan.DestinationSide] {
		step.Destination = same(before.Destination, planned.Destination)
	}
	c.list, c.ordinals = append(c.list, step), append(c.ordinals, e.Ordinal)
}

// carries counts the volume that a write carries over or leaves behind.
func (c *steps) carries(e plan.Effect, volume string) {
	separate := methods.Of(e.Carriage.Method).Facts().Separate
	if !separate && volume != "" || e.TakesOver() {
		c.carried[volume] = cmp.Or(e.Carriage.Method, api.MethodRebind)
	}
	if separate && e.Parks() && e.Side == e.Carriage.Giver {
		c.kept[volume] = true
	}
}

// methods returns how many volumes each method carries.
func (c *steps) methods() map[api.VolumeMethod]int {
	var counts map[api.VolumeMethod]int
	for _, method := range c.carried {
		if counts == nil {
			counts = map[api.VolumeMethod]int{}
		}
		counts[method]++
	}
	return counts
}

// arrived returns the sum of bytes over the ordinals that start at the destination.
func (c *steps) arrived(bytes map[int32]int64) (sum int64) {
	for i, step := range c.list {
		if (plan.Effect{Verb: step.Verb}).Starts() && step.Side == plan.DestinationSide {
			sum += bytes[c.ordinals[i]]
		}
	}
	return sum
}

// same returns the previous forecast if it is unchanged, to save memory.
func same(before *simulate.Forecast, now simulate.Forecast) *simulate.Forecast {
	if before != nil && before.Start == now.Start && before.Replicas == now.Replicas && ptr.Equal(before.MaxUnavailable, now.MaxUnavailable) {
		return before
	}
	return &now
}

// phased assigns each write to a phase and an ordinal: the ordinal in flight, or the next one. Writes after the start of
// the last ordinal have no ordinal.
func (c *steps) phased() []Step {
	var next *int32
	for i := len(c.list) - 1; i >= 0; i-- {
		step := &c.list[i]
		of := plan.Effect{Verb: step.Verb}
		if of.Hands() && (next == nil || *next != c.ordinals[i]) {
			next = &c.ordinals[i]
		}
		switch {
		case of.Does(volumes.Creates, plan.KindJob) && c.ordinals[i] != plan.NoOrdinal:
			step.Phase, step.Ordinal = phaseHandoff, &c.ordinals[i]
		case next != nil && c.begun >= 0 && i >= c.begun && c.several && of.OfOrdinal():
			step.Phase, step.Ordinal = phaseHandoff, &c.ordinals[i]
		case next != nil && c.begun >= 0 && i >= c.begun && !of.Fences():
			step.Phase, step.Ordinal = phaseHandoff, next
		case next == nil:
			step.Phase = phaseRestore
			if of.OfOrdinal() {
				step.Ordinal = &c.ordinals[i]
			}
		}
	}
	return c.list
}

// TemplateOf returns the claim template of the object that a write changes, or an empty string.
func TemplateOf(s plan.Snapshot, e plan.Effect) string {
	return cmp.Or(templatesOf(s)[e.Object()], e.Template)
}

// templatesOf returns the claim templates of all claims and volumes.
func templatesOf(s plan.Snapshot) map[string]string {
	templates := make(map[string]string, 2*len(s.Volumes))
	note := func(object, template string) {
		if _, known := templates[object]; !known {
			templates[object] = template
		}
	}
	for i := range s.Volumes {
		v := &s.Volumes[i]
		for _, h := range []*volumes.Holding{&v.Source, &v.Destination} {
			if h.Volume.Found {
				note(string(volumes.KindVolume)+"/"+h.Volume.Name, v.Template)
			}
			note(string(volumes.KindClaim)+"/"+h.Ref.Name, v.Template)
		}
	}
	return templates
}

// Brief replaces the name of the volume in an action by the claim template, which is shorter and more meaningful.
func Brief(action, volume, template string) string {
	if volume == "" || template == "" {
		return action
	}
	return strings.ReplaceAll(action, "volume "+volume, "volume "+template)
}
