package planner

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/volumes"
)

// owed returns an ordinal that runs on a copy from the source which is to be proven after the start.
func owed(ordinal int32, change func(*api.CopySeal)) api.CopyAhead {
	seal := api.CopySeal{Root: "r", Verify: api.CopyVerifyLater, From: "a", To: "b", Released: "migration.1", Volume: "pvc"}
	change(&seal)
	return api.CopyAhead{Ordinal: ordinal, Volumes: []api.HandoffVolume{{ClaimTemplate: "data", Name: "pv-1", Copy: api.CopyAttempt{Number: 7, Giver: "source", Seal: seal}}}}
}

func isUnread(*api.CopySeal) {}

func isEqual(s *api.CopySeal) { s.Proof.Root, s.Proof.From = "r", "a" }

func isDifferent(s *api.CopySeal) {
	s.Proof.Root, s.Proof.From, s.Proof.Differs = "s", "a", "x (bytes 0 to 9 of 9)"
}

func isBroken(s *api.CopySeal) { s.Proof.Tries, s.Proof.Trouble = 1, "input/output error" }

func isAccepted(s *api.CopySeal) {
	isDifferent(s)
	s.Proof.AcceptedTime = metav1.NewTime(plantest.Epoch)
}

func proves(all ...api.CopyAhead) func(*plan.Snapshot) {
	return func(s *plan.Snapshot) { s.Record.Proofs = all }
}

// TestNotCompletedBeforeProofs: whatever the proofs show, and whatever else is left to do, a migration is not completed,
// and nothing is settled, while an ordinal is recorded whose copy is not proven.
func TestNotCompletedBeforeProofs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kinds := []func(*api.CopySeal){isUnread, isEqual, isDifferent, isBroken, isAccepted}
		var all []api.CopyAhead
		for k := range rapid.IntRange(1, 3).Draw(t, "proofs") {
			all = append(all, owed(int32(k+1), rapid.SampledFrom(kinds).Draw(t, "kind")))
		}
		changes := []func(*plan.Snapshot){plantest.AllMoved, proves(all...)}
		if rapid.Bool().Draw(t, "all is settled") {
			changes = append(changes, func(s *plan.Snapshot) {
				plantest.AuthorsOwn(&s.Source.Budgets[0])
				plantest.AuthorsOwn(&s.Destination.Budgets[0])
				s.Volumes = nil
			})
		}
		if rapid.Bool().Draw(t, "deleting") {
			changes = append(changes, func(s *plan.Snapshot) { s.Deleting = true })
		}
		decision := Plan(plantest.Parted(plantest.InTurn(changes...)))
		if decision.Done != "" || decision.Record != nil && decision.Record.Completed != "" {
			t.Fatalf("completed before its proofs: %+v", decision)
		}
		if e := decision.Effect; e != nil && (e.Verb == plan.RestorePolicy || e.Verb == plan.DeleteExport || e.Verb == plan.DeletePodExport || e.Verb == plan.DeleteClaim || e.Verb == plan.DeleteVolume) {
			t.Fatalf("settled before its proofs: %s", e)
		}
	})
}

// TestProofsAtTheEnd: the migration reports the proof that needs the user before the progress of the others.
func TestProofsAtTheEnd(t *testing.T) {
	for name, tc := range map[string]struct {
		proofs []api.CopyAhead
		reason string
		stalls bool
	}{
		"is read":             {[]api.CopyAhead{owed(1, isUnread), owed(2, isUnread)}, api.ReasonCopyProofPending, false},
		"cannot be read":      {[]api.CopyAhead{owed(1, isUnread), owed(2, isBroken)}, volumes.ReasonCopyProofUnread, true},
		"differs":             {[]api.CopyAhead{owed(1, isUnread), owed(2, isDifferent)}, volumes.ReasonCopyProofDiffers, true},
		"was read just now":   {[]api.CopyAhead{owed(1, isEqual)}, api.ReasonCopyProofPending, false},
		"is accepted already": {[]api.CopyAhead{owed(1, isAccepted)}, api.ReasonCopyProofPending, false},
	} {
		decision := proofPlanner{parted(plantest.InTurn(plantest.AllMoved, proves(tc.proofs...))).View}.end()
		if decision == nil || decision.Hold.Reason != tc.reason || decision.Hold.Stalled != tc.stalls || decision.Wait == 0 {
			t.Errorf("%s: %+v", name, decision)
		}
	}
	if decision := (proofPlanner{parted(plantest.AllMoved).View}).end(); decision != nil {
		t.Errorf("nothing is owed: %+v", decision)
	}
}

