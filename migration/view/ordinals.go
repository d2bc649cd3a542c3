package view

import (
	"cmp"
	"slices"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// Place is the location of an ordinal.
type Place string

// The places.
const (
	AtSource      Place = "source"
	AtDestination Place = "destination"
	// Away means that the ordinal was stopped at one side and has not started at the other yet.
	Away Place = "away"
)

// Readiness is the availability of an ordinal.
type Readiness string

// The values of Readiness. A status only counts the unavailable ordinals. Which ones they are is known only for
// the ordinal in flight, or if there are none.
const (
	Ready    Readiness = "ready"
	NotReady Readiness = "not ready"
	Unknown  Readiness = "unknown"
)

// Ordinal is the place and readiness of one ordinal.
type Ordinal struct {
	Ordinal int32     `json:"ordinal"`
	At      Place     `json:"at"`
	Ready   Readiness `json:"ready"`
	// Moving is true for the ordinals in flight.
	Moving bool `json:"moving,omitempty"`
}

// Ordinals returns all ordinals of the application in ascending order. It returns none before the application
// was observed.
func (r Row) Ordinals() []Ordinal {
	out := make([]Ordinal, 0, r.Replicas)
	for n := r.First; n < r.First+r.Replicas; n++ {
		o := Ordinal{Ordinal: n, At: Away, Ready: NotReady, Moving: r.moves(n)}
		for i, place := range []Place{AtSource, AtDestination} {
			if side := r.Sides[i]; side.has(n) {
				o.At, o.Ready = place, r.readiness(side, o)
			}
		}
		out = append(out, o)
	}
	return out
}

// readiness returns the readiness of an ordinal at its side. It attributes the first unavailable replicas to the
// ordinals in flight.
func (r Row) readiness(side Side, o Ordinal) Readiness {
	down := side.Replicas - side.Available
	switch {
	case down <= 0:
		return Ready
	case down == side.Replicas, o.Moving && down >= r.movingAt(side):
		return NotReady
	case !o.Moving && down == r.movingAt(side):
		return Ready
	}
	return Unknown
}

// movingAt returns how many ordinals in flight a side has.
func (r Row) movingAt(side Side) int32 {
	var count int32
	for _, h := range r.InFlight() {
		if side.has(h.Ordinal) {
			count++
		}
	}
	return count
}

// Step is a step of a handoff with its text.
type Step struct {
	Name api.Step `json:"name"`
	Text string   `json:"text"`
}

// StepsOf returns the steps of a handoff of one migration, with texts that match the methods by which its
// volumes move.
func StepsOf(m *api.Migration) []Step {
	methods := map[api.VolumeMethod]bool{}
	for _, v := range m.VolumesAsAccepted() {
		methods[v.Method] = true
	}
	steps := Steps()
	if !methods[api.MethodCopy] {
		steps = slices.DeleteFunc(steps, func(s Step) bool { return s.Name == api.StepCopyAhead })
	}
	for i := range steps {
		if steps[i].Name == api.StepCarryVolumes && len(methods) == 1 {
			for method := range methods {
				steps[i].Text = cmp.Or(carries[method], steps[i].Text)
			}
		}
	}
	return steps
}

// carries maps a method to the text of the step that carries volumes over.
var carries = map[api.VolumeMethod]string{
	api.MethodRebind:   "hand its volumes over",
	api.MethodCopy:     "copy the rest of its volumes, and compare both sides",
	api.MethodSnapshot: "restore its volumes from snapshots",
	api.MethodEmpty:    "create new volumes",
}

// Steps returns the steps of a handoff in their order.
func Steps() []Step {
	return []Step{
		{api.StepGate, "wait until all others are available"},
		{api.StepCopyAhead, "copy its volumes while it runs"},
		{api.StepReserveBudget, "reserve the disruption budget"},
		{api.StepSecureVolumes, "secure its volumes"},
		{api.StepScaleDown, "stop it"},
		{api.StepAwaitRelease, "wait until its volumes are released"},
		{api.StepCarryVolumes, "carry its volumes over"},
		{api.StepScaleUp, "start it at the other side"},
		{api.StepAwaitReadiness, "wait until it is available"},
	}
}
