package copy

import (
	"cmp"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// pause is how long a failed mover is kept for inspection before another one replaces it.
const pause = 5 * time.Second

// mover returns the mover of a role.
func (v view) mover(role volumes.Role) volumes.Mover {
	switch role {
	case volumes.RoleReceiver:
		return v.Receiver
	case volumes.RoleWarm:
		return v.Warm
	case volumes.RoleProver:
		return v.Prover
	default:
		return v.Sender
	}
}

// sends returns the role of the sender in the present passes.
func (v view) sends() volumes.Role {
	if v.warming {
		return volumes.RoleWarm
	}
	return volumes.RoleSender
}

// ref returns the ordinal's claim on the side of a mover.
func (v view) ref(role volumes.Role) volumes.Ref { return v.side(role).Ref }

// side returns the side of a mover's pod.
func (v view) side(role volumes.Role) volumes.Holding {
	if role == volumes.RoleReceiver {
		return v.Taker
	}
	return v.Giver
}

// describe returns the command that shows a mover's pod.
func (v view) describe(role volumes.Role) string {
	return v.side(role).Command("describe pod -n %s %s", v.ref(role).Namespace, v.pod(role))
}

// pass returns the number of the pass that is due. Warm passes are counted separately.
func (v view) pass() int32 {
	if v.warming {
		return v.Attempt.Warm.Passes + 1
	}
	return v.Attempt.Passes + 1
}

// due reports whether a mover was created for the pass that is due, with the requested transport. A mover of a
// warm pass is never mistaken for one of the last pass: the ordinal has written since.
func (v view) due(m volumes.Mover) bool {
	return m.Attempt == v.Attempt.Number && m.Pass == v.pass() && m.Warm == v.warming && m.Relayed == v.relays()
}

// current reports whether a mover belongs to the pass that is due and carries the present fence.
func (v view) current(role volumes.Role) bool {
	m := v.mover(role)
	return m.Found && !m.Foreign && !m.Terminating && v.due(m) && m.Fence == v.Fence
}

// need returns the next step until a mover of this pass has reported its key and carries the present fence. It
// is done when both are true.
func (v view) need(role volumes.Role) volumes.Verdict {
	m := v.mover(role)
	switch {
	case !m.Found && role == volumes.RoleReceiver && !v.Incoming.Bound() && v.Beside.Unplaced != "":
		return v.Beside.Wait(v.Incoming.Ref)
	case !m.Found:
		return v.create(role)
	case m.Foreign:
		return v.foreignPod(role)
	case m.Terminating:
		return v.ends(role)
	case !v.due(m), role == volumes.RoleSender && !v.beside && v.besides(m) && !v.serves():
		return v.remove(role)
	case m.Fence != v.Fence:
		return v.onMover(volumes.MarkMover, role)
	case m.Key == "":
		return volumes.Awaits("the %s pod %s has created its key%s", role, v.pod(role), trouble(m))
	}
	return volumes.Verdict{}
}

// create creates the mover of a role for the pass that is due.
func (v view) create(role volumes.Role) volumes.Verdict {
	verdict := v.onMover(volumes.CreateMover, role)
	action := &verdict.Action.Copy
	action.Pass, action.Warm, action.Content = v.pass(), v.warming, !v.warming && v.Attempt.Passes > 0
	if action.Verify = v.verify(); keeps(action.Verify) && (role != volumes.RoleWarm || !v.based()) {
		action.Copy = v.Incoming.Ref.Name
	}
	action.Relayed, action.Fresh = v.relays(), role == volumes.RoleReceiver && !v.Attempt.Filling
	if role != volumes.RoleReceiver && !action.Relayed {
		action.Address = cmp.Or(v.Asked.Address, v.Entrance.Address)
	}
	if role == volumes.RoleWarm && !v.based() || role == volumes.RoleSender && v.beside {
		action.Node = v.Pod.Node
	}
	return verdict
}

func trouble(m volumes.Mover) string {
	if m.Trouble == "" {
		return ""
	}
	return ": " + m.Trouble
}

func (v view) pod(role volumes.Role) string {
	return PodName(role, v.ref(role), v.Owner, v.Attempt.Number)
}

// remove deletes a mover in the version that was judged. It is done when the mover does not exist.
func (v view) remove(role volumes.Role) volumes.Verdict {
	switch m := v.mover(role); {
	case !m.Found:
		return volumes.Verdict{}
	case m.Foreign:
		return v.foreignPod(role)
	case m.Terminating:
		return v.ends(role)
	}
	return v.onMover(volumes.DeleteMover, role)
}

// ends waits until a mover that is being deleted does not exist any more.
func (v view) ends(role volumes.Role) volumes.Verdict {
	return volumes.Awaits("the %s pod %s is deleted%s", role, v.pod(role), volumes.KeptBy(v.mover(role).Keeps))
}

// foreignPod returns the problem of a pod with a mover's name that this migration has not created. It may be
// using the claim.
func (v view) foreignPod(role volumes.Role) volumes.Verdict {
	namespace, name := v.ref(role).Namespace, v.pod(role)
	return blocked(volumes.ReasonForeignPod, fmt.Sprintf("pod %s/%s has the name of a %s, and this migration did not create it: it may write to the claim", namespace, name, role),
		"inspect it, then delete it: "+v.describe(role))
}

// removeAll deletes all movers, first the warm one, which runs beside the ordinal's own pod. Then it deletes
// the claim and snapshot that the warm one has read. It is done when none exists.
func (v view) removeAll() volumes.Verdict {
	return volumes.First(
		func() volumes.Verdict { return v.remove(volumes.RoleWarm) },
		func() volumes.Verdict { return v.remove(volumes.RoleSender) },
		func() volumes.Verdict { return v.remove(volumes.RoleReceiver) },
		v.dropBase,
	)
}

// dismiss deletes a mover without waiting: its further work is useless but harmless.
func (v view) dismiss(role volumes.Role) volumes.Verdict {
	if m := v.mover(role); !m.Found || m.Terminating || m.Foreign {
		return volumes.Verdict{}
	}
	return v.onMover(volumes.DeleteMover, role)
}

func (v view) onMover(verb volumes.Verb, role volumes.Role) volumes.Verdict {
	m := v.mover(role)
	verdict := v.Act(verb, role != volumes.RoleReceiver)
	a := verdict.Action
	a.UID, a.ResourceVersion, a.Ref = m.UID, m.ResourceVersion, v.Incoming.Ref
	switch role {
	case volumes.RoleSender:
		if a.Ref = v.Outgoing.Ref; v.beside {
			a.Ref = v.Giver.Ref
		}
	case volumes.RoleProver:
		a.Ref = v.Outgoing.Ref
	case volumes.RoleWarm:
		a.Ref = v.Giver.Ref
		if v.based() {
			a.Ref = v.baseRef()
		}
	default:
	}
	a.Copy.Role, a.Copy.Attempt, a.Copy.Pod = role, v.Attempt.Number, v.pod(role)
	return verdict
}

// introduce writes to each mover the key of the other, the receiver first. It is done when both have it.
func (v view) introduce() volumes.Verdict {
	r, s := v.Receiver, v.mover(v.sends())
	switch {
	case r.Peer != "" && r.Peer != s.Key || s.Peer != "" && s.Peer != r.Key:
		return v.removeAll() // one of them has replaced an earlier one
	case !v.Attempt.Filling: // the receiver has a key, so the volume is empty
		next := v.Attempt
		next.Filling = true
		return volumes.Verdict{Attempt: &next}
	case r.Peer == "":
		return v.tell(volumes.RoleReceiver, s.Key)
	case s.Peer == "":
		return v.tell(v.sends(), r.Key)
	}
	return volumes.Verdict{}
}

func (v view) tell(role volumes.Role, peer string) volumes.Verdict {
	verdict := v.onMover(volumes.TellMover, role)
	verdict.Action.Copy.Peer = peer
	return verdict
}

// ended returns the step that follows from movers that have ended, and whether any has.
func (v view) ended() (volumes.Verdict, bool) {
	r, s := v.Receiver, v.mover(v.sends())
	receives, sends := v.current(volumes.RoleReceiver), v.current(v.sends())
	received, sent := receives && did(r), sends && did(s)
	if receives {
		if verdict := v.spoiled(r); !verdict.Done() {
			return verdict, true
		}
	}
	switch {
	case received && sent:
		return v.passed(), true
	case !v.warming && receives && r.Ended && r.Result.Differs != "":
		return v.differs(r.Result.Differs), true
	case receives && r.Ended && !received:
		return v.failed(volumes.RoleReceiver), true
	case sends && s.Ended && !sent:
		return v.failed(v.sends()), true
	case receives && alone(r, s), sends && alone(s, r):
		return v.removeAll(), true
	}
	return volumes.Verdict{}, false
}

// spoiled records that the new volume cannot be used, whatever else its receiver reports. It is done if no such
// fault is reported.
func (v view) spoiled(r volumes.Mover) volumes.Verdict {
	switch {
	case r.Key != "" && v.lost():
		next := v.Attempt
		next.Dropped = true // first: without its movers the loss could not be detected
		return volumes.Verdict{Attempt: &next}
	case r.Result.Holds != "" && !v.Attempt.Filling: // otherwise the receiver is late, and has found the copy itself
		return v.holds(r.Result.Holds)
	case r.Result.Torn:
		return v.tore()
	}
	return volumes.Verdict{}
}

// lost reports whether the claim that a receiver has mounted is deleted, or is being deleted. The data on it
// are then deleted too. Another claim of that name would have another volume, to which the receiver's report
// does not apply.
func (v view) lost() bool {
	claim := v.Incoming.Claim
	return !claim.Found || claim.Terminating || claim.Phase == corev1.ClaimLost
}

// passed returns the step after a pass that both movers have completed.
func (v view) passed() volumes.Verdict {
	if v.warming {
		return v.warmed()
	}
	return v.compared()
}

// alone reports whether a mover waits for a peer that was lost.
func alone(m, other volumes.Mover) bool { return m.Peer != "" && !other.Found }

// did reports whether a mover has completed its pass and found both sides equal.
func did(m volumes.Mover) bool { return m.Ended && m.Result.Done }

// compared records that both sides have shown the same root.
func (v view) compared() volumes.Verdict {
	from, to := v.Sender.Result, v.Receiver.Result
	if to.Root == "" || from.Root != to.Root && to.Verify != api.CopyVerifyLater {
		return v.differs(cmp.Or(to.Differs, from.Differs, "the root directory"))
	}
	if !v.enough(to.Verify) {
		return v.removeAll() // more was requested meanwhile
	}
	next := v.Attempt
	next.Seal.Root, next.Seal.Released, next.Seal.Volume = to.Root, v.Giver.Volume.Released, v.Incoming.Volume.Name
	next.Seal.From, next.Seal.To = volumes.Disk(v.Giver.Volume.Handle), volumes.Disk(v.Incoming.Volume.Handle)
	next.Torn = api.CopyTorn{}
	next.Seal.Verify, next.Seal.Read, next.Seal.Trusted = to.Verify, from.Read+to.Read, from.Trusted+to.Trusted
	next.Seal.Tally = to.Tally
	next.Seal.Bytes, next.Seal.Files, next.Seal.Written, next.Seal.Seconds = to.Bytes, to.Files, to.Written, to.Seconds
	return volumes.Verdict{Attempt: &next}
}

// differs records that a pass has ended with different roots. Its movers are then of no further use.
func (v view) differs(path string) volumes.Verdict {
	next := v.Attempt
	next.Passes, next.Differs = v.pass(), cut(path)
	return volumes.Verdict{Attempt: &next}
}

// cut bounds the length of a recorded path.
func cut(path string) string {
	const most = 256
	if len(path) <= most {
		return path
	}
	return path[:most] + "..."
}

// failed recreates a mover and its peer after a pause: another try may help.
func (v view) failed(role volumes.Role) volumes.Verdict {
	m := v.mover(role)
	why := fmt.Sprintf("the %s pod %s failed: %s", role, v.pod(role), cmp.Or(m.Result.Message, m.Trouble, "it reported nothing"))
	if v.warming && v.Attempt.Warm.Trouble != cut(why) {
		return v.troubled(v.Now, why)
	}
	if left := v.left(pause, m.EndedAt); left > 0 {
		verdict := volumes.Awaits("the copy is tried again: %s", why)
		verdict.Look = left
		return verdict
	}
	return v.removeAll()
}
