package copy

import (
	"strings"
	"testing"

	"github.com/sliceshift/sliceshift/volumes"
)

// TestServiceTypeChanges: a Service that is not of the type that is asked for any more is made anew, and the sender, which
// was told of the first one, before it; what was copied counts.
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

// TestServiceGoesFirst: a Service that is on its way out is waited for, and is nobody's address.
func TestServiceGoesFirst(t *testing.T) {
	w := until(t, introduced)
	for _, d := range w.entrances {
		d.Terminating = true
	}
	if got := (Copy{}).Transfer(w.Pair()).Waits; !strings.Contains(got, "is gone") || !strings.Contains(got, "Service ") {
		t.Errorf("it waits until: %s", got)
	}
}

// next is what is done next with the ordinal where it is.
func (w *world) next() volumes.Verdict {
	if w.Runs == w.Giver {
		return Copy{}.Ahead(w.Pair())
	}
	return Copy{}.Transfer(w.Pair())
}

// sending are the addresses that senders were told which are not on their way out.
func (w *world) sending() (all []string) {
	for _, name := range w.names() {
		if m := w.movers[name]; m.role != volumes.RoleReceiver && !m.Terminating {
			all = append(all, m.address)
		}
	}
	return all
}
