package planner

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// againPlanner handles a source that was deleted and recreated during a move, as users do to change an immutable
// field.
type againPlanner struct{ *View }

// madeAgain accepts a recreated source if only its UID differs: it has the same ordinals, claim templates and
// claims (I1, I3). This writes only the record; before any other write, the new source gets the fence. Any other
// recreated source stalls the migration.
func (p againPlanner) madeAgain() *plan.Decision {
	set, known := p.Source.Set, p.Record.Baseline.SourceUID
	if set.Presence != plan.Seen || set.UID == known {
		return nil
	}
	differs := p.differs()
	if differs == "" {
		next, base := p.Record, *p.Record.Baseline
		base.SourceUID = set.UID
		next.Baseline = &base
		return &plan.Decision{Record: &next}
	}
	return plan.Stalled(api.ReasonSourceReplaced,
		fmt.Sprintf("%s was deleted and created again since the migration began, and is not taken for the former one: %s%s", p.Source.Object(), differs, p.between()), p.likeTheFormer())
}

// differs returns the difference between the source and the former one; empty: none was found. State that was not
// read counts as a difference.
func (p againPlanner) differs() string {
	set, base := p.Source.Set, p.Record.Baseline
	had := make([]string, 0, len(base.Volumes))
	for _, v := range base.Volumes {
		had = append(had, v.ClaimTemplate)
	}
	slices.Sort(had)
	switch {
	case set.Terminating:
		return "it is being deleted again"
	case p.Destination.Lost:
		return fmt.Sprintf("cluster %s is declared to be off, so that nothing shows which ordinals it had", p.Destination.Cluster)
	case p.Focused:
		return "not all of its claims were read"
	case !slices.Equal(set.Templates, had):
		return fmt.Sprintf("its claim templates are %s, and were %s", named(set.Templates), named(had))
	case p.layout.broken != "":
		return p.layout.broken
	case p.strays() != "":
		return p.strays()
	case len(p.Record.Further) > 0:
		return fmt.Sprintf("%d ordinals are in flight, and their volumes cannot all be compared", p.Record.CountInFlight())
	case set.YoungClaim != "":
		return fmt.Sprintf("claim %s/%s was created with it or later: its pod runs, or would start, on a new disk", p.Source.Namespace, set.YoungClaim)
	}
	if problem := p.anotherDisk(); problem != nil {
		return problem.Message
	}
	return p.offRecord()
}

// anotherDisk returns a problem if an ordinal of the destination does not use the disk that was moved there.
func (p againPlanner) anotherDisk() *volumes.Reason { return lossPlanner(p).anotherDisk() }

// offRecord returns a text if the ordinal in flight does not have the volumes in its record; empty: it has them.
func (p againPlanner) offRecord() string {
	handoff := p.Record.Handoff
	if handoff == nil {
		return ""
	}
	found, hold := p.volumesOf(handoff.Ordinal)
	if hold != nil {
		return hold.Message
	}
	for _, v := range found {
		recorded := plan.RecordedVolume(handoff, v.Ordinal, v.Template)
		pair := p.pair(v)
		pair.Disk = recorded.Disk
		giver := pair.Giver
		had := cmp.Or(giver.Name, recorded.Name)
		switch problem := pair.Replaced(); {
		case recorded.Name == "" || giver.Claim.Volume != had:
			return fmt.Sprintf("claim %s/%s names volume %q, and had %q when ordinal %d began to move", giver.Ref.Namespace, giver.Ref.Name, giver.Claim.Volume, had, v.Ordinal)
		case problem != nil:
			return problem.Message
		}
	}
	return ""
}

// between describes the ordinal in flight and its volumes on both sides; empty: there is none.
func (p againPlanner) between() string {
	handoff := p.Record.Handoff
	if handoff == nil {
		return ""
	}
	var text strings.Builder
	fmt.Fprintf(&text, "; the handoff of ordinal %d is in progress, at %s", handoff.Ordinal, handoff.Step)
	for _, v := range p.Volumes {
		if v.Ordinal != handoff.Ordinal {
			continue
		}
		for _, name := range plan.SideNames {
			if where := whereabouts(*v.Holding(name)); where != "" {
				fmt.Fprintf(&text, "; in cluster %s %s", p.Side(name).Cluster, where)
			}
		}
	}
	return text.String()
}

// whereabouts describes the state of a claim's volume; empty: there is no volume.
func whereabouts(h volumes.Holding) string {
	switch {
	case !h.Volume.Found:
		return ""
	case h.Parked():
		return fmt.Sprintf("volume %s is parked", h.Volume.Name)
	case h.Bound():
		return fmt.Sprintf("volume %s is bound to claim %s/%s", h.Volume.Name, h.Ref.Namespace, h.Ref.Name)
	default:
		return fmt.Sprintf("volume %s is not bound", h.Volume.Name)
	}
}

// likeTheFormer returns the remedy: how to make the source acceptable, or what to do otherwise.
func (p againPlanner) likeTheFormer() string {
	start, replicas := p.due()
	set := p.Source.Set
	remedy := fmt.Sprintf("give it the claim templates and claims of the former one, and the ordinals %s: %s; the migration then continues",
		plan.Span(start, replicas), p.Source.Kubectl().Do("patch", set.ResourceName(), "-n", p.Source.Namespace, set.Name, "--type=merge", "-p", fmt.Sprintf(`{"spec":{"ordinals":{"start":%d},"replicas":%d}}`, start, replicas)))
	if !p.down() {
		return remedy + "; else delete this Migration and create a new one"
	}
	return remedy + fmt.Sprintf("; else delete this Migration, which leaves ordinal %d down; start that by hand as kubectl migrate explain SourceReplaced describes, then create a new Migration", p.Record.Handoff.Ordinal)
}

// due returns the range that the source is expected to have: the ordinals that the destination does not own,
// without the ordinal in flight if it is down.
func (p againPlanner) due() (start, replicas int32) {
	left := int32(0)
	if p.down() {
		left = max(1, p.layout.gaps)
	}
	return p.layout.sourceStart(left), max(0, p.layout.hi-p.layout.lo-p.layout.moved-left)
}

// down reports whether the ordinal in flight was stopped and is not started yet.
func (p againPlanner) down() bool {
	handoff := p.Record.Handoff
	if handoff == nil || p.Destination.Set.Has(handoff.Ordinal) {
		return false
	}
	past := []api.Step{api.StepAwaitRelease, api.StepCarryVolumes, api.StepScaleUp}
	return p.direction() == api.Back || slices.Contains(past, handoff.Step) || p.layout.gap != nil
}

// named joins names, or returns "none".
func named(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
