package migration

import (
	"slices"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// volumesNow are the volumes that the giver's claims of an ordinal name now. Those of a giver
// that is lost for good are named by the taker's claims, which were kept.
func (p *planner) volumesNow(k int32) []api.HandoffVolume {
	var now []api.HandoffVolume
	for _, v := range p.Volumes {
		pair := p.pair(v)
		name := pair.Giver.Claim.Volume
		if p.Destination.Lost {
			name = pair.Taker.Claim.Volume
		}
		if v.Ordinal == k && name != "" {
			now = append(now, api.HandoffVolume{ClaimTemplate: v.Template, Name: name})
		}
	}
	return now
}

// sameVolumes stalls when the ordinal that the giver still has, or has again, is not on the
// volumes that it had when its handoff began (I3). What this migration has never secured it
// has never stopped: then the record alone is behind, and is written anew.
func (p *planner) sameVolumes(k int32) *Decision {
	if p.Focused && !p.VolumesRead {
		return nil
	}
	for _, v := range p.Volumes {
		recorded := recordedVolume(p.Record.Handoff, v.Ordinal, v.Template)
		pair := p.pair(v)
		if recorded == "" || pair.Giver.Claim.Volume == "" || pair.Giver.Claim.Volume == recorded {
			continue
		}
		if pair.Giver.Volume.Found && !pair.Giver.SecuredBy(p.UID) {
			continue
		}
		taken := volumes.Taken{Shared: pair.Shared, From: pair.Taker, At: pair.Giver}
		if problem := taken.Check(); problem != nil {
			return stalled(problem.Reason, problem.Message, problem.Remedy)
		}
	}
	now := p.volumesNow(k)
	if len(now) < len(p.Source.Set.Templates) || slices.Equal(now, p.Record.Handoff.Volumes) {
		return nil
	}
	next, handoff := p.Record, *p.Record.Handoff
	handoff.Volumes = now
	next.Handoff = &handoff
	return &Decision{Record: &next, Step: api.StepGate}
}
