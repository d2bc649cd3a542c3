package planner

import (
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes/copy"
)

// Relays are the movers of a snapshot that are to be connected now. It is not known where a side was not seen, or its
// movers were not looked at.
func Relays(s plan.Snapshot) (relays []plan.Relay, known bool) {
	if s.Source.Reach != plan.Seen || s.Destination.Reach != plan.Seen || s.Focused && !s.VolumesRead {
		return nil, false
	}
	if s.Record.Handoff == nil || s.Record.Fence == nil {
		return nil, true
	}
	p := viewOf(s)
	for _, v := range p.Volumes {
		if v.Copy == nil {
			continue
		}
		pair := p.pair(v)
		sender, receiver, due := copy.Relays(pair)
		if !due {
			continue
		}
		giver := plan.SideName(pair.Copy.Attempt.Giver)
		relays = append(relays, plan.Relay{
			Ordinal: v.Ordinal, Template: v.Template,
			Sender:   relayEnd(giver, sender),
			Receiver: relayEnd(giver.Other(), receiver),
		})
	}
	return relays, true
}

func relayEnd(side plan.SideName, end copy.End) plan.RelayEnd {
	return plan.RelayEnd{Side: side, Namespace: end.Ref.Namespace, Name: end.Ref.Name, UID: end.UID}
}
