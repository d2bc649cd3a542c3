package methods

import (
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// TestOf: an empty name gives the API's default method, and an unknown name gives one that carries nothing.
func TestOf(t *testing.T) {
	for _, name := range []api.VolumeMethod{"", api.MethodRebind} {
		if _, is := Of(name).(volumes.Rebind); !is {
			t.Errorf("%q is %T", name, Of(name))
		}
	}
	unknown, pair := Of("Teleport"), volumes.Pair{Fence: "migration.1", Owner: "migration"}
	check := func(at volumes.Moment) *volumes.Reason {
		refused, _ := unknown.Check(pair, at)
		return refused
	}
	for what, problem := range map[string]*volumes.Reason{
		"Check": check(volumes.BeforeMove), "before the stop": check(volumes.BeforeStop), "after the stop": check(volumes.AfterStop), "after the arrival": check(volumes.AfterArrival),
		"Prepare": unknown.Prepare(pair).Hold, "Transfer": unknown.Transfer(pair).Hold, "Settle": unknown.Settle(pair).Hold,
	} {
		if problem == nil || problem.Reason != volumes.ReasonUnknownMethod || !strings.Contains(problem.Message, "Teleport") || !strings.Contains(problem.Remedy, "Rebind") {
			t.Errorf("%s: %+v", what, problem)
		}
	}
	if facts := unknown.Facts(); facts.Separate || facts.Fills != nil || !unknown.Ahead(pair, volumes.Warm).Done() {
		t.Errorf("it works while the ordinal runs: %+v", facts)
	}
	nowhere := fake.NewClientBuilder().Build()
	if _, err := Write(t.Context(), volumes.Carrier{Giver: nowhere, Taker: nowhere}, volumes.Action{Verb: "Shred"}, pair); err == nil {
		t.Error("it does something")
	}
}

// TestGoals: a method without work before Transfer has nothing to do for any goal. Only a method that fills volumes
// while the ordinal runs says so.
func TestGoals(t *testing.T) {
	pair := volumes.Pair{Fence: "migration.1", Owner: "migration"}
	for name, want := range map[api.VolumeMethod][]volumes.Goal{
		api.MethodRebind: nil, api.MethodEmpty: nil, api.MethodSnapshot: {volumes.Filled}, api.MethodCopy: {volumes.Claimed, volumes.Warm, volumes.Standby, volumes.Filled},
	} {
		method := Of(name)
		for goal := volumes.Claimed; goal <= volumes.Dropped; goal++ {
			if works := !method.Ahead(pair, goal).Done(); works != slices.Contains(want, goal) {
				t.Errorf("%s: goal %d: work: %t", name, goal, works)
			}
		}
		if fills := method.Facts().Fills; (fills != nil) != slices.Contains(want, volumes.Warm) || fills != nil && !fills(pair) {
			t.Errorf("%s: it does not say whether it fills volumes while the ordinal runs", name)
		}
		if method.Facts().Separate == (name == api.MethodRebind) {
			t.Errorf("%s: separate volumes: %t", name, method.Facts().Separate)
		}
	}
}

// TestRegister: a method without a name, or with a name that is taken, is not registered.
func TestRegister(t *testing.T) {
	for name, register := range map[string]func(){
		"no name":      func() { Register("", volumes.Rebind{}) },
		"no method":    func() { Register("Nothing", nil) },
		"a taken name": func() { Register(api.MethodRebind, volumes.Rebind{}) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("it is registered")
				}
			}()
			register()
		})
	}
}
