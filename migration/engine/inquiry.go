package engine

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/health"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
)

// inquiriesAtOnce is the number of unanswered questions that one Migration may have at once.
const inquiriesAtOnce = 8

// askers creates the client of a gate. An error describes the fault in the gate's configuration.
type askers func(api.HealthGate) (health.Asker, error)

// inquiries queries the health gates of one Migration repeatedly for the answers that the plan needs, and keeps
// an answer while it is needed. A new process starts with no answers. It is safe for concurrent use.
type inquiries struct {
	clock  clock.Clock
	askers askers
	// notify is called when a gate's state has changed.
	notify func()
	places chan struct{}

	mu    sync.Mutex
	gates map[string]*inquired
}

// inquired is one gate with its open questions.
type inquired struct {
	gate      api.HealthGate
	asker     health.Asker
	questions map[plan.Question]*inquiry
}

// inquiry is one question that is asked repeatedly.
type inquiry struct {
	answers plan.Answers
	stop    context.CancelFunc
}

// newInquiries returns inquiries without a question. Without askers or notify, no gate is ever queried and none
// passes.
func newInquiries(passive clock.PassiveClock, makes askers, notify func()) *inquiries {
	timed, ticks := passive.(clock.Clock)
	if !ticks {
		timed = clock.RealClock{}
	}
	return &inquiries{clock: timed, askers: makes, notify: notify, places: make(chan struct{}, inquiriesAtOnce), gates: map[string]*inquired{}}
}

// known returns the answers of the gates.
func (q *inquiries) known(gates []api.HealthGate) []plan.Health {
	q.mu.Lock()
	defer q.mu.Unlock()
	var all []plan.Health
	for _, gate := range gates {
		health := plan.Health{Gate: gate}
		if found := q.gates[gate.Name]; found != nil && reflect.DeepEqual(found.gate, gate) {
			for _, each := range found.questions {
				health.Answers = append(health.Answers, each.answers)
			}
		}
		all = append(all, health)
	}
	return all
}

// want opens the questions that a snapshot needs, and closes all others.
func (q *inquiries) want(s plan.Snapshot) {
	if q.askers == nil || q.notify == nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	wanted := map[plan.Question]bool{}
	for _, reply := range planner.Replies(s) {
		wanted[reply.Question] = true
		q.open(reply, subjectOf(s, reply.Question))
	}
	for name, found := range q.gates {
		for question, each := range found.questions {
			if !wanted[question] {
				each.stop()
				delete(found.questions, question)
			}
		}
		if len(found.questions) == 0 {
			delete(q.gates, name)
		}
	}
}

// open starts to ask a question unless it is already open. A changed gate starts again.
func (q *inquiries) open(reply planner.Reply, subject health.Subject) {
	found := q.gates[reply.Question.Gate]
	if found == nil || !reflect.DeepEqual(found.gate, reply.Gate) {
		found.close()
		found = &inquired{gate: reply.Gate, asker: q.askerOf(reply.Gate), questions: map[plan.Question]*inquiry{}}
		q.gates[reply.Question.Gate] = found
	}
	if found.questions[reply.Question] != nil {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	opened := &inquiry{answers: plan.Answers{Question: reply.Question, Opened: q.clock.Now()}, stop: stop}
	found.questions[reply.Question] = opened
	delay := reply.Gate.InitialDelay()
	if reply.Point == api.GateBeforeStop {
		delay = 0
	}
	go q.ask(ctx, found, opened, subject, delay)
}

// askerOf returns the client of a gate, or one that returns the error of its configuration.
func (q *inquiries) askerOf(gate api.HealthGate) health.Asker {
	asker, err := q.askers(gate)
	if err != nil {
		return wrong{err}
	}
	return asker
}

// fault returns why a gate cannot be queried with its configuration; nil if it can be.
func (q *inquiries) fault(gate api.HealthGate) *health.Answer {
	_, err := q.askers(gate)
	if err == nil {
		return nil
	}
	answer := health.AnswerOf(err)
	return &answer
}

// wrong is the client of a gate that cannot be queried.
type wrong struct{ error }

// Ask returns the error as an answer.
func (w wrong) Ask(context.Context, health.Subject) health.Answer { return health.AnswerOf(w.error) }

// ask repeats a question until ctx ends, first after a delay and then at the gate's interval.
func (q *inquiries) ask(ctx context.Context, of *inquired, opened *inquiry, subject health.Subject, delay time.Duration) {
	for q.sleep(ctx, delay) {
		select {
		case q.places <- struct{}{}:
		case <-ctx.Done():
			return
		}
		answer := askOnce(ctx, of.asker, of.gate, subject)
		<-q.places
		if ctx.Err() != nil {
			return
		}
		if q.hear(of, opened, answer) {
			q.notify()
		}
		delay = of.gate.Interval()
	}
}

// sleep waits for d. It returns false if ctx ends first.
func (q *inquiries) sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := q.clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C():
		return true
	}
}

// hear records an answer, and reports whether it changes the gate's reason or state.
func (q *inquiries) hear(of *inquired, opened *inquiry, answer health.Answer) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	now, before := q.clock.Now(), opened.answers
	opened.answers = before.Heard(answer.Reason, answer.Message, now)
	return before.Time.IsZero() || before.Reason != opened.answers.Reason || before.State(of.gate, now) != opened.answers.State(of.gate, now)
}

// close stops all questions.
func (q *inquiries) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, found := range q.gates {
		found.close()
	}
	clear(q.gates)
}

func (g *inquired) close() {
	if g == nil {
		return
	}
	for _, each := range g.questions {
		each.stop()
	}
}

// askOnce queries one gate within its timeout. Any answer that has not passed gets a reason.
func askOnce(ctx context.Context, asker health.Asker, gate api.HealthGate, subject health.Subject) health.Answer {
	ctx, cancel := context.WithTimeout(ctx, gate.Timeout())
	defer cancel()
	answer := asker.Ask(ctx, subject)
	switch answer.Verdict {
	case health.Passed:
		answer.Reason = ""
	case health.Failed:
		answer.Reason = cmp.Or(answer.Reason, api.ReasonGateFailed)
	case health.Invalid:
		answer.Reason = cmp.Or(answer.Reason, api.ReasonGateInvalid)
	default:
		answer.Reason = cmp.Or(answer.Reason, api.ReasonGateUnanswered)
	}
	if answer.Reason == api.ReasonGateUnanswered && ctx.Err() != nil {
		answer.Message = fmt.Sprintf("no answer within %s: %s", gate.Timeout(), answer.Message)
	}
	return answer
}

// subjectOf returns the subject of a question for the gate's client.
func subjectOf(s plan.Snapshot, q plan.Question) health.Subject {
	side, name := s.Side(q.Side), api.GateSource
	if q.Side == plan.DestinationSide {
		name = api.GateDestination
	}
	subject := health.Subject{
		Migration: types.NamespacedName{Namespace: s.Migration.Namespace, Name: s.Migration.Name}, MigrationUID: s.UID,
		Side: name, Cluster: side.Cluster, Namespace: side.Namespace, StatefulSet: side.Set.Name, Direction: string(q.Direction), Point: q.Point,
	}
	if q.Ordinal != plan.NoOrdinal {
		subject.Ordinal, subject.Pod, subject.PodUID = new(q.Ordinal), plan.PodName(side.Set.Name, q.Ordinal), q.Pod
	}
	return subject
}
