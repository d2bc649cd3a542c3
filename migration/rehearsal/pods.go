package rehearsal

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sliceshift/sliceshift/volumes"
)

// Pod is a pod of the rehearsal's StatefulSet.
type Pod struct {
	Object
	Ordinal int32
	// IsReady is true if it is Ready now. Trouble is why it is not.
	IsReady bool
	Trouble string
	Times   Times
}

// Times are the moments of a pod's start, by the clock of the destination's cluster. A zero time is not known.
type Times struct {
	Created, Scheduled, Attached, Pulling, Pulled, Started, Ready time.Time
}

// Part is one part of a pod's start.
type Part struct {
	// Name is schedule, attach, pull, start or other.
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
}

// Timing is how long a pod took from its creation until it was Ready.
type Timing struct {
	Pod     string  `json:"pod"`
	Ordinal int32   `json:"ordinal"`
	Seconds float64 `json:"seconds"`
	// Parts add up to Seconds: schedule until a node was chosen, attach until its disks were attached, pull for its
	// images, start from its last container's start until it was Ready, and other for the rest.
	Parts []Part `json:"parts"`
}

// timing returns the parts of a pod's start. A part whose moments are not known is 0, and its time is in other.
func (p Pod) timing() Timing {
	t := p.Times
	parts := []Part{
		{"schedule", between(t.Created, t.Scheduled)},
		{"attach", between(t.Scheduled, t.Attached)},
		{"pull", between(t.Pulling, t.Pulled)},
		{"start", between(t.Started, t.Ready)},
	}
	whole := between(t.Created, t.Ready)
	rest := whole
	for i := range parts {
		// Times of events and conditions have whole seconds, so parts may overlap.
		parts[i].Seconds = min(parts[i].Seconds, rest)
		rest -= parts[i].Seconds
	}
	return Timing{Pod: p.Name, Ordinal: p.Ordinal, Seconds: whole, Parts: append(parts, Part{"other", rest})}
}

// between returns the seconds between two moments; 0 if one is not known or they are in another order.
func between(from, to time.Time) float64 {
	if from.IsZero() || to.IsZero() {
		return 0
	}
	return max(0, to.Sub(from).Seconds())
}

// Verdict is the answer of a health gate in a rehearsal.
type Verdict string

// The verdicts.
const (
	GatePassed Verdict = "Passed"
	GateFailed Verdict = "Failed"
	// GateUnanswered means that there is no answer yet, or that there will be none.
	GateUnanswered Verdict = "Unanswered"
	// GateNotAsked means that a rehearsal does not ask it.
	GateNotAsked Verdict = "NotAsked"
)

// Gate is the answer of a health gate about one pod.
type Gate struct {
	Name    string  `json:"name"`
	Pod     string  `json:"pod,omitempty"`
	Verdict Verdict `json:"verdict"`
	Message string  `json:"message,omitempty"`
}

// settled reports whether another question would have the same answer.
func (g Gate) settled() bool { return g.Verdict == GatePassed || g.Verdict == GateNotAsked }

// ready waits until all pods are Ready.
func (f Facts) ready() Step {
	missing := f.unready()
	switch {
	case missing == "":
		return Step{}
	case f.late():
		message := fmt.Sprintf("%s after %s", missing, f.Ask.Within)
		if f.fuzzy() {
			message += "; its volumes are copies of disks that were written meanwhile, from which not every application recovers, so this says little about the move"
		}
		return f.ends(failed(ReasonNotReady, message, "keep the objects and look at the pods: --keep; give slow starts more time: --ready-within"))
	}
	return Step{Wait: "all pods are Ready: " + missing}
}

// unready names the first pod that is not Ready; empty if all are.
func (f Facts) unready() string {
	for ordinal := f.Ask.Start; ordinal < f.Ask.Start+f.Ask.Replicas; ordinal++ {
		at := slices.IndexFunc(f.Pods, func(p Pod) bool { return p.Ordinal == ordinal })
		switch {
		case at < 0:
			return fmt.Sprintf("pod %s-%d does not exist", f.Ask.Set, ordinal)
		case f.Pods[at].Terminating || !f.Pods[at].IsReady:
			return "pod " + f.Pods[at].Name + " is not Ready" + says(f.Pods[at].Trouble)
		}
	}
	return ""
}

// fuzzy reports whether a volume was copied while it was written.
func (f Facts) fuzzy() bool {
	return slices.ContainsFunc(f.Ask.Clones, func(c ClonePlan) bool { return c.Copied })
}

// late reports whether the pods and gates have used their time.
func (f Facts) late() bool { return f.Now.Sub(f.Set.Created) > f.Ask.Within }

// gates waits until every gate has passed, or the time is over.
func (f Facts) gates() Step {
	for _, g := range f.Gates {
		if !g.settled() && !f.late() {
			return Step{Wait: "gate " + g.Name + " passes for pod " + g.Pod + says(g.Message)}
		}
	}
	return Step{}
}

