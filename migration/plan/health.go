package plan

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// NoOrdinal is the ordinal of a question that is about the whole application.
const NoOrdinal int32 = -1

// Health is one of the user's gates, with what it has answered.
type Health struct {
	Gate    api.HealthGate
	Answers []Answers
}

// Question is what a gate is asked about. What was answered of another pod, or on the other way of
// an ordinal, does not count.
type Question struct {
	Gate  string
	Point api.GatePoint
	Side  SideName
	// Ordinal is NoOrdinal at the end. Pod is the UID of its pod; empty: it has none.
	Ordinal   int32
	Pod       types.UID
	Direction api.Direction
}

// Answers are what a question was answered, as far as it counts.
type Answers struct {
	Question
	// Opened is since when it is asked, and Time is when it was last answered; zero: never.
	Opened, Time time.Time
	// Good and Bad are how many answers in a row were good or not: one of them is 0.
	Good, Bad int
	// Reason says why the last one was not good: that of a condition; Message is what the first
	// with this reason said.
	Reason, Message string
}

// Heard is what counts once one more answer has come; reason is empty for a good one. One that is being
// worked on is neither good nor bad.
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

// State is where a gate is by what it has answered. A good answer counts until the next one would
// have come.
func (a Answers) State(gate api.HealthGate, now time.Time) api.GateState {
	switch {
	case a.Good >= gate.Successes() && now.Sub(a.Time) <= gate.Interval()+gate.Timeout():
		return api.GatePassed
	case a.Reason == api.ReasonGateInvalid, a.Reason == api.ReasonGateTooCostly:
		return api.GateInvalid // asking again changes nothing
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
