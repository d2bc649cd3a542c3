package plan

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// NoOrdinal is the ordinal of a question about the whole application.
const NoOrdinal int32 = -1

// Health is one of the user's gates with its answers.
type Health struct {
	Gate    api.HealthGate
	Answers []Answers
}

// Question identifies one query of a gate. Answers about another pod, or about the ordinal's other direction, do
// not count.
type Question struct {
	Gate  string
	Point api.GatePoint
	Side  SideName
	// Ordinal is NoOrdinal at the end. Pod is the UID of the ordinal's pod; empty: it has none.
	Ordinal   int32
	Pod       types.UID
	Direction api.Direction
}

// Answers holds the answers to a question, as far as they count.
type Answers struct {
	Question
	// Opened is when the question was first asked. Time is when it was last answered; zero: never.
	Opened, Time time.Time
	// Good and Bad count the consecutive good or bad answers: one of them is 0.
	Good, Bad int
	// Reason is the condition reason of the last answer if it was not good. Message is the message of the first
	// answer with this reason.
	Reason, Message string
}

// Heard returns the answers with one more answer added; reason is empty for a good answer. A pending answer counts
// as neither good nor bad.
func (a Answers) Heard(reason, message string, now time.Time) Answers {
	if reason != a.Reason || a.Time.IsZero() {
		a.Message = message
	}
	a.Reason, a.Time = reason, now
	switch reason {
	case "":
		a.Good, a.Bad = a.Good+1, 0
	case api.ReasonGatePending:
		a.Good, a.Bad = 0, 0
	default:
		a.Good, a.Bad = 0, a.Bad+1
	}
	return a
}

// State returns the state of a gate by its answers. A good answer counts until the next answer is due.
func (a Answers) State(gate api.HealthGate, now time.Time) api.GateState {
	switch {
	case a.Good >= gate.Successes() && now.Sub(a.Time) <= gate.Interval()+gate.Timeout():
		return api.GatePassed
	case a.Reason == api.ReasonGateInvalid, a.Reason == api.ReasonGateTooCostly:
		return api.GateInvalid // another query returns the same result
	case a.Bad < gate.Failures():
		return api.GatePending
	case a.Reason == api.ReasonGateUnanswered:
		return api.GateUnanswered
	case a.Reason == api.ReasonGateResultEmpty:
		return api.GateInvalid
	default:
		return api.GateFailed
	}
}