// TestDifferingCopyHoldsTheNext: while a copy differs, no further ordinal is stopped, and the one that is down goes on. A
// volume that cannot be read, or is being read, holds no other ordinal.
func TestDifferingCopyHoldsTheNext(t *testing.T) {
	stands := func(changes ...func(*plan.Snapshot)) string {
		decision := proofPlanner{parted(plantest.InTurn(changes...)).View}.stands()
		if decision == nil || decision.Hold == nil {
			return ""
		}
		return decision.Hold.Reason
	}
	gate := func(changes ...func(*plan.Snapshot)) string {
		named := slices.IndexFunc(gates, func(g Gate) bool { return g.Name == "proofs" })
		if hold := gates[named].Blocks(parted(plantest.InTurn(changes...)).View, 2); hold != nil {
			return hold.Reason
		}
		return ""
	}
	many, resting := make([]api.CopyAhead, mostProofs), make([]api.CopyAhead, mostProofs)
	for i := range many {
		many[i] = owed(int32(i), isUnread)
		resting[i] = owed(int32(i), func(s *api.CopySeal) { s.Proof.Withdrawn = true })
	}
	for name, tc := range map[string]struct{ got, want string }{
		"differs":                 {gate(unbudgeted, proves(owed(3, isDifferent))), volumes.ReasonCopyProofDiffers},
		"differs, nothing stands": {stands(unbudgeted, proves(owed(3, isDifferent))), ""},
		"differs, and goes back":  {gate(unbudgeted, proves(owed(3, isDifferent)), inMode(api.ModeRollback)), ""},
		"is accepted":             {gate(unbudgeted, proves(owed(3, isAccepted))), ""},
		"is read":                 {gate(unbudgeted, proves(owed(3, isUnread))), ""},
		"cannot be read":          {gate(unbudgeted, proves(owed(3, isBroken))), ""},
		"too many":                {stands(unbudgeted, proves(many...)), api.ReasonCopyProofPending},
		"all go back":             {stands(unbudgeted, proves(resting...), inMode(api.ModeRollback)), ""},
		"goes back, is withdrawn": {stands(unbudgeted, proves(owed(3, func(s *api.CopySeal) { s.Proof.Withdrawn = true })), inMode(api.ModeRollback)), ""},
		"goes back":               {stands(unbudgeted, proves(owed(3, isDifferent)), inMode(api.ModeRollback)), api.ReasonCopying},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: %q, want %q", name, tc.got, tc.want)
		}
	}
}

// TestProofsFitTheStatus: the ordinals in flight, with one more, and those that owe a proof in their direction are at most as
// many as the status lists. A status with more is refused, and no arrival would be recorded any more.
func TestProofsFitTheStatus(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := plantest.Parted(plantest.InTurn(unbudgeted, atOnce(intstr.FromInt32(api.MostInFlight))))
		s.Record.Baseline.Budget = api.MostInFlight
		for k := range rapid.Int32Range(0, mostProofs).Draw(t, "proofs") {
			s.Record.Proofs = append(s.Record.Proofs, owed(100+k, isUnread))
		}
		k := int32(50)
		for range rapid.IntRange(1, api.MostInFlight-1).Draw(t, "in flight") {
			s.Record.Further = append(s.Record.Further, api.Handoff{Ordinal: k})
			k++
		}
		s.Record.Handoff = nil
		p := viewOf(s)
		fits := len(s.Record.Proofs)+len(s.Record.Further)+1 <= mostProofs
		if got := p.room(k); got != fits {
			t.Fatalf("%d proofs and %d in flight: room for one more: %v", len(s.Record.Proofs), len(s.Record.Further), got)
		}
		full := len(s.Record.Proofs)+len(s.Record.Further) >= mostProofs
		if decision := (proofPlanner{p}).stands(); full != (decision != nil && decision.Hold != nil && decision.Hold.Reason == api.ReasonCopyProofPending) {
			t.Fatalf("%d proofs and %d in flight: %+v", len(s.Record.Proofs), len(s.Record.Further), decision)
		}
	})
}

