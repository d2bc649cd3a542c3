// Package health asks whether an application is well: an endpoint of a pod, an expression over objects, a
// query of a Prometheus, a Job. It asks one question at a time, and writes nothing but the Job that is
// to answer it. When a question is asked and what its answers mean for a migration is decided elsewhere.
//
// Four things an answer can be, and they are never taken for each other: it is good, it is bad, there is
// none (a connection that fails says nothing about the application), or the question is wrong.
package health

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/internal/shell"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// Subject is what a question is about.
type Subject struct {
	Migration types.NamespacedName
	// MigrationUID tells it from one that had its name before.
	MigrationUID types.UID
	// Side where it runs, and the cluster, namespace and StatefulSet there.
	Side                            api.GateSide
	Cluster, Namespace, StatefulSet string
	// Pod of the ordinal; empty, and Ordinal nil, at the end, when all are asked about.
	Pod     string
	PodUID  types.UID
	Ordinal *int32
	// Direction in which the ordinals go.
	Direction string
	Point     api.GatePoint
	// Look is true when nothing may come of the question: what has been begun is looked at.
	Look bool
}

// Verdict is what an answer comes to.
type Verdict string

// The verdicts.
const (
	// Passed: the answer is good.
	Passed Verdict = "Passed"
	// Failed: the answer is bad.
	Failed Verdict = "Failed"
	// Pending: it is being worked on.
	Pending Verdict = "Pending"
	// Unanswered: there is none.
	Unanswered Verdict = "Unanswered"
	// Invalid: there can be none to such a question.
	Invalid Verdict = "Invalid"
)

// Answer is what became of a question.
type Answer struct {
	Verdict Verdict
	// Reason is one of those of conditions that begin with Gate; empty for what has passed.
	Reason string
	// Message says what was asked, what was found, and what to do about it.
	Message string
}

// Asker asks one question, as often as it is called. It ends with the context, never panics, and writes
// nothing but the one Job of a question, once. It is safe for concurrent use.
type Asker interface {
	Ask(ctx context.Context, s Subject) Answer
}

// Side is one side of a migration.
type Side struct {
	Connection             *clusters.Connection
	Namespace, StatefulSet string
}

// kubectl begins a command for its cluster.
func (s Side) kubectl() shell.Kubectl {
	return endpoint.Endpoint{Cluster: s.Connection.Name(), Flags: s.Connection.Flags()}.Kubectl()
}

// Secrets are those of a namespace: how they are read, live, and what begins a command for their cluster.
type Secrets struct {
	Reader  client.Reader
	Kubectl shell.Kubectl
}

// Sides is where questions go.
type Sides struct {
	Source, Destination Side
	// Secrets are those of the Migration's namespace.
	Secrets Secrets
	// Addresses are where a Prometheus may be.
	Addresses Addresses
}

func (s Sides) at(side api.GateSide) Side {
	if side == api.GateSource {
		return s.Source
	}
	return s.Destination
}

// InvalidError says why a gate cannot be asked as it is written.
type InvalidError struct {
	// Reason is GateInvalid or GateTooCostly.
	Reason, Message string
}

// Error implements error.
func (e *InvalidError) Error() string { return e.Message }

func refuse(reason, message string) error { return &InvalidError{reason, message} }

// New returns who asks the question of a gate. It connects to nothing, so that it also tells before a
// migration begins whether the gate can be asked. The error is an *InvalidError.
func New(gate api.HealthGate, sides Sides) (Asker, error) {
	asker, err := provider(gate, sides)
	if err != nil {
		return nil, err
	}
	return checked{asker}, nil
}

func provider(gate api.HealthGate, sides Sides) (Asker, error) {
	switch {
	case gate.HTTP != nil:
		return newHTTP(*gate.HTTP, sides)
	case gate.GRPC != nil:
		return &grpcAsker{*gate.GRPC, sides}, nil
	case gate.CEL != nil:
		return newCEL(*gate.CEL, gate.At, sides)
	case gate.Prometheus != nil:
		return newPrometheus(*gate.Prometheus, gate.At, sides)
	case gate.Job != nil:
		return newJob(gate, sides)
	default:
		return nil, refuse(api.ReasonGateInvalid, fmt.Sprintf("gate %s asks nothing: set one of http, grpc, cel, prometheus and job", gate.Name))
	}
}

// AnswerOf is the answer of a gate that New has refused.
func AnswerOf(err error) Answer {
	if invalid, is := errors.AsType[*InvalidError](err); is {
		return Answer{Invalid, invalid.Reason, line(invalid.Message)}
	}
	return Answer{Invalid, api.ReasonGateInvalid, line(err.Error())}
}

// checked keeps to what an Asker promises, whatever a provider and its libraries do.
type checked struct{ Asker }

// Ask implements Asker. Not all that is called on the way is told of the context, as what finds out which kinds
// an API server serves: it has timeouts of its own, and is not waited for.
func (c checked) Ask(ctx context.Context, s Subject) Answer {
	answered := make(chan Answer, 1)
	go func() { answered <- c.recovered(ctx, s) }()
	select {
	case answer := <-answered:
		answer.Message = line(answer.Message)
		return answer
	case <-ctx.Done():
	}
	select {
	case answer := <-answered: // it may say better why there is none
		answer.Message = line(answer.Message)
		return answer
	case <-time.After(grace):
		return because(api.ReasonGateUnanswered, fmt.Sprintf("no answer came in time; see whether cluster %s answers, or raise timeoutSeconds", s.Cluster))
	}
}

// grace is how long is waited for who has been told to end.
const grace = 100 * time.Millisecond

func (c checked) recovered(ctx context.Context, s Subject) (answer Answer) {
	defer func() {
		if cause := recover(); cause != nil {
			answer = because(api.ReasonGateUnanswered, fmt.Sprintf("asking has failed inside of the manager: %v", cause))
		}
	}()
	return c.Asker.Ask(ctx, s)
}

func passed(format string, args ...any) Answer {
	return Answer{Passed, "", fmt.Sprintf(format, args...)}
}

// because is an answer that is not good, by its reason.
func because(reason, message string) Answer {
	verdict := map[string]Verdict{api.ReasonGateFailed: Failed, api.ReasonGateUnanswered: Unanswered, api.ReasonGatePending: Pending}[reason]
	if verdict == "" {
		verdict = Invalid
	}
	return Answer{verdict, reason, message}
}

// maxMessage is what a message in a status may have.
const maxMessage = 1024

// line is a text in one line of bounded length, whoever has written it.
func line(text string) string {
	return cut(strings.Join(strings.Fields(strings.Map(printable, strings.ToValidUTF8(text, "?"))), " "), maxMessage)
}

func printable(r rune) rune {
	if unicode.IsPrint(r) {
		return r
	}
	return ' '
}

// cut ends a text before it is longer than so many bytes.
func cut(text string, most int) string {
	const more = "..."
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-len(more)], "") + more
}
