package planner

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/copy"
)

// TestRelays: the movers to connect are those that both sides show, each in its cluster. Nothing is concluded from
// movers that were not read.
func TestRelays(t *testing.T) {
	relayed := func(a *api.CopyAttempt, c *volumes.Copying) {
		reading(a, c)
		c.Asked.Transport = api.TransportRelay
		for _, m := range []*volumes.Mover{&c.Receiver, &c.Warm} {
			m.Relayed = true
		}
		c.Receiver.Key, c.Receiver.Peer, c.Warm.Key, c.Warm.Peer = "r", "w", "w", "r"
	}
	from := func(changes ...func(*plan.Snapshot)) plan.Snapshot {
		return midway(append([]func(*plan.Snapshot){unbudgeted, sends(2), byCopy(relayed)}, changes...)...).Snapshot
	}
	s := from()
	owner, giver, taker := s.UID, volumes.Ref{}, volumes.Ref{}
	for _, v := range s.Volumes {
		if v.Ordinal == 2 {
			giver, taker = v.Source.Ref, v.Destination.Ref
		}
	}
	want := []plan.Relay{{
		Ordinal: 2, Template: "data", Ahead: true,
		Sender:   plan.RelayEnd{Side: plan.SourceSide, Namespace: giver.Namespace, Name: copy.PodName(volumes.RoleWarm, giver, owner, 7), UID: "w"},
		Receiver: plan.RelayEnd{Side: plan.DestinationSide, Namespace: taker.Namespace, Name: copy.PodName(volumes.RoleReceiver, taker, owner, 7), UID: "r"},
	}}
	got, known := Relays(s)
	if diff := cmp.Diff(want, got); diff != "" || !known {
		t.Errorf("known: %v (-want +got):\n%s", known, diff)
	}
	turned, known := Relays(from(inMode(api.ModeRollback)))
	if diff := cmp.Diff(want, turned); diff != "" || !known {
		t.Errorf("when the move has turned round, known: %v (-want +got):\n%s", known, diff)
	}
	for name, change := range map[string]func(*plan.Snapshot){
		"nothing is on its way":          func(s *plan.Snapshot) { s.Record.Handoff = nil },
		"the migration has not begun":    func(s *plan.Snapshot) { s.Record = plan.Record{} },
		"nothing is known of the movers": byCopy(begunCopy),
	} {
		if got, known := Relays(from(change)); !known || len(got) > 0 {
			t.Errorf("%s: known: %v, %+v", name, known, got)
		}
	}
	for name, change := range map[string]func(*plan.Snapshot){
		"a side does not answer": func(s *plan.Snapshot) { s.Destination.Reach = plan.Unreachable },
		"no volume was read":     func(s *plan.Snapshot) { s.Focused, s.VolumesRead = true, false },
	} {
		if got, known := Relays(from(change)); known {
			t.Errorf("%s, and it is known: %+v", name, got)
		}
	}
}
