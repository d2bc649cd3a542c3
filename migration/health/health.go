// Package health checks whether an application is healthy, by an endpoint of a pod, an expression over objects,
// a Prometheus query, or a Job. It asks one question at a time, and writes nothing but the Job that answers it.
// Other packages decide when a question is asked and what its answer means for a migration.
//
// There are four kinds of answers, which are never confused: good, bad, none, and an invalid question. A
// connection that fails is no answer and says nothing about the application.
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

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/internal/shell"
	"github.com/sliceshift/sliceshift/migration/endpoint"
)

// Subject is the subject of a question.
type Subject struct {
	Migration types.NamespacedName
	// MigrationUID distinguishes it from an earlier one of the same name.
	MigrationUID types.UID
	// Side is where the ordinals run, followed by the cluster, namespace and StatefulSet of that side.
	Side                            api.GateSide
	Cluster, Namespace, StatefulSet string
	// Pod is the pod of the ordinal. It is empty, and Ordinal is nil, at the end, when the question is about
	// all ordinals.
	Pod     string
	PodUID  types.UID
	Ordinal *int32
	// Direction is the direction in which the ordinals move.
	Direction string
	Point     api.GatePoint
	// Look is true if the question must have no side effects: a Job is read, but not created.
	Look bool
}

// Verdict is the kind of an answer.
type Verdict string

// The verdicts.
const (
	// Passed means that the answer is good.
	Passed Verdict = "Passed"
	// Failed means that the answer is bad.
	Failed Verdict = "Failed"
	// Pending means that the answer is being determined.
	Pending Verdict = "Pending"
	// Unanswered means that there is no answer.
	Unanswered Verdict = "Unanswered"
	// Invalid means that the question cannot be answered.
	Invalid Verdict = "Invalid"
)

// Answer is the result of a question.
type Answer struct {
	Verdict Verdict
	// Reason is one of the condition reasons that begin with Gate; empty for an answer that has passed.
	Reason string
	// Message has the question, the finding, and the remedy.
	Message string
}

// Asker asks one question each time it is called. It ends with the context, never panics, and writes nothing
// but the one Job of a question, once. It is safe for concurrent use.
type Asker interface {
	Ask(ctx context.Context, s Subject) Answer
}

// Side is one side of a migration.
type Side struct {
	Connection             *clusters.Connection
	Namespace, StatefulSet string
}

// kubectl returns the beginning of a kubectl command for its cluster.
func (s Side) kubectl() shell.Kubectl {
	return endpoint.Endpoint{Cluster: s.Connection.Name(), Flags: s.Connection.Flags()}.Kubectl()
}

// Secrets reads the Secrets of a namespace, without a cache. Kubectl begins a command for their cluster.
type Secrets struct {
	Reader  client.Reader
	Kubectl shell.Kubectl
}

// Sides is where questions are asked.
type Sides struct {
	Source, Destination Side
	// Secrets reads the Secrets of the Migration's namespace.
	Secrets Secrets
	// Addresses restricts the addresses of Prometheus servers.
	Addresses Addresses
}

func (s Sides) at(side api.GateSide) Side {
	if side == api.GateSource {
		return s.Source
	}
	return s.Destination
}

// InvalidError is the reason why a gate cannot be queried with its configuration.
type InvalidError struct {
	// Reason is GateInvalid or GateTooCostly.
	Reason, Message string
}

// Error implements error.
func (e *InvalidError) Error() string { return e.Message }

func refuse(reason, message string) error { return &InvalidError{reason, message} }

// New returns the asker of a gate. It opens no connection, so it can also validate the gate before a migration
// begins. The error is an *InvalidError.
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

// AnswerOf returns the answer for a gate that New has refused.
func AnswerOf(err error) Answer {
	if invalid, is := errors.AsType[*InvalidError](err); is {
		return Answer{Invalid, invalid.Reason, line(invalid.Message)}
	}
	return Answer{Invalid, api.ReasonGateInvalid, line(err.Error())}
}

// checked enforces the guarantees of Asker for any provider and its libraries.
type checked struct{ Asker }

// Ask implements Asker. Some calls ignore the context, such as the discovery of the kinds that an API server
// serves. Those have their own timeouts, and Ask does not wait for them.
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
	case answer := <-answered: // it may have a better explanation
		answer.Message = line(answer.Message)
		return answer
	case <-time.After(grace):
		return because(api.ReasonGateUnanswered, fmt.Sprintf("no answer came in time; see whether cluster %s answers, or raise timeoutSeconds", s.Cluster))
	}
}

// grace is how long to wait for a cancelled question to end.
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

// because returns an answer that is not good, with its reason.
func because(reason, message string) Answer {
	verdict := map[string]Verdict{api.ReasonGateFailed: Failed, api.ReasonGateUnanswered: Unanswered, api.ReasonGatePending: Pending}[reason]
	if verdict == "" {
		verdict = Invalid
	}
	return Answer{verdict, reason, message}
}

// maxMessage is the maximum size of a message in a status, in bytes.
const maxMessage = 1024

// line returns a text of any origin as one line of bounded length.
func line(text string) string {
	return cut(strings.Join(strings.Fields(strings.Map(printable, strings.ToValidUTF8(text, "?"))), " "), maxMessage)
}

func printable(r rune) rune {
	if unicode.IsPrint(r) {
		return r
	}
	return ' '
}

// cut truncates a text to a number of bytes.
func cut(text string, most int) string {
	const more = "..."
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-len(more)], "") + more
}
