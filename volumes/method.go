package volumes

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// Method is one way to carry the data of a claim from the giver to the taker. All but Apply are
// pure: the same pair, the same answer. A Verdict is asked for again and again, until it is done;
// in between anything may have happened, a crash of this process included.
type Method interface {
	// Separate says whether each side has a volume of its own, also in one cluster: the one that an
	// ordinal has left is kept then.
	Separate() bool
	// Check returns why the pair cannot be moved, or nil. It is asked before anything is changed.
	Check(pair Pair) *Problem
	// Free returns why the taker's place is taken, or nil. It is asked before the ordinal is stopped.
	Free(pair Pair) *Problem
	// Prepare does what can be done while the ordinal still runs at the giver, and must be done
	// before it is stopped.
	Prepare(pair Pair) Verdict
	// Confirm returns why what the giver has may not be what the ordinal was stopped with, or nil.
	// disk is what was recorded of it then; empty: nothing.
	Confirm(pair Pair, disk string) *Problem
	// Transfer brings the data to the taker. It is asked when the giver's pod and the attachments
	// of its volumes are gone. When it is done the ordinal is started at the taker.
	Transfer(pair Pair) Verdict
	// Carried returns why an ordinal that has moved is not known to be on its data, or nil.
	Carried(taken Taken) *Problem
	// Settle leaves the taker's volume as its author had it, once no ordinal is left to move.
	Settle(pair Pair) Verdict
	// AtGiver says whether an action of this verb is done in the giver's cluster.
	AtGiver(verb Verb) bool
	// Apply does one action: exactly one write, refused by the API server when the object has
	// changed since pair was observed. It returns the object as it was written.
	Apply(ctx context.Context, c Carrier, action Action, pair Pair) (client.Object, error)
}

// Warner is a method that a person should know something of before it is used.
type Warner interface {
	// Warn says what.
	Warn(template string) *Problem
}

var methods = map[api.VolumeMethod]Method{api.MethodRebind: Rebind{}, api.MethodEmpty: Empty{}}

// RegisterMethod makes a method known. It is for the start of a program: a name that is taken is a
// mistake in it, and panics.
func RegisterMethod(name api.VolumeMethod, method Method) {
	if _, taken := methods[name]; taken || name == "" || method == nil {
		panic(fmt.Sprintf("volume method %q cannot be registered", name))
	}
	methods[name] = method
}

// Methods are the names of all methods, in order.
func Methods() []api.VolumeMethod { return slices.Sorted(maps.Keys(methods)) }

// MethodOf is the method of that name; Rebind, the API's default, without one. Of a name that this
// program does not know it is a method that carries nothing and says so.
func MethodOf(name api.VolumeMethod) Method {
	if name == "" {
		return Rebind{}
	}
	if method, known := methods[name]; known {
		return method
	}
	return unknown(name)
}

// unknown is the name of a method that this program does not know, of a newer version perhaps.
type unknown string

func (u unknown) problem() *Problem {
	known := make([]string, len(methods))
	for i, name := range Methods() {
		known[i] = string(name)
	}
	return &Problem{
		ReasonUnknownMethod,
		fmt.Sprintf("this version knows no way to carry a volume that is called %q", string(u)),
		"use one of " + strings.Join(known, ", ") + " in spec.volumes, or the version that was asked for",
	}
}

func (unknown) Separate() bool                  { return false }
func (u unknown) Check(Pair) *Problem           { return u.problem() }
func (u unknown) Free(Pair) *Problem            { return u.problem() }
func (u unknown) Confirm(Pair, string) *Problem { return u.problem() }
func (u unknown) Carried(Taken) *Problem        { return u.problem() }
func (u unknown) Prepare(Pair) Verdict          { return blocked(u.problem()) }
func (u unknown) Transfer(Pair) Verdict         { return blocked(u.problem()) }
func (u unknown) Settle(Pair) Verdict           { return blocked(u.problem()) }
func (unknown) AtGiver(Verb) bool               { return false }

func (u unknown) Apply(context.Context, Carrier, Action, Pair) (client.Object, error) {
	return nil, fmt.Errorf("unknown volume method %q", string(u))
}