// conclude records the result.
func (f Facts) conclude() Step {
	if f.Record.Result != nil {
		return f.ends(endOf(*f.Record.Result))
	}
	for _, c := range f.Clones {
		if !c.Volume.Found {
			return Step{Wait: "claim " + named(c.Claim.Ref) + " is bound to a clone"}
		}
	}
	next := f.Record
	next.Result = f.result()
	return Step{Record: &next}
}

// Result is the result of a rehearsal that was carried out.
type Result struct {
	Time    time.Time `json:"time"`
	Outcome Outcome   `json:"outcome"`
	// Destination is that of the move that was rehearsed.
	Destination Place `json:"destination"`
	// Seconds is the median time of a pod from its creation until it was Ready.
	Seconds float64  `json:"seconds"`
	Pods    []Timing `json:"pods"`
	// CloneSeconds is how long it took until all snapshots were ready and all copies made, and RestoreSeconds how long
	// the slowest claim waited for its volume. Both are 0 without clones.
	CloneSeconds   float64 `json:"cloneSeconds"`
	RestoreSeconds float64 `json:"restoreSeconds"`
	// Copied is true if volumes were copied while they were written. Their content is of no single moment.
	Copied bool `json:"copied,omitempty"`
	// CarrySeconds is how long the move is expected to restore the volumes of an ordinal that is down; 0 if it
	// restores none.
	CarrySeconds float64 `json:"carrySeconds,omitempty"`
	// Origin lists the disturbances of the source meanwhile.
	Origin Origin `json:"origin"`
	// Denied lists the addresses that pods did not reach.
	Denied []string `json:"denied"`
	Gates  []Gate   `json:"gates,omitempty"`
}

// Origin lists the disturbances of the source's pods during a rehearsal.
type Origin struct {
	// Pods is how many there were at its beginning.
	Pods int `json:"pods"`
	// Disturbed lists those that were restarted, replaced or not Ready meanwhile, each as a sentence.
	Disturbed []string `json:"disturbed,omitempty"`
}

// Of reports whether this is the result for a move to a StatefulSet. An empty cluster is not known, and not compared.
func (r Result) Of(cluster types.UID, namespace, set string) bool {
	to := r.Destination
	return (cluster == "" || cluster == to.Cluster) && namespace == to.Namespace && set == to.StatefulSet
}

func (f Facts) result() *Result {
	r := &Result{
		Time: f.Now.UTC(), Outcome: Rehearsed, Destination: f.Record.Destination, Gates: f.Gates, Denied: f.Record.Isolation.Denied,
		Copied: f.fuzzy(), Origin: f.Origin,
	}
	var all []float64
	for _, p := range f.Pods {
		t := p.timing()
		r.Pods, all = append(r.Pods, t), append(all, t.Seconds)
	}
	slices.SortFunc(r.Pods, func(a, b Timing) int { return int(a.Ordinal - b.Ordinal) })
	r.Seconds = median(all)
	if f.Record.Cloned != nil {
		r.CloneSeconds = between(f.Record.Isolation.Time.Time, f.Record.Cloned.Time)
	}
	for i, c := range f.Clones {
		if f.Ask.Clones[i].Empty {
			continue
		}
		restored := between(c.Claim.Created, c.Volume.Created)
		r.RestoreSeconds = max(r.RestoreSeconds, restored)
		switch asked := f.Ask.Clones[i]; {
		case !asked.BySnapshot || asked.Copied:
		case asked.WaitsForPod: // the start of the pod includes it
			r.CarrySeconds = max(r.CarrySeconds, r.CloneSeconds)
		default:
			r.CarrySeconds = max(r.CarrySeconds, r.CloneSeconds+restored)
		}
	}
	if slices.ContainsFunc(f.Gates, func(g Gate) bool { return g.Verdict == GateFailed }) {
		r.Outcome = Failed
	}
	return r
}

// endOf returns the end of a rehearsal with a result.
func endOf(r Result) End {
	for _, g := range r.Gates {
		if g.Verdict == GateFailed {
			return failed(ReasonGateFailed, fmt.Sprintf("gate %s has not passed for pod %s: %s", g.Name, g.Pod, g.Message), "the move would wait at this gate; correct the gate, or the cause of its answer")
		}
	}
	return End{Outcome: Rehearsed}
}

// median returns the median of values; 0 if there are none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	values = slices.Sorted(slices.Values(values))
	last := len(values) - 1
	return (values[last/2] + values[len(values)/2]) / 2
}

// Outage returns the outage that a move is expected to have by this result: the start of the pods was measured, and so
// were the snapshots if the move takes some. The other parts are assumed.
func (r Result) Outage() volumes.Outage {
	in := func(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }
	return volumes.Outage{Carry: in(r.CarrySeconds), Start: in(r.Seconds), Rehearsed: len(r.Pods)}
}
