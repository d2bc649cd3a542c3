package copy

import (
	"cmp"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// A late proof (copy.verify: Later). The last pass has sent the changes, read them back at the receiver, and compared
// everything but the contents with the source. Its root is that of the receiver, over digests of parts that were read
// back when they were written. After the ordinal has started, a prover reads the volume that the ordinal has left:
//
//	lend      the parked volume is pointed at the outgoing claim, which nothing but the prover mounts
//	read      the prover reads all of it, alone, and reports its root. It does not know the root of the copy
//	compare   both roots are recorded, with the disk that was read
//	park      the prover is deleted, the volume is parked again, and the outgoing claim is deleted
//
// The two roots come from two pods on two disks, so a root is never compared with itself. The copy itself is not read
// again: the application writes to it by then. To name the path and the part that differ all the same, the receiver
// reports a tally, a summary of fixed size of all parts, and the prover looks for what explains the difference between
// that tally and its own (tree.Tally). If too many parts differ, none is named; that they differ is certain.
//
// A root that differs stops the migration, and nothing else: the ordinal keeps running, and both volumes are kept. A
// volume that cannot be read is read again by another prover, with pauses that grow.

// prove reads the volume that the ordinal has left, and compares it with the copy. It is done when the copy is proven or
// accepted, and nothing of that work is left.
func (v view) prove() volumes.Verdict {
	proof, problem := v.Attempt.Seal.Proof, v.Unchanged()
	switch {
	case !v.Attempt.OwesProof():
		return v.unprove()
	case proof.AcceptedBefore && !v.Asked.Accepted:
		return v.proven(func(p *api.CopyProof) { p.AcceptedBefore = false })
	case v.Asked.Accepted && !proof.AcceptedBefore && v.reported(problem):
		return v.proven(func(p *api.CopyProof) { p.AcceptedTime = metav1.NewTime(v.Now) })
	case proof.Root != "":
		return volumes.First(v.unprove, func() volumes.Verdict { return volumes.Held(differing(v.named(), v.Template, v.Attempt)) })
	case problem != nil && proof.Trouble != cut(problem.Message):
		return v.found(func(p *api.CopyProof) { p.Trouble, p.TroubleTime = cut(problem.Message), metav1.NewTime(v.Now) })
	case problem != nil:
		return volumes.First(v.unprove, func() volumes.Verdict { return volumes.Held(problem) })
	case proof.Tries == 0 && proof.Trouble != "": // it was seen again, and is read
		return v.proven(func(p *api.CopyProof) { p.Trouble, p.TroubleTime, p.AcceptedBefore = "", metav1.Time{}, false })
	}
	return volumes.First(v.Lend, v.prover)
}

// reported reports whether the record has anything that the user may accept: only that could be seen before.
func (v view) reported(problem *volumes.Reason) bool {
	proof := v.Attempt.Seal.Proof
	return proof.Root != "" || proof.Tries > 0 || problem != nil && proof.Trouble == cut(problem.Message)
}

// unprove ends the work of a proof, whatever it has found.
func (v view) unprove() volumes.Verdict {
	if v.Attempt.Seal.Verify != api.CopyVerifyLater {
		return volumes.Verdict{}
	}
	return volumes.First(func() volumes.Verdict { return v.slowly(v.remove(volumes.RoleProver)) }, v.TakeBack)
}

// prover creates the pod that reads the volume, and records what it reports.
func (v view) prover() volumes.Verdict {
	m, proof := v.Prover, v.Attempt.Seal.Proof
	switch left := v.left(growing(proof.Tries), proof.TroubleTime.Time); {
	case m.Found && m.Foreign:
		return v.foreignPod(volumes.RoleProver)
	case m.Found && m.Terminating:
		return v.slowly(v.ends(volumes.RoleProver))
	case m.Found && (m.Attempt != v.Attempt.Number || m.Pass != proof.Tries+1):
		return v.remove(volumes.RoleProver)
	case !m.Found && left > 0:
		verdict := volumes.Awaits("another mover reads volume %s, from %s on: %s", v.Giver.Volume.Name, v.Now.Add(left).UTC().Format(time.RFC3339), proof.Trouble)
		verdict.Look = left
		return verdict
	case !m.Found:
		verdict := v.onMover(volumes.CreateMover, volumes.RoleProver)
		verdict.Action.Copy.Pass, verdict.Action.Copy.Tally = proof.Tries+1, v.Attempt.Seal.Tally
		return verdict
	case m.Fence != v.Fence:
		return v.onMover(volumes.MarkMover, volumes.RoleProver)
	case !m.Ended:
		return v.slowly(volumes.Awaits("pod %s has read volume %s whole%s; the ordinal runs", v.pod(volumes.RoleProver), v.Giver.Volume.Name, trouble(m)))
	case m.Result.Alone && m.Result.Done && m.Result.Root != "":
		return v.compareLate(m.Result)
	}
	why := cut(fmt.Sprintf("pod %s failed: %s", v.pod(volumes.RoleProver), cmp.Or(m.Result.Message, m.Trouble, "it reported nothing")))
	return v.found(func(p *api.CopyProof) {
		p.Tries, p.Trouble, p.TroubleTime = p.Tries+1, why, metav1.NewTime(v.Now)
	})
}

// compareLate records the root of the volume that the ordinal has left.
func (v view) compareLate(read volumes.MoverResult) volumes.Verdict {
	record := v.proven
	if read.Root != v.Attempt.Seal.Root {
		record = v.found
	}
	return record(func(p *api.CopyProof) {
		*p = api.CopyProof{
			Root: read.Root, From: volumes.Disk(v.Giver.Volume.Handle), ReadTime: metav1.NewTime(v.Now),
			Read: read.Read, Seconds: read.Seconds, Tries: p.Tries,
		}
		if read.Root != v.Attempt.Seal.Root {
			p.Differs = cut(cmp.Or(read.Differs, "no path can be named"))
		}
	})
}

// proven records a change of the proof.
func (v view) proven(change func(*api.CopyProof)) volumes.Verdict {
	next := v.Attempt
	change(&next.Seal.Proof)
	return volumes.Verdict{Attempt: &next}
}

// found records something that only the user may accept. An acceptance that was given before it is for something else.
func (v view) found(change func(*api.CopyProof)) volumes.Verdict {
	return v.proven(func(p *api.CopyProof) {
		change(p)
		p.AcceptedBefore = v.Asked.Accepted
	})
}

func (v view) named() string {
	return fmt.Sprintf("claim %s/%s", v.Giver.Ref.Namespace, v.Giver.Ref.Name)
}

// differing returns the problem of a copy that is not what its source has.
func differing(claim, template string, attempt api.CopyAttempt) *volumes.Reason {
	seal := attempt.Seal
	return volumes.Stalled(volumes.ReasonCopyProofDiffers,
		fmt.Sprintf("%s: the ordinal runs on a copy that differs from the volume that it has left, first in %s. That volume was read whole after the start, until %s: its root is %s, and the copy had %s. The ordinal keeps running, both volumes are kept, and no other ordinal is stopped",
			claim, seal.Proof.Differs, seal.Proof.ReadTime.UTC().Format(time.RFC3339), seal.Proof.Root, seal.Root),
		fmt.Sprintf("compare that path on both volumes. %s. Or go back: spec.mode: Rollback returns the ordinal to the source with its present data, which include the difference. To have the data as of its stop, restore them from the kept volume; all later writes are lost. "+
			"For the remaining ordinals, read both sides while they are down: --volume %s=copy,...,verify=full", volumes.Accepting(template, seal.Proof), template))
}

// Owed returns why a migration is not completed, for an ordinal that runs on copies of its claims: the first one that
// differs or that cannot be read, or that the proofs are in progress. It is nil if all are proven or accepted.
func Owed(ordinal int32, owed []api.HandoffVolume) *volumes.Reason {
	var waits *volumes.Reason
	for _, v := range owed {
		claim, proof := fmt.Sprintf("ordinal %d, claim template %s", ordinal, v.ClaimTemplate), v.Copy.Seal.Proof
		switch {
		case !v.Copy.OwesProof():
		case proof.Root != "":
			return differing(claim, v.ClaimTemplate, v.Copy)
		case proof.Tries > 0:
			return volumes.Stalled(volumes.ReasonCopyProofUnread,
				fmt.Sprintf("%s: volume %s, which the ordinal has left, cannot be read to its end, so its copy is not proven: %s. %d movers have failed. The ordinal keeps running on its copy, and nothing is deleted", claim, v.Name, proof.Trouble, proof.Tries),
				"check the disk of that volume, its node and its driver; another mover reads it with pauses of up to an hour; "+volumes.Accepting(v.ClaimTemplate, proof))
		case proof.Trouble != "":
			return volumes.Stalled(volumes.ReasonCopyUnprovable, claim+": "+proof.Trouble+". The ordinal keeps running on its copy, and nothing is deleted", volumes.Accepting(v.ClaimTemplate, proof))
		case waits == nil:
			waits = &volumes.Reason{Reason: api.ReasonCopyProofPending, Message: fmt.Sprintf("%s runs on its copy; volume %s, which it has left, is read whole (%s%s)", claim, v.Name, size(v.Copy.Seal.Bytes), about(v.Copy))}
		}
	}
	return waits
}

// about returns how long reading a volume takes, as far as its read rate is known.
func about(attempt api.CopyAttempt) string {
	if attempt.Warm.ReadRate == 0 {
		return ""
	}
	return ", about " + rounded(lasts(float64(attempt.Seal.Bytes), attempt.Warm.ReadRate)).String()
}
