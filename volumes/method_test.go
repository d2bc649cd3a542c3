package volumes

import (
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// TestMethodOf: without a name a method is the API's default, and one that nobody knows carries
// nothing, whatever it is asked.
func TestMethodOf(t *testing.T) {
	for _, name := range []api.VolumeMethod{"", api.MethodRebind} {
		if _, is := MethodOf(name).(Rebind); !is {
			t.Errorf("%q is %T", name, MethodOf(name))
		}
	}
	unknown, pair := MethodOf("Teleport"), Pair{Fence: fence, Owner: owner, Giver: parked("east"), Taker: empty("west")}
	for what, problem := range map[string]*Problem{
		"Check": unknown.Check(pair), "Free": unknown.Free(pair), "Confirm": unknown.Confirm(pair, ""), "Carried": unknown.Carried(Taken{}),
		"Prepare": unknown.Prepare(pair).Blocked, "Transfer": unknown.Transfer(pair).Blocked, "Settle": unknown.Settle(pair).Blocked,
	} {
		if problem == nil || problem.Reason != ReasonUnknownMethod || !strings.Contains(problem.Message, "Teleport") || !strings.Contains(problem.Remedy, "Rebind") {
			t.Errorf("%s: %+v", what, problem)
		}
	}
	nowhere := fake.NewClientBuilder().Build()
	if _, err := unknown.Apply(t.Context(), Carrier{Giver: nowhere, Taker: nowhere}, Action{Verb: Secure}, pair); err == nil {
		t.Error("it does something")
	}
}

// TestRegisterMethod: what takes another one's name, or has none, is not registered.
func TestRegisterMethod(t *testing.T) {
	for name, register := range map[string]func(){
		"no name":      func() { RegisterMethod("", Rebind{}) },
		"no method":    func() { RegisterMethod("Nothing", nil) },
		"a taken name": func() { RegisterMethod(api.MethodRebind, Rebind{}) },
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
