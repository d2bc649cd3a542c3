package copy

import (
	"strings"
	"testing"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// TestServiceTypeChanges: a Service of a type that is no longer the requested one is recreated. The sender with
// the address of the first is deleted before that. Data already copied count.
func TestServiceTypeChanges(t *testing.T) {
	for name, so := range map[string]func(*world) bool{
		"while the ordinal runs": func(w *world) bool { return w.Pair().Copy.Warm.Peer != "" },
		"when it was stopped":    introduced,
	} {
		t.Run(name, func(t *testing.T) {
			w := until(t, so)
			attempt := w.Pair().Copy.Attempt.Number
			w.kind, w.mute = "load balancer ", true
			for range 300 {
				verdict := w.next()
				if a := verdict.Action; a != nil && a.Verb == volumes.DeleteEntrance && len(w.sending()) > 0 {
					t.Fatalf("the Service is deleted while %s is told to send to it", w.sending())
				}
				w.Step(t)
				if told := w.sending(); len(told) > 0 && !strings.Contains(strings.Join(told, " "), "balancer") {
					continue
				} else if seen := w.Pair().Copy; len(told) > 0 && (seen.Warm.Peer != "" || seen.Sender.Peer != "") {
					if seen.Attempt.Number != attempt {
						t.Errorf("it is attempt %d, and was %d", seen.Attempt.Number, attempt)
					}
					return
				}
			}
			t.Errorf("no sender was told of the new Service: %+v", w.Pair().Copy)
		})
	}
}

// TestServiceGoesFirst: a Service that is being deleted is awaited, and its address is not used.
func TestServiceGoesFirst(t *testing.T) {
	w := untilIn(t, attached, introduced)
	for _, d := range w.entrances {
		d.Leaving = w.Now
	}
	if got := (Copy{}).Transfer(w.Pair()).Waits; !strings.Contains(got, "is deleted") || !strings.Contains(got, "Service ") {
		t.Errorf("it waits until: %s", got)
	}
}

// next returns the next step for the ordinal where it is.
func (w *world) next() volumes.Verdict {
	if w.Runs == w.Giver {
		return Copy{}.Ahead(w.Pair(), volumes.Warm)
	}
	return Copy{}.Transfer(w.Pair())
}

// sending returns the addresses of the senders that are not being deleted.
func (w *world) sending() (all []string) {
	for _, name := range w.names() {
		if m := w.movers[name]; m.role != volumes.RoleReceiver && !m.Terminating {
			all = append(all, m.address)
		}
	}
	return all
}

// TestServiceThatCannotBeHad: a Service is not replaced by an exported one if the cluster does not serve
// exports. The copy in progress continues.
func TestServiceThatCannotBeHad(t *testing.T) {
	pair := untilIn(t, attached, introduced).Pair()
	pair.Copy.Entrance.Other, pair.Copy.Asked.Export = true, true
	if got := (Copy{}).Transfer(pair); got.Hold == nil || got.Hold.Reason != api.ReasonExportUnsupported {
		t.Errorf("got %+v", got)
	}
	pair.Copy.Asked.ExportVersion = "v1beta1"
	if got := (Copy{}).Transfer(pair); got.Action == nil || got.Action.Verb != volumes.DeleteMover {
		t.Errorf("once it is served: %+v", got)
	}
}

// TestH7MoverThatStays: the wait for a mover that is being deleted names the finalizers that keep it.
func TestH7MoverThatStays(t *testing.T) {
	for role, of := range map[volumes.Role]func(*volumes.Copying) *volumes.Mover{
		volumes.RoleSender: func(c *volumes.Copying) *volumes.Mover { return &c.Sender }, volumes.RoleReceiver: func(c *volumes.Copying) *volumes.Mover { return &c.Receiver },
	} {
		pair := untilIn(t, attached, introduced).Pair()
		seen := *pair.Copy
		of(&seen).Terminating, of(&seen).Keeps = true, []string{"example.com/audit", "example.com/bill"}
		pair.Copy = &seen
		if got := (Copy{}).Transfer(pair).Waits; !strings.Contains(got, string(role)+" pod ") || !strings.Contains(got, "the finalizers example.com/audit, example.com/bill keep it") {
			t.Errorf("%s: got %q", role, got)
		}
	}
}

// TestServiceThatStays: a Service that is not deleted in time is reported as the obstacle of a pass, with its
// finalizers.
func TestServiceThatStays(t *testing.T) {
	pair := until(t, func(w *world) bool { return w.Pair().Copy.Incoming.Claim.Found && w.Runs == w.Giver }).Pair()
	seen := *pair.Copy
	seen.Receiver, seen.Warm = volumes.Mover{}, volumes.Mover{}
	seen.Entrance = volumes.Entrance{Found: true, Leaving: seen.Now, Keeps: []string{"example.com/balancer"}}
	seen.Now = seen.Now.Add(unmounted)
	pair.Copy = &seen
	if got := (Copy{}).Ahead(pair, volumes.Warm); got.Attempt == nil || !strings.Contains(got.Attempt.Warm.Trouble, "is not deleted: the finalizers example.com/balancer keep it") {
		t.Errorf("got %+v", got)
	}
}

// TestAskedAddress: if the user sets the receiver's address, the address of its Service is not awaited.
func TestAskedAddress(t *testing.T) {
	pair := untilIn(t, attached, introduced).Pair()
	seen := *pair.Copy
	seen.Entrance.Address, seen.Sender = "", volumes.Mover{}
	seen.Receiver.Peer = ""
	pair.Copy = &seen
	if got := (Copy{}).Transfer(pair); !strings.Contains(got.Waits, "has an address") {
		t.Errorf("without any: %+v", got)
	}
	seen.Asked.Address = "gateway.example:8722"
	if got := (Copy{}).Transfer(pair); got.Action == nil || got.Action.Verb != volumes.CreateMover || got.Action.Copy.Address != seen.Asked.Address {
		t.Errorf("with one: %+v", got)
	}
}
