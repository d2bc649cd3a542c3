package health

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters/clustertest"
)

// web2 is the pod of ordinal 2, after it has started at the destination.
var web2 = Subject{
	Migration: types.NamespacedName{Namespace: "shop", Name: "web"}, Side: api.GateDestination, Cluster: "east", Namespace: "shop",
	StatefulSet: "web", Pod: "web-2", PodUID: "2", Ordinal: new(int32(2)), Direction: "Forward", Point: api.GateAfterStart,
}

// atEnd is the subject after all ordinals have arrived.
var atEnd = Subject{
	Migration: types.NamespacedName{Namespace: "shop", Name: "web"}, Side: api.GateDestination, Cluster: "east", Namespace: "shop",
	StatefulSet: "web", Direction: "Forward", Point: api.GateAtEnd,
}

// sidesOf returns a migration to the cluster of an API server.
func sidesOf(t testing.TB, server *clustertest.Pods) Sides {
	t.Helper()
	side := Side{server.Connect(t), "shop", "web"}
	return Sides{Source: side, Destination: side, Addresses: Addresses{Any: true}}
}

// want is an expected answer: its verdict and reason, and parts of its message.
type want struct {
	verdict Verdict
	reason  string
	says    []string
	hides   string
}

// without adds a text that the message must not contain.
func (w want) without(hides string) want { w.hides = hides; return w }

func good(says ...string) want        { return want{Passed, "", says, ""} }
func bad(says ...string) want         { return want{Failed, api.ReasonGateFailed, says, ""} }
func none(says ...string) want        { return want{Unanswered, api.ReasonGateUnanswered, says, ""} }
func wrong(says ...string) want       { return want{Invalid, api.ReasonGateInvalid, says, ""} }
func tooDear(says ...string) want     { return want{Invalid, api.ReasonGateTooCostly, says, ""} }
func emptyHanded(says ...string) want { return want{Invalid, api.ReasonGateResultEmpty, says, ""} }

func (w want) check(t *testing.T, got Answer) {
	t.Helper()
	if got.Verdict != w.verdict || got.Reason != w.reason {
		t.Errorf("got %s (%s): %s\nwant %s (%s)", got.Verdict, got.Reason, got.Message, w.verdict, w.reason)
	}
	for _, text := range w.says {
		if !strings.Contains(got.Message, text) {
			t.Errorf("%q does not say %q", got.Message, text)
		}
	}
	if w.hides != "" && strings.Contains(got.Message, w.hides) {
		t.Errorf("it says %q: %s", w.hides, got.Message)
	}
	if len(got.Message) > maxMessage || strings.ContainsAny(got.Message, "\n\t\x00") {
		t.Errorf("the message is too long, or not one line: %q", got.Message)
	}
}

// ask returns the answer of a gate, whether New refuses it or not.
func ask(ctx context.Context, t *testing.T, gate api.HealthGate, sides Sides, s Subject) Answer {
	t.Helper()
	asker, err := New(gate, sides)
	if err != nil {
		if _, is := errors.AsType[*InvalidError](err); !is || asker != nil {
			t.Errorf("New returns %v, %v", asker, err)
		}
		return AnswerOf(err)
	}
	return asker.Ask(ctx, s)
}

// shortly returns a context that ends before any answer.
func shortly(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

// TestNothingAsked: a gate without a known provider is invalid.
func TestNothingAsked(t *testing.T) {
	t.Parallel()
	wrong("gate a asks nothing").check(t, ask(t.Context(), t, api.HealthGate{Name: "a"}, Sides{}, web2))
}

type panics struct{}

func (panics) Ask(context.Context, Subject) Answer { panic("oh\nno") }

// TestPanic: if a library panics, the manager continues, and the gate does not pass.
func TestPanic(t *testing.T) {
	t.Parallel()
	none("oh no").check(t, checked{panics{}}.Ask(t.Context(), web2))
}
