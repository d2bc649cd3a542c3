package rehearsal

import (
	"cmp"
	"fmt"
	"maps"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/copy"
)

// copied copies one volume after the other by a warm pass of method Copy, into the claim of the rehearsal. One at a time
// reads, because the pods of the source use these disks. No pass follows later: the pods of the rehearsal then write.
func (f Facts) copied() Step {
	if f.Record.Cloned != nil {
		return Step{}
	}
	for i, asked := range f.Ask.Clones {
		if !asked.Copied {
			continue
		}
		if step := f.copy(i); !step.none() {
			return step
		}
	}
	return Step{}
}

// copy makes one copy. It is done when a pass has ended well and no mover is left.
func (f Facts) copy(i int) Step {
	if step := f.chosen(i); !step.none() {
		return step
	}
	pair := f.Clones[i].Pair
	goal := volumes.Warm
	if pair.Copy.Attempt.Warm.Passes > 0 {
		goal = volumes.Withdrawn
	}
	switch verdict := (copy.Copy{}).Ahead(pair, goal); {
	case verdict.Attempt != nil:
		return f.attempted(i, *verdict.Attempt)
	case verdict.Action != nil:
		return f.carry(i, *verdict.Action)
	case verdict.Hold != nil && verdict.Hold.Reason == volumes.ReasonCopyNotWarm:
		return f.ends(failed(verdict.Hold.Reason, fmt.Sprintf("no mover can read claim %s beside its pod: %s", named(pair.Giver.Ref), pair.Copy.Warm.Refuses),
			"rehearse by snapshots (--method snapshot), or an empty volume: --volume "+pair.Template+"=empty"))
	case verdict.Hold != nil && verdict.Hold.Stalled:
		return f.ends(failed(verdict.Hold.Reason, verdict.Hold.Message, verdict.Hold.Remedy))
	case verdict.Hold != nil:
		return Step{Wait: verdict.Hold.Message}
	case verdict.Waits != "":
		return Step{Wait: verdict.Waits}
	case goal == volumes.Warm:
		return f.ends(failed(ReasonCopyLost, "claim "+named(f.Ask.Clones[i].From)+" was not copied, and no reason is known", "rehearse again"))
	case pair.Copy.Receiver.Found || pair.Copy.Warm.Found:
		return Step{Wait: "the movers of claim " + named(f.Ask.Clones[i].To) + " are deleted"}
	}
	return Step{}
}

// attempted records an attempt. A second one for a claim ends the rehearsal: the first has lost its claim or its disk.
func (f Facts) attempted(i int, attempt api.CopyAttempt) Step {
	asked, before := f.Ask.Clones[i], f.Clones[i].Pair.Copy.Attempt
	torn := attempt.Torn.Attempt != 0 && attempt.Torn.Attempt == attempt.Number
	if before.Number != 0 && before.Number != attempt.Number || attempt.Dropped || attempt.Holds != "" || torn {
		why := cmp.Or(attempt.Torn.Message, attempt.Holds, "the claim or its volume was lost")
		return f.ends(failed(ReasonCopyLost, fmt.Sprintf("claim %s is not copied to claim %s: %s", named(asked.From), named(asked.To), why), "find the cause in the destination's cluster, and rehearse again"))
	}
	next := f.Record
	if next.Copies = maps.Clone(next.Copies); next.Copies == nil {
		next.Copies = map[string]api.CopyAttempt{}
	}
	next.Copies[asked.To.Name] = attempt
	return Step{Record: &next}
}

// carry returns the write of one step of a copy.
func (f Facts) carry(i int, action volumes.Action) Step {
	verb, known := map[volumes.Change]Verb{volumes.Creates: Create, volumes.Updates: Update, volumes.Deletes: Delete}[action.Change()]
	kind, carried := map[volumes.Kind]Kind{volumes.KindClaim: KindClaim, volumes.KindPod: KindMover}[action.Kind()]
	if !known || !carried {
		return f.ends(failed(ReasonCopyLost, fmt.Sprintf("a copy needs %s of a %s, which a rehearsal does not write", action.Change(), action.Kind()), "report this, with the flags of the command"))
	}
	on := Object{Ref: volumes.Ref{Namespace: action.Ref.Namespace, Name: action.Object(), UID: action.UID}, ResourceVersion: action.ResourceVersion}
	step := f.write(verb, kind, on)
	step.Write.AtSource, step.Write.Clone, step.Write.Carry = action.AtGiver, i, &action
	return step
}

// dropMovers deletes the movers of both sides. Those of the source are deleted first, because they read its disks.
func (f Facts) dropMovers() Step {
	for _, m := range f.Left.Movers {
		if !m.Terminating {
			step := f.write(Delete, KindMover, m.Object)
			step.Write.AtSource = m.AtSource
			return step
		}
	}
	if len(f.Left.Movers) > 0 {
		m := f.Left.Movers[0]
		return Step{Wait: "mover " + named(m.Ref) + " is deleted" + volumes.KeptBy(m.Keeps)}
	}
	return Step{}
}
