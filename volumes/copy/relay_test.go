package copy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// TestRelays: the two movers are connected that know each other, run, and listen for a relay.
func TestRelays(t *testing.T) {
	begun := func(w *world) *world {
		w.relayed = true
		return w
	}
	for name, so := range map[string]func(*world) bool{
		"while the ordinal runs": func(w *world) bool {
			seen := begun(w).Pair().Copy
			return seen.Receiver.Peer != "" && seen.Warm.Peer != ""
		},
		"when it was stopped": func(w *world) bool { return introduced(begun(w)) },
	} {
		t.Run(name, func(t *testing.T) {
			w := until(t, so)
			pair := w.Pair()
			role, reads := volumes.RoleSender, pair.Copy.Sender
			if pair.Copy.Warm.Peer != "" {
				role, reads = volumes.RoleWarm, pair.Copy.Warm
			}
			from, to, due := Relays(pair)
			ends := []End{
				{Ref: volumes.Ref{Namespace: pair.Giver.Ref.Namespace, Name: PodName(role, pair.Giver.Ref, owner, w.Record.Number)}, UID: reads.UID, Warm: role == volumes.RoleWarm},
				{Ref: volumes.Ref{Namespace: pair.Taker.Ref.Namespace, Name: PodName(volumes.RoleReceiver, pair.Taker.Ref, owner, w.Record.Number)}, UID: pair.Copy.Receiver.UID},
			}
			if diff := cmp.Diff(ends, []End{from, to}); !due || diff != "" {
				t.Errorf("due: %v (-want +got):\n%s", due, diff)
			}
			if len(w.entrances) > 0 {
				t.Errorf("a Service was made for who is reached through the API server: %v", w.entrances)
			}
			for name, change := range map[string]func(*volumes.Mover){
				"ended":            func(m *volumes.Mover) { m.Ended = true },
				"gone":             func(m *volumes.Mover) { *m = volumes.Mover{} },
				"goes":             func(m *volumes.Mover) { m.Terminating = true },
				"of somebody else": func(m *volumes.Mover) { m.Foreign = true },
				"told of nobody":   func(m *volumes.Mover) { m.Peer = "" },
				"of another peer":  func(m *volumes.Mover) { m.Peer = "another key" },
				"reached directly": func(m *volumes.Mover) { m.Relayed = false },
			} {
				seen := *pair.Copy
				change(&seen.Receiver)
				pair := pair
				pair.Copy = &seen
				if _, _, due := Relays(pair); due {
					t.Errorf("a receiver that is %s is relayed to", name)
				}
			}
		})
	}
}

// TestTransportChanges: movers with another transport than the requested one are recreated, and their copied
// data count.
func TestTransportChanges(t *testing.T) {
	w := untilIn(t, attached, introduced)
	attempt := w.Pair().Copy.Attempt.Number
	w.relayed = true
	verdict := Copy{}.Transfer(w.Pair())
	if verdict.Action == nil || verdict.Action.Verb != volumes.DeleteMover {
		t.Fatalf("got %+v", verdict)
	}
	for range 300 {
		w.Step(t)
		if seen := w.Pair().Copy; introduced(w) && seen.Receiver.Relayed && seen.Sender.Relayed {
			if seen.Attempt.Number != attempt {
				t.Errorf("it is attempt %d, and was %d", seen.Attempt.Number, attempt)
			}
			return
		}
	}
	t.Error("no movers that are relayed know each other")
}

// TestRelaySaid: before anything is copied, the user is warned about a relay. While it does not connect, the
// reason is reported.
func TestRelaySaid(t *testing.T) {
	w := untilIn(t, attached, introduced)
	pair := w.Pair()
	pair.Copy.Asked.Transport, pair.Copy.Asked.Needed, pair.Template = api.TransportRelay, 10<<30, "data"
	pair.Copy.Asked.Warm = api.CopyWarmNone
	warnings := warned(pair)
	if len(warnings) != 1 || warnings[0].Reason != volumes.ReasonCopyRelayed {
		t.Fatalf("got %+v", warnings)
	}
	for _, want := range []string{"claim template data", "10Mi a second", "takes 17m4s", "10Gi"} {
		if !strings.Contains(warnings[0].Message, want) {
			t.Errorf("want %q in: %s", want, warnings[0].Message)
		}
	}
	pair.Copy.Receiver.Relayed, pair.Copy.Sender.Relayed = true, true
	pair.Copy.RelayTrouble = "the sender: cluster east: forbidden"
	if got := (Copy{}).Transfer(pair).Waits; !strings.Contains(got, "the relay does not connect them: the sender: cluster east: forbidden") {
		t.Errorf("it waits until: %s", got)
	}
	pair.Copy.Asked.Transport = api.TransportDirect
	if warnings := warned(pair); len(warnings) != 0 {
		t.Errorf("without a relay: %+v", warnings)
	}
}

// warned returns the warnings before a move.
func warned(pair volumes.Pair) []volumes.Reason {
	_, warnings := (Copy{}).Check(pair, volumes.BeforeMove)
	return warnings
}
