package planner

import (
	"fmt"
	"slices"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// Reply is an open question to a gate, with the state of the answers.
type Reply struct {
	plan.Answers
	Gate  api.HealthGate
	State api.GateState
	// Holds is false if the gate only warns.
	Holds bool
}

// Replies returns all open questions: what the gates must be asked, and their answers so far. There is none while
// the ordinal in flight is down, since it is started whatever the answers.
func Replies(s plan.Snapshot) []Reply {
	if len(s.Gates) == 0 {
		return nil
	}
	return healthPlanner{viewOf(s)}.open()
}

// Point is a question of a gate, whether open or not.
type Point struct {
	Reply
	// Subject is false if there is nothing to ask about yet.
	Subject bool
	// Open is true if the migration waits for the answer now.
	Open bool
}

// Points returns the questions of all gates at all of their points, gate by gate.
func Points(s plan.Snapshot) []Point {
	p := healthPlanner{viewOf(s)}
	open := Replies(s)
	var all []Point
	for _, health := range s.Gates {
		for _, at := range health.Gate.At {
			question, subject := p.about(at)
			question.Gate = health.Gate.Name
			all = append(all, Point{
				Reply:   Reply{Answers: plan.Answers{Question: question}, Gate: health.Gate, State: api.GatePending, Holds: p.asksToHold(health.Gate)},
				Subject: subject, Open: slices.ContainsFunc(open, func(r Reply) bool { return r.Question == question }),
			})
		}
	}
	return all
}

// about returns the question at a point; false: there is nothing to ask about yet.
func (p healthPlanner) about(at api.GatePoint) (q plan.Question, subject bool) {
	switch at {
	case api.GateBeforeStop:
		k, more := p.next()
		return p.beforeStop(k), more
	case api.GateAfterStart:
		return p.afterStart()
	default:
		return p.atEnd(), true
	}
}

// healthPlanner holds while one of the user's gates has no good answer.
type healthPlanner struct{ *View }

func (p healthPlanner) open() []Reply {
	readable := p.Source.Reach == plan.Seen && p.Destination.Reach == plan.Seen && !p.Destination.Lost
	begun := p.Record.Baseline != nil && p.Record.Completed == "" && p.layout.broken == ""
	if !readable || !begun || p.resting() || p.layout.gap != nil {
		return nil
	}
	var found []Reply
	if k, more := p.next(); more {
		found = p.replies(p.beforeStop(k))
	} else if p.Record.Idle() {
		found = p.replies(p.atEnd())
	}
	if q, arrived := p.afterStart(); arrived {
		if pod, there := p.taker.Pod(q.Ordinal); there && pod.Available(p.Now, max(p.Spec.MinReady, p.taker.Set.MinReady)) {
			found = append(found, p.replies(q)...)
		}
	}
	return slices.DeleteFunc(found, func(r Reply) bool { return r.Gate.Job != nil && !p.mayRun(r) })
}

// mayRun reports whether a gate's Job may run now. A Job is not only an answer: it also prepares the next step. So
// it runs only once everything else allows that step, and not if the step would not wait for it.
func (p healthPlanner) mayRun(r Reply) bool {
	switch {
	case !p.drives() || !r.Holds && !r.Gate.DryRun:
		return false
	case !r.Opened.IsZero():
		return true // it may already run
	case r.Point == api.GateBeforeStop:
		return p.othersLetStop(r.Ordinal) && p.othersPass(r.Question)
	case r.Point == api.GateAtEnd:
		return p.afterStartHold() == nil && p.othersPass(r.Question)
	default:
		return true
	}
}

// drives reports whether this process holds the fences of both slices, so that its writes are accepted.
func (p healthPlanner) drives() bool {
	return p.Engaged && p.Record.Fence != nil && p.Source.Set.Fence == p.fence() && p.Destination.Set.Fence == p.fence()
}

// othersLetStop reports whether an ordinal waits only for the health gates before its stop.
func (p healthPlanner) othersLetStop(k int32) bool {
	return !gatePlanner(p).takesBackDown(k) && gatePlanner(p).gateBut(k, healthBeforeStop) == nil
}

// othersPass reports whether all gates at the point that hold, and run no Job, have passed.
func (p healthPlanner) othersPass(q plan.Question) bool {
	return !slices.ContainsFunc(p.replies(q), func(r Reply) bool {
		return r.Gate.Job == nil && r.Holds && r.State != api.GatePassed
	})
}

func (p healthPlanner) beforeStop(k int32) plan.Question {
	pod, _ := p.giver.Pod(k)
	return plan.Question{Point: api.GateBeforeStop, Side: p.giverName, Ordinal: k, Pod: pod.UID, Direction: p.direction()}
}

// afterStart returns the question about the ordinal that arrived last; false: none has arrived.
func (p healthPlanner) afterStart() (plan.Question, bool) {
	k, arrived := p.layout.nextBack(), p.layout.moved > p.layout.initial
	if p.direction() == api.Back {
		k, arrived = p.layout.nextForward(), p.layout.moved < p.layout.target
	}
	pod, _ := p.taker.Pod(k)
	return plan.Question{Point: api.GateAfterStart, Side: p.takerName, Ordinal: k, Pod: pod.UID, Direction: p.direction()}, arrived
}

func (p healthPlanner) atEnd() plan.Question {
	return plan.Question{Point: api.GateAtEnd, Side: p.takerName, Ordinal: plan.NoOrdinal, Direction: p.direction()}
}

// replies returns the state of all gates at the point of a question.
func (p healthPlanner) replies(q plan.Question) []Reply {
	var found []Reply
	for _, health := range p.Gates {
		gate := health.Gate
		if !slices.Contains(gate.At, q.Point) {
			continue
		}
		q.Gate = gate.Name
		answers := plan.Answers{Question: q}
		if at := slices.IndexFunc(health.Answers, func(a plan.Answers) bool { return a.Question == q }); at >= 0 {
			answers = health.Answers[at]
		}
		found = append(found, Reply{Answers: answers, Gate: gate, State: answers.State(gate, p.Now), Holds: p.asksToHold(gate)})
	}
	return found
}

// asksToHold is false for a gate that only warns, and for every gate during a recovery.
func (p healthPlanner) asksToHold(gate api.HealthGate) bool {
	if gate.DryRun || p.Spec.Mode == api.ModeRecover {
		return false
	}
	return p.direction() == api.Forward || gate.OnRollback == api.GateRollbackHold
}

// beforeStopHold holds while a gate does not allow the ordinal's stop.
func (p healthPlanner) beforeStopHold(k int32) *plan.Hold { return p.hold(p.beforeStop(k)) }

// afterStartHold holds while a gate does not pass for the ordinal that arrived last.
func (p healthPlanner) afterStartHold() *plan.Hold {
	q, arrived := p.afterStart()
	if !arrived {
		return nil
	}
	return p.hold(q)
}

// end holds the irreversible steps that follow once every ordinal has arrived.
func (p healthPlanner) end() *plan.Decision {
	if p.Deleting || p.Destination.Lost {
		return nil
	}
	for _, hold := range []*plan.Hold{p.afterStartHold(), p.hold(p.atEnd())} {
		if hold != nil {
			return &plan.Decision{Hold: hold}
		}
	}
	return nil
}

// hold returns the hold of the first gate that requests a rollback, or else of one that stalls, or else of one
// that has no answer yet.
func (p healthPlanner) hold(q plan.Question) *plan.Hold {
	rank := func(h *plan.Hold) int {
		switch {
		case h == nil:
			return 0
		case h.TurnBack:
			return 3
		case h.Stalled:
			return 2
		default:
			return 1
		}
	}
	var worst *plan.Hold
	for _, reply := range p.replies(q) {
		if !reply.Holds || reply.State == api.GatePassed {
			continue
		}
		if hold := p.holdOf(reply); rank(hold) > rank(worst) {
			worst = hold
		}
	}
	return worst
}

func (p healthPlanner) holdOf(r Reply) *plan.Hold {
	name, gate := p.nameOf(r.Question), r.Gate
	remedy := fmt.Sprintf("fix the cause in its message; to see its present answer: %s; to continue without it, set dryRun: true for it in spec.gates", p.command("gates"))
	switch r.State {
	case api.GateFailed:
		hold := &plan.Hold{Reason: api.ReasonGateFailed, Stalled: true, Remedy: remedy, Message: fmt.Sprintf("%s has failed, %d times in a row: %s", name, gate.Failures(), r.Message)}
		if gate.OnFailure == api.GateFailureRollback && p.Spec.Mode == api.ModeRun {
			hold.TurnBack, hold.By, hold.Remedy = true, "gate "+gate.Name, "no action is needed: the migration is rolled back, because of onFailure of the gate"
		}
		return hold
	case api.GateUnanswered:
		return &plan.Hold{Reason: api.ReasonGateUnanswered, Stalled: true, Remedy: remedy, Message: fmt.Sprintf("%s has not answered, %d times in a row: %s", name, gate.Failures(), r.Message)}
	case api.GateInvalid:
		hold := &plan.Hold{Reason: api.ReasonGateInvalid, Stalled: true, Remedy: remedy, Message: fmt.Sprintf("%s cannot be evaluated: %s", name, r.Message)}
		hold.Reason = r.Reason // or too costly, or without a result
		return hold
	default:
		return p.pending(r, name, remedy)
	}
}

// pending returns the hold of a gate whose result is not known yet. Alternating answers stall after the progress
// deadline.
func (p healthPlanner) pending(r Reply, name, remedy string) *plan.Hold {
	hold := &plan.Hold{Reason: api.ReasonGatePending, Message: "waiting for the first answer of " + name}
	switch {
	case r.Time.IsZero():
	case r.Bad > 0, r.Reason == api.ReasonGatePending:
		hold = &plan.Hold{Reason: api.ReasonGatePending, Message: fmt.Sprintf("waiting for %s, which holds: %s", name, r.Message)}
	case r.Good < r.Gate.Successes():
		hold = &plan.Hold{Reason: api.ReasonGatePending, Message: fmt.Sprintf("waiting for %s: it requires %d good answers in a row", name, r.Gate.Successes())}
	default:
		hold = &plan.Hold{Reason: api.ReasonGatePending, Message: fmt.Sprintf("waiting for %s: its last answer is older than %s", name, r.Gate.Interval()+r.Gate.Timeout())}
	}
	if deadline := p.Spec.Deadline + r.Gate.InitialDelay() + r.Gate.Runs(); !r.Opened.IsZero() && p.Now.Sub(r.Opened) > deadline {
		hold.Stalled, hold.Remedy = true, remedy
		hold.Message += fmt.Sprintf("; the gate has been evaluated for longer than %s", deadline)
	}
	return hold
}

// nameOf names the gate and the subject of a question.
func (p healthPlanner) nameOf(q plan.Question) string {
	side := p.Side(q.Side)
	switch q.Point {
	case api.GateBeforeStop:
		return fmt.Sprintf("gate %s before the stop of pod %s/%s in cluster %s", q.Gate, side.Namespace, plan.PodName(side.Set.Name, q.Ordinal), side.Cluster)
	case api.GateAfterStart:
		return fmt.Sprintf("gate %s after the start of pod %s/%s in cluster %s", q.Gate, side.Namespace, plan.PodName(side.Set.Name, q.Ordinal), side.Cluster)
	default:
		return fmt.Sprintf("gate %s at the end, of %s/%s in cluster %s", q.Gate, side.Namespace, side.Set.Name, side.Cluster)
	}
}
