package planner

import (
	"cmp"
	"fmt"
	"slices"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/copy"
)

// proofPlanner has the volumes read whole that ordinals have left, after they have started on copies that were not
// compared with them (copy.verify: Later). That runs beside the handoffs of later ordinals, as early copies do. Nothing
// waits for it but the end of the migration, and an ordinal that is about to leave its copy.
type proofPlanner struct{ *View }

const (
	// mostProofs is how many ordinals may run on copies that are not proven, in one direction. The status lists them; of
	// the other direction it lists as many.
	mostProofs = 16
	// proofsAtOnce is how many volumes are read at once: each read takes the bandwidth of the storage that the other
	// ordinals still use.
	proofsAtOnce = 2
)

// proving returns the ordinals whose proofs are worked on: the first ones that are not read yet, one that waits for the
// user, and all whose work is to be ended.
func (p proofPlanner) proving() (ordinals []int32) {
	reads, waits := 0, 0
	for _, each := range p.Record.Proofs {
		if p.Record.Moves(each.Ordinal) {
			continue // it may leave its copy
		}
		if p.ends(each.Volumes) {
			if !withdrawn(each) {
				ordinals = append(ordinals, each.Ordinal)
			}
			continue
		}
		count, most := &reads, proofsAtOnce
		if waitsForUser(each) {
			count, most = &waits, 1
		}
		if *count++; *count <= most {
			ordinals = append(ordinals, each.Ordinal)
		}
	}
	return ordinals
}

// waitsForUser reports whether no volume of an ordinal is still to be read, and one differs.
func waitsForUser(proof api.CopyAhead) bool {
	differs := false
	for _, v := range proof.Volumes {
		if v.Copy.OwesProof() {
			if v.Copy.Seal.Proof.Root == "" {
				return false
			}
			differs = true
		}
	}
	return differs
}

// owing returns the list of ordinals that run on copies that are not proven, after one has arrived. A proof is owed until
// the ordinal runs on the volume that it had left: it may return to its copy before.
func owing(list []api.CopyAhead, arrived api.Handoff, giver plan.SideName) []api.CopyAhead {
	there := func(v api.HandoffVolume) bool { return owes(v) && v.Copy.Giver == string(giver) }
	var owed []api.HandoffVolume
	if at := aheadAt(list, arrived.Ordinal); at >= 0 {
		owed = slices.DeleteFunc(slices.Clone(list[at].Volumes), func(v api.HandoffVolume) bool { return !there(v) })
	}
	for _, v := range arrived.Volumes {
		if there(v) {
			owed = withVolume(owed, v)
		}
	}
	if len(owed) == 0 {
		return withAhead(list, arrived.Ordinal, nil)
	}
	return withAhead(list, arrived.Ordinal, &api.Handoff{Volumes: owed})
}

// stillOwing returns the list with a volume of the ordinal in flight, if it owes a proof and is about to go back to the
// volume that it had left. Until it has arrived there, its proof is owed.
func (p carryPlanner) stillOwing(list []api.CopyAhead, v plan.OrdinalVolume) []api.CopyAhead {
	former := plan.RecordedVolume(p.Record.Handoff, v.Ordinal, v.Template)
	if pair := p.pair(v); !owes(former) || pair.Copy == nil || !volumes.HandingOf(pair).Taken() {
		return list
	}
	var owed []api.HandoffVolume
	if at := aheadAt(list, v.Ordinal); at >= 0 {
		owed = list[at].Volumes
	}
	return withAhead(list, v.Ordinal, &api.Handoff{Volumes: withVolume(owed, former)})
}

// withVolume returns volumes with the one of a claim template added or replaced.
func withVolume(all []api.HandoffVolume, v api.HandoffVolume) []api.HandoffVolume {
	all = slices.Clone(all)
	at := slices.IndexFunc(all, func(o api.HandoffVolume) bool { return o.ClaimTemplate == v.ClaimTemplate })
	if at < 0 {
		return append(all, v)
	}
	all[at] = v
	return all
}

// withdrawn reports whether no work of a proof is left, though it is still owed.
func withdrawn(proof api.CopyAhead) bool {
	works := func(v api.HandoffVolume) bool { return v.Copy.OwesProof() && !v.Copy.Seal.Proof.Withdrawn }
	return slices.ContainsFunc(proof.Volumes, owes) && !slices.ContainsFunc(proof.Volumes, works)
}

func owes(v api.HandoffVolume) bool { return v.Copy.OwesProof() }

// setWithdrawn returns the record in which the owed proofs of an ordinal are withdrawn, or not; nil if they are so
// already.
func (p proofPlanner) setWithdrawn(is bool) *plan.Decision {
	next, handoff := p.Record, *p.Record.Handoff
	handoff.Volumes = slices.Clone(handoff.Volumes)
	changed := false
	for i := range handoff.Volumes {
		if c := &handoff.Volumes[i].Copy; c.OwesProof() && c.Seal.Proof.Withdrawn != is {
			c.Seal.Proof.Withdrawn, changed = is, true
		}
	}
	if !changed {
		return nil
	}
	next.Handoff = &handoff
	return &plan.Decision{Record: &next}
}