// TestProvesSome: two volumes are read at once, and of those that wait for the user one is looked at.
func TestProvesSome(t *testing.T) {
	var record plan.Record
	record.Proofs = []api.CopyAhead{owed(9, isDifferent), owed(8, isDifferent), owed(7, isUnread), owed(6, isBroken), owed(5, isUnread)}
	if diff := cmp.Diff([]int32{9, 7, 6}, proofPlanner{viewOf(plan.Snapshot{Record: record})}.proving()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if early := EarlyOrdinals(plan.Snapshot{Record: record}); !slices.Equal(early, []int32{9, 7, 6}) {
		t.Errorf("got %v", early)
	}
}

// TestOwing: an ordinal that arrives on a copy that is not proven is recorded. One that was proven before the start, or
// came from the other side, is not.
func TestOwing(t *testing.T) {
	of := func(change func(*api.CopySeal)) api.Handoff {
		return api.Handoff{Ordinal: 3, Volumes: owed(3, change).Volumes}
	}
	if got := owing(nil, of(isUnread), plan.SourceSide); len(got) != 1 || got[0].Ordinal != 3 || got[0].Volumes[0].Copy.Seal.Root != "r" {
		t.Errorf("got %+v", got)
	}
	for name, got := range map[string][]api.CopyAhead{
		"from the other side": owing(nil, of(isUnread), plan.DestinationSide),
		"read before":         owing(nil, of(func(s *api.CopySeal) { s.Verify = api.CopyVerifyFull }), plan.SourceSide),
		"no seal":             owing(nil, of(func(s *api.CopySeal) { s.Root = "" }), plan.SourceSide),
	} {
		if len(got) > 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestProofIsOwedUntilItIsBack: an ordinal that begins to go back still owes its proof, since it may return to its copy
// before it arrives. The proof ends when the ordinal runs on the volume that it had left.
func TestProofIsOwedUntilItIsBack(t *testing.T) {
	s := plantest.Parted(plantest.InTurn(unbudgeted, proves(owed(3, isUnread))))
	if begun := handoffOf(viewOf(s)).record(3, s.Record); len(begun.Record.Proofs) != 1 {
		t.Errorf("at the beginning: %+v", begun.Record.Proofs)
	}
	s.Record.Handoff = &api.Handoff{Ordinal: 3}
	if got := (proofPlanner{viewOf(s)}).proving(); len(got) > 0 {
		t.Errorf("the volume of an ordinal in flight is read: %v", got)
	}
	back := api.Handoff{Ordinal: 3}
	if got := owing(s.Record.Proofs, back, plan.SourceSide); len(got) != 1 {
		t.Errorf("it has returned to its copy: %+v", got)
	}
	if got := owing(s.Record.Proofs, back, plan.DestinationSide); len(got) > 0 {
		t.Errorf("it is back: %+v", got)
	}
}

// TestProofOutlivesTheNextAttempt: an ordinal that turns round while it runs on its copy, before it has arrived, owes the
// proof when another attempt takes the place of the former one in its record, and when only its volumes are read again.
// An attempt that was never taken over owes nothing.
func TestProofOutlivesTheNextAttempt(t *testing.T) {
	for name, taken := range map[string]bool{"it runs on the copy": true, "the copy was not taken over": false} {
		s := plantest.Parted(plantest.InTurn(unbudgeted))
		v := &s.Volumes[0]
		handoff := owed(v.Ordinal, isUnread)
		v.Method, v.Template = api.MethodCopy, handoff.Volumes[0].ClaimTemplate
		v.Copy = &volumes.Copying{Attempt: handoff.Volumes[0].Copy}
		if v.Copy.Incoming.Volume.Found = true; taken {
			v.Copy.Incoming.Volume.ClaimRef = v.Destination.Ref
		}
		s.Record.Handoff = &api.Handoff{Ordinal: v.Ordinal, Volumes: handoff.Volumes}
		p := carryPlanner{viewOf(s)}
		next := p.recordCopy(*v, api.CopyAttempt{Number: 8, Giver: "destination"})
		read := p.sameVolumes(v.Ordinal)
		if read == nil || read.Record == nil {
			t.Fatalf("%s: the volumes are not recorded again: %+v", name, read)
		}
		for _, record := range []*plan.Record{next.Record, read.Record} {
			if at := aheadAt(record.Proofs, v.Ordinal); (at >= 0) != taken || taken && !owes(record.Proofs[at].Volumes[0]) {
				t.Errorf("%s: %+v", name, record.Proofs)
			}
		}
	}
}

// TestProofRests: while an ordinal is to go back, its proof rests and stays owed. If the direction changes again before,
// it goes on. A proven one has nothing that rests.
func TestProofRests(t *testing.T) {
	s := plantest.Parted(plantest.InTurn(unbudgeted, proves(owed(3, isUnread))))
	s.Record = AsHandoff(s.Record, 3)
	p := proofPlanner{viewOf(s)}
	rests := p.setWithdrawn(true)
	if rests == nil {
		t.Fatal("it does not rest")
	}
	proof := api.CopyAhead{Ordinal: 3, Volumes: rests.Record.Handoff.Volumes}
	if !withdrawn(proof) || withdrawn(owed(3, isUnread)) || withdrawn(owed(3, isEqual)) || !proof.Volumes[0].Copy.OwesProof() {
		t.Errorf("%+v", proof)
	}
	s.Record = *rests.Record
	p = proofPlanner{viewOf(s)}
	if again := p.setWithdrawn(true); again != nil {
		t.Errorf("again: %+v", again)
	}
	if back := p.setWithdrawn(false); back == nil || back.Record.Handoff.Volumes[0].Copy.Seal.Proof.Withdrawn {
		t.Errorf("it does not go on: %+v", back)
	}
	s.Record.Handoff, s.Record.Proofs, s.Spec.Mode = nil, []api.CopyAhead{proof}, api.ModeRollback
	if decision := (proofPlanner{viewOf(s)}).end(); decision != nil {
		t.Errorf("a rollback waits for it: %+v", decision)
	}
	if s.Spec.Mode = api.ModeRun; (proofPlanner{viewOf(s)}).end() == nil {
		t.Error("the way there does not wait for it")
	}
}

// TestArrivalCountsItsProof: an ordinal that arrives and owes a proof counts when the next handoff begins in its place.
func TestArrivalCountsItsProof(t *testing.T) {
	for n, begins := range map[int]bool{mostProofs - 2: true, mostProofs - 1: false} {
		s := sixAtOnce(api.HighestFirst, plantest.OfRange(0, 5), plantest.OfRange(5, 1), 5, 5)
		pod, _ := s.Source.Pod(5)
		s.Source.RemovePod(5)
		s.Destination.SetPod(pod)
		s.Record.Handoff.Volumes = owed(5, isUnread).Volumes
		for i := range n {
			s.Record.Proofs = append(s.Record.Proofs, owed(int32(10+i), isUnread))
		}
		s.Record.Baseline.Volumes = []api.VolumeSpec{api.AskedOf(s.Spec.Volumes, "data")}
		s.Record.Baseline.DisruptionBudget = nil
		next := handoffOf(viewOf(s)).arrive(5).Record
		if len(next.Proofs) != n+1 || (next.Handoff != nil) != begins {
			t.Errorf("%d were owed: %d are, and %+v begins", n, len(next.Proofs), next.Handoff)
		}
	}
}

// TestArrivalAwaitsProofsThatEnd: on the way back, no handoff begins with an arrival while the work of a proof has not
// ended: it could be that of the next ordinal, whose handoff would leave the prover at its volume.
func TestArrivalAwaitsProofsThatEnd(t *testing.T) {
	for _, ended := range []bool{true, false} {
		s := sixAtOnce(api.HighestFirst, plantest.OfRange(0, 4), plantest.OfRange(4, 2), 3, 3)
		s.Spec.Mode = api.ModeRollback
		s.Record.Proofs = []api.CopyAhead{owed(4, func(p *api.CopySeal) { p.Proof.Withdrawn = ended })}
		unbudgeted(&s)
		s.Record.Baseline.Volumes = []api.VolumeSpec{api.AskedOf(s.Spec.Volumes, "data")}
		for _, k := range []int32{4, 5} {
			pod, _ := s.Source.Pod(k)
			s.Source.RemovePod(k)
			s.Destination.SetPod(pod)
		}
		if next := handoffOf(viewOf(s)).arrive(3).Record; (next.Handoff != nil) != ended {
			t.Errorf("ended: %t, and %+v begins", ended, next.Handoff)
		}
	}
}
