package copy

import (
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/internal/volumestest"
)

// proofs is a world whose copies are proven after the start. The proof of a copy outlives its handoff, and ends before
// the next one begins.
type proofs struct {
	*world
	// owed is the attempt whose copy is not proven yet.
	owed *api.CopyAttempt
	// read holds the content that provers have read whole since the start, by disk.
	read map[string]int
}

func newProofs() *proofs {
	w := &proofs{world: newWorld(), read: map[string]int{}}
	w.verify = api.CopyVerifyLater
	w.Around = w
	return w
}

// owedPair returns the pair of the owed proof.
func (w *proofs) owedPair() volumes.Pair {
	record := w.Record
	w.Record = *w.owed
	defer func() { w.Record = record }()
	return w.Pair()
}

// goal is what is done about the owed proof: it does not go on if the ordinal is to go back.
func (w *proofs) goal() volumes.Goal {
	if w.Giver != w.from() {
		return volumes.Unproven
	}
	return volumes.Proven
}

func (w *proofs) from() int {
	from, _ := strconv.Atoi(w.owed.Giver)
	return from
}

// Decide works on an owed proof first: no handoff begins before it has ended.
func (w *proofs) Decide(t volumestest.Failer) *volumestest.Late {
	if w.owed == nil && w.Runs == 1-w.Giver && w.Record.OwesProof() {
		w.arrives(t)
	}
	if w.owed == nil {
		return w.world.Decide(t)
	}
	pair, goal := w.owedPair(), w.goal()
	switch verdict := (Copy{}).Ahead(pair, goal); {
	case verdict.Attempt != nil:
		w.owed = verdict.Attempt
	case verdict.Action != nil:
		return new(w.Write(*verdict.Action))
	case verdict.Done():
		w.ends(t, goal)
	}
	return nil
}

// arrives ends the handoff, and begins the proof.
func (w *proofs) arrives(t volumestest.Failer) {
	withdrawn := (Copy{}).Ahead(w.Pair(), volumes.Withdrawn)
	if withdrawn.Action != nil {
		w.Arrive(t, w.Write(*withdrawn.Action))
		return
	}
	if withdrawn.Done() {
		owed := w.Record
		if write := w.Drop(t); write != nil {
			w.Arrive(t, *write)
			return
		}
		if w.Record.Number == 0 {
			w.owed = &owed
			clear(w.read)
		}
	}
}

// ends checks the remains of a proof.
func (w *proofs) ends(t volumestest.Failer, goal volumes.Goal) {
	seal, giver := w.owed.Seal, w.Places[w.from()]
	content, read := w.read[seal.From]
	if goal == volumes.Proven && (!read || strconv.Itoa(content) != seal.Root) && seal.Proof.AcceptedTime.IsZero() {
		t.Fatalf("I3: a copy counts as proven, and nobody has read its source whole: %+v, read %v", seal, w.read)
	}
	for name, m := range w.movers {
		if m.role == volumes.RoleProver {
			t.Fatalf("mover %s is left", name)
		}
	}
	if d := giver.Disks[giver.Claim.Volume]; d != nil && (d.Released != "" && goal == volumes.Proven || d.ClaimRef.Names(giver.Out())) {
		t.Fatalf("the volume that was left is still lent: %+v", d)
	}
	w.owed = nil
}

// Act lets the prover read, too.
func (w *proofs) Act() {
	w.world.Act()
	w.prove(false)
}

// prove lets a prover end: it has read everything, or its disk has an error.
func (w *proofs) prove(fails bool) {
	for _, name := range w.names() {
		m := w.movers[name]
		if m.role != volumes.RoleProver || m.mounted == nil || m.Ended {
			continue
		}
		m.Ended, m.EndedAt, m.ResourceVersion = true, w.Now, w.Next()
		if fails {
			m.Result.Message = "read /volume/x: input/output error"
			continue
		}
		m.Result = volumes.MoverResult{Done: true, Alone: true, Root: strconv.Itoa(m.mounted.Content), Read: 1}
		w.read[volumes.Disk(m.mounted.Handle)] = m.mounted.Content
	}
}

// Check also verifies that a volume that is read can be mounted by nothing else.
func (w *proofs) Check(t volumestest.Failer) {
	w.world.Check(t)
	for name, m := range w.movers {
		if p := w.Places[m.side]; m.role == volumes.RoleProver && m.mounted != nil && m.mounted == p.Own() {
			t.Fatalf("mover %s reads volume %s, which the ordinal can mount", name, m.mounted.Name)
		}
	}
}

func (w *proofs) events() map[string]func(*rapid.T) {
	actions := w.actions()
	delete(actions, "the handoff ends")
	delete(actions, "another client starts a pod") // it writes to the volume that is proven: see TestUnprovable
	actions["a prover ends"] = func(t *rapid.T) { w.prove(rapid.IntRange(0, 3).Draw(t, "fails") == 0) }
	return actions
}

// TestProofMachine: whatever arrives late, dies or is reversed, a copy counts as proven only if its source was read whole
// after the start and has its root. The ordinal keeps running. No handoff begins while its former volume is read.
func TestProofMachine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newProofs()
		t.Repeat(w.events())
	})
}

// TestProofEnds: if nothing fails for long, a proof ends, after any earlier events.
func TestProofEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newProofs()
		t.Repeat(w.events())
		w.expectProven(t)
	})
}

// expectProven stops all failures: the ordinal arrives, and its proof ends.
func (w *proofs) expectProven(t *rapid.T) {
	w.Epoch, w.OnTheirWay = w.Epoch+1, nil
	w.Record.Passes, w.unready, w.early = 0, false, false
	for range 400 {
		if w.Step(t); w.Runs == 1-w.Giver && w.owed == nil && !w.Record.OwesProof() {
			return
		}
		w.Now = w.Now.Add(longestPause / 100)
	}
	t.Fatalf("it does not end: %+v\n%+v", w.owed, w.Record)
}

// owing returns a world in which an ordinal has just started on a copy.
func owing(t *testing.T) *proofs {
	t.Helper()
	w := newProofs()
	for range 400 {
		if w.owed != nil {
			return w
		}
		w.Step(t)
	}
	t.Fatalf("it does not arrive: %+v", w.Record)
	return nil
}

// proceed makes steps until a condition holds.
func (w *proofs) proceed(t *testing.T, until func() bool) {
	t.Helper()
	for range 100 {
		if until() {
			return
		}
		w.Step(t)
	}
	t.Fatalf("it does not come to that: %+v", w.owedPair().Copy)
}

// parked reports whether the volume that the ordinal has left is parked, with nothing that can mount it.
func (w *proofs) parked() bool {
	p := w.Places[w.from()]
	d := p.Disks[p.Claim.Volume]
	return d.ClaimRef == volumes.Parked(p.Ref) && d.Policy == corev1.PersistentVolumeReclaimRetain && !p.Outgoing.Found
}