// step returns the next step of the proof of an ordinal. With the last one, its entry in the record ends. If the ordinal
// is to go back, the entry stays until it does: the direction may change again before.
func (p proofPlanner) step(k int32) *plan.Decision {
	goal, ends := volumes.Proven, p.ends(p.Record.Handoff.Volumes)
	if ends {
		goal = volumes.Unproven
	} else if decision := p.setWithdrawn(false); decision != nil {
		return decision
	}
	var held []plan.OrdinalVolume
	for _, v := range p.Volumes {
		if v.Ordinal == k && plan.RecordedVolume(p.Record.Handoff, k, v.Template).Copy.Number > 0 {
			held = append(held, v)
		}
	}
	if len(held) == 0 {
		return nil // they were not read
	}
	if decision := carryPlanner(p).together(held, carryPlanner(p).towards(goal)); decision != nil {
		return decision
	}
	if ends && slices.ContainsFunc(p.Record.Handoff.Volumes, owes) {
		return p.setWithdrawn(true)
	}
	next := p.Record
	next.Handoff = nil
	return &plan.Decision{Record: &next}
}

// ends reports whether the proof of an ordinal does not go on: the migration is released, a side is lost, or the ordinal
// is to go back the way it came.
func (p proofPlanner) ends(owed []api.HandoffVolume) bool {
	return p.Deleting || p.Destination.Lost || slices.ContainsFunc(owed, func(v api.HandoffVolume) bool {
		return v.Copy.OwesProof() && v.Copy.Giver != string(p.giverName)
	})
}

// stands waits, before a handoff begins, for the end of proofs that would be in its way.
func (p proofPlanner) stands() *plan.Decision {
	if p.Record.Handoff != nil || p.resting() && !p.Deleting {
		return nil
	}
	if proof := p.open(); proof != nil {
		return p.closes(*proof)
	}
	awaited := p.awaited()
	switch full := !p.provable(-1); {
	case full && p.Record.Idle():
		return cmp.Or(budgetPlanner(p).reserveBudget(0), pending(awaited))
	case full:
		return pending(awaited)
	}
	return nil
}

// open returns a proof that does not go on, and whose work has not ended; nil: there is none. That work must end before the
// handoff of its ordinal begins: it is not done for an ordinal in flight.
func (p proofPlanner) open() *api.CopyAhead {
	for i, proof := range p.Record.Proofs {
		if p.ends(proof.Volumes) && !withdrawn(proof) && !p.Record.Moves(proof.Ordinal) {
			return &p.Record.Proofs[i]
		}
	}
	return nil
}

// differs holds before a stop if a copy differs from its source: the user decides.
func (p proofPlanner) differs() *plan.Hold {
	for _, proof := range p.Record.Proofs {
		if !p.ends(proof.Volumes) && waitsForUser(proof) {
			return copy.Owed(proof.Ordinal, proof.Volumes)
		}
	}
	return nil
}

// provable reports whether the handoff of one more ordinal may begin beside those in flight: all of them may owe a proof
// when they have arrived, and a status with too many is not stored.
func (p proofPlanner) provable(k int32) bool {
	owing := map[int32]bool{k: true}
	for _, proof := range p.awaited() {
		owing[proof.Ordinal] = true
	}
	for _, h := range p.Record.Further {
		owing[h.Ordinal] = true
	}
	return len(owing) <= mostProofs
}

// lent waits, before a migration is given up, until the work of all proofs that do not go on has ended.
func (p proofPlanner) lent() *plan.Decision {
	if proof := p.open(); proof != nil {
		return p.closes(*proof)
	}
	return nil
}

// closes waits until the work of a proof that does not go on has ended.
func (p proofPlanner) closes(proof api.CopyAhead) *plan.Decision {
	hold := plan.Hold{Reason: api.ReasonCopying, Message: fmt.Sprintf("waiting until the volume that ordinal %d has left is not read any more, and is parked", proof.Ordinal)}
	return &plan.Decision{Hold: &hold, Wait: volumes.Look}
}

// end waits, once no ordinal is left to move, until every copy is proven or accepted. Before that, nothing is settled or
// cleaned up.
func (p proofPlanner) end() *plan.Decision {
	if awaited := p.awaited(); len(awaited) > 0 {
		return pending(awaited)
	}
	return nil
}

// awaited returns the proofs that are still worked on.
func (p proofPlanner) awaited() []api.CopyAhead {
	return slices.DeleteFunc(slices.Clone(p.Record.Proofs), func(proof api.CopyAhead) bool {
		return p.ends(proof.Volumes) && withdrawn(proof)
	})
}

// pending reports the proof that needs the user, or else the progress of all.
func pending(proofs []api.CopyAhead) *plan.Decision {
	var first *plan.Hold
	for _, proof := range proofs {
		hold := copy.Owed(proof.Ordinal, proof.Volumes)
		if hold == nil {
			continue
		}
		if hold.Stalled {
			return &plan.Decision{Hold: hold, Wait: EarlyLook}
		}
		if first == nil {
			first = hold
		}
	}
	if first == nil { // the last one was proven just now
		first = &plan.Hold{Reason: api.ReasonCopyProofPending, Message: "the last volume that was read whole is parked again"}
	}
	if left := len(proofs); left > 1 {
		first.Message += fmt.Sprintf("; %d ordinals run on copies that are not proven yet", left)
	}
	return &plan.Decision{Hold: first, Wait: EarlyLook}
}
