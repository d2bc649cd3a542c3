package plan

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
		holding := pair.Giver
		if p.Destination.Lost {
			holding = pair.Taker
		}
		if v.Ordinal == k && holding.Claim.Volume != "" {
			now = append(now, p.recordOf(v, holding))
		}
	}
	return now
}

// recordOf is what is recorded of a claim's volume. A disk that was not read is as it was
// recorded before.
func (p *planner) recordOf(v OrdinalVolume, holding volumes.Holding) api.HandoffVolume {
	record := api.HandoffVolume{ClaimTemplate: v.Template, Name: holding.Claim.Volume}
	if holding.Volume.Found && holding.Volume.Name == record.Name {
		record.Disk = volumes.Disk(holding.Volume.Handle)
	} else if before := RecordedVolume(p.Record.Handoff, v.Ordinal, v.Template); before.Name == record.Name {
		record.Disk = before.Disk
	}
	return record
}

// sameVolumes stalls when the ordinal that the giver still has, or has again, is not on the
// volumes that it had when its handoff began (I3). What this migration has never secured it
// has never stopped: then the record alone is behind, and is written anew.
func (p *planner) sameVolumes(k int32) *Decision {
	if p.Focused && !p.VolumesRead {
		return nil
	}
	for _, v := range p.Volumes {
		recorded := RecordedVolume(p.Record.Handoff, v.Ordinal, v.Template)
		pair := p.pair(v)
		if recorded.Name == "" || pair.Giver.Claim.Volume == "" || pair.Giver.Claim.Volume == recorded.Name {
			continue
		}
		if pair.Giver.Volume.Found && !pair.Giver.SecuredBy(p.UID) {
			continue
		}
		taken := volumes.Taken{Shared: pair.Shared, From: pair.Taker, At: pair.Giver}
		if problem := taken.Check(); problem != nil {
			return Stalled(problem.Reason, problem.Message, problem.Remedy)
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

// RecordedVolume is the volume that an ordinal on its way had for a claim template; its name is
// empty when it is not on its way, or nothing is known.
func RecordedVolume(handoff *api.Handoff, ordinal int32, template string) api.HandoffVolume {
	if handoff == nil || handoff.Ordinal != ordinal {
		return api.HandoffVolume{}
	}
	return handoff.Volume(template)
}

// Giver is the side that ordinals leave now.
func Giver(s Snapshot) SideName { return newPlanner(s).giverName }

// PairOf is a claim of an ordinal and its volume, as giver and taker have them now.
func PairOf(s Snapshot, v OrdinalVolume) volumes.Pair { return newPlanner(s).pair(v) }
