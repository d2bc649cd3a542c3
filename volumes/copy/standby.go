package copy

import (
	"fmt"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// standby creates the movers of the last pass while the ordinal runs, so that no pod is created, scheduled or
// started while it is down. They know what they will do and copy nothing: the receiver has a key and no peer. The
// sender reads beside the ordinal's pod, on its node and its claim, and stays there when that pod is stopped. It gets
// the key of the receiver now: once its volume is taken from the claim, a kubelet updates no annotation file of that
// pod any more (kubernetes desired_state_of_world_populator.go, processPodVolumes). So the last pass begins with one
// write, the key of the sender on the receiver, after the volume was taken away.
//
// A sender on the outgoing claim would not serve for this. That claim is bound after the stop, and a kubelet that
// found it unbound starts the pod only when it syncs the pod again, 10 s to 15 s later (kubelet.go, backOffPeriod).
func (v view) standby() volumes.Verdict {
	if v.Back || v.Early || v.Down {
		return volumes.Verdict{}
	}
	poised := v
	poised.warming, poised.beside = false, true
	verdict := func() volumes.Verdict {
		return volumes.First(poised.unfit, poised.hindered, poised.incoming, poised.entrance, poised.poise, poised.keep)
	}
	if v.warms() {
		return verdict() // it grows stale, and then the next warm pass reports what it lacks
	}
	return volumes.First(v.unable, func() volumes.Verdict { return poised.told(verdict()) })
}

// unable begins an attempt for an ordinal that is copied only once it is down, or reports why its new volume cannot be
// used. Its receiver stands by nevertheless: the volume is provisioned and mounted before the stop.
func (v view) unable() volumes.Verdict {
	v.warming = true // the ordinal runs
	switch {
	case v.Attempt.Number == 0, v.Attempt.Dropped:
		return v.begin()
	case v.Attempt.Holds != "":
		return v.notNew()
	case v.torn():
		return v.afterTorn()
	case v.outgrown():
		return v.grow()
	case v.Attempt.Seal.Root != "":
		return v.unsealed()
	}
	return volumes.Verdict{}
}

// keep makes the new volume survive the loss of its claim, once a receiver has found it empty.
func (v view) keep() volumes.Verdict {
	if !v.Attempt.Filling {
		return volumes.Verdict{}
	}
	return v.SecureIncoming()
}

// poise creates both movers, which start at the same time, and introduces the receiver to the sender.
func (v view) poise() volumes.Verdict {
	receiver := volumes.First(func() volumes.Verdict { return v.need(volumes.RoleReceiver) }, v.filled, v.reached)
	if receiver.Waits == "" && !receiver.Done() || !v.reached().Done() {
		return receiver
	}
	if sender := v.sender(); sender.Action != nil || receiver.Done() {
		return sender
	}
	return receiver
}

// sender creates the sender of the last pass beside the ordinal's pod, and gives it the key of the receiver. It does
// nothing where that sender is created after the stop.
func (v view) sender() volumes.Verdict {
	s, r := v.Sender, v.Receiver
	switch {
	case v.exclusive():
		return v.remove(volumes.RoleSender)
	case !s.Found && v.Pod.Amiss() != "":
		return volumes.Verdict{}
	}
	return volumes.First(
		func() volumes.Verdict { return v.need(volumes.RoleSender) },
		func() volumes.Verdict {
			if s.Peer != "" || r.Key == "" {
				return volumes.Verdict{}
			}
			return v.tell(volumes.RoleSender, r.Key)
		},
	)
}

// exclusive reports whether no sender may stay on the ordinal's claim when the ordinal is stopped: no second pod mounts
// it, or a VolumeAttachment shows that it is mounted. The end of that attachment is the only proof that a pod which
// another client has deleted by force does not write any more (I3). A sender that kept the volume attached would
// take that proof away, so such a volume is detached first, and its sender is created on the outgoing claim.
func (v view) exclusive() bool {
	return !v.warms() || v.based() || v.Giver.Claim.OncePod || len(v.Giver.Volume.Attachments) > 0
}

// unfit removes movers that cannot make the last pass: they have ended, or belong to another pass.
func (v view) unfit() volumes.Verdict {
	r, s := v.Receiver, v.Sender
	switch {
	case v.current(volumes.RoleReceiver) && r.Ended:
		return volumes.First(func() volumes.Verdict { return v.spoiled(r) }, func() volumes.Verdict { return v.failed(volumes.RoleReceiver) })
	case v.current(volumes.RoleSender) && s.Ended:
		return v.failed(volumes.RoleSender)
	case s.Found && (!v.besides(s) || s.Peer != "" && s.Peer != r.Key):
		return v.remove(volumes.RoleSender)
	case r.Found && v.due(r) && r.Peer != "":
		return v.remove(volumes.RoleReceiver)
	}
	return volumes.Verdict{}
}

// besides reports whether a mover reads beside the ordinal's pod, on the same claim.
func (v view) besides(m volumes.Mover) bool {
	return m.Found && !m.Foreign && m.Claim == v.Giver.Ref.Name
}

// serves reports whether the sender that was created beside the ordinal's pod can make the last pass: it has mounted
// the volume, and knows its receiver. After the volume was taken from its claim, it can get neither.
func (v view) serves() bool {
	s, r := v.Sender, v.Receiver
	return v.besides(s) && !s.Terminating && v.due(s) && s.Key != "" && r.Found && r.Key != "" && s.Peer == r.Key
}

// standing reports whether a mover stands by for the last pass.
func (v view) standing(role volumes.Role) bool {
	v.warming = false
	m := v.mover(role)
	if !m.Found || m.Foreign || !v.due(m) {
		return false
	}
	if role == volumes.RoleSender {
		return v.besides(m)
	}
	return m.Peer == ""
}

// unwarm deletes what warm passes have left. Movers that stand by for the last pass stay.
func (v view) unwarm() volumes.Verdict {
	unless := func(role volumes.Role) func() volumes.Verdict {
		return func() volumes.Verdict {
			if v.standing(role) {
				return volumes.Verdict{}
			}
			return v.remove(role)
		}
	}
	return volumes.First(
		func() volumes.Verdict { return v.remove(volumes.RoleWarm) },
		unless(volumes.RoleSender), unless(volumes.RoleReceiver), v.dropBase,
	)
}

// takenAway takes the volume from the ordinal's claim. A sender that has mounted it before needs no other claim, and
// neither does a copy that is sealed.
func (v view) takenAway() volumes.Verdict {
	return volumes.First(v.TakeAway, func() volumes.Verdict {
		if v.Sealed() || v.serves() {
			return volumes.Verdict{}
		}
		return v.BindOutgoing()
	})
}

// standDown deletes movers that stand by, and waits for nothing. Before the stop these are both. After it, the sender
// is deleted only if it holds the attachment that the release of the ordinal waits for.
func (v view) standDown() volumes.Verdict {
	s, holds := v.besides(v.Sender), len(v.Giver.Volume.Attachments) > 0 && v.Giver.Volume.ClaimRef.Names(v.Giver.Ref)
	if s && (!v.Stopped || holds) {
		if verdict := v.dismiss(volumes.RoleSender); !verdict.Done() {
			return verdict
		}
	}
	if v.Receiver.Warm || !v.Stopped && v.Receiver.Peer == "" {
		return v.dismiss(volumes.RoleReceiver)
	}
	return volumes.Verdict{}
}

// quiet lets no mover run any more that has one of the two volumes mounted. A mover that has ended stays until the
// ordinal has been started: none of its processes is left, and its kubelet unmounts the volume. It is deleted before, and
// not waited for, if it names a claim that is being deleted: such a claim stays as long as any pod names it
// (kubernetes pvc_protection_controller.go, podUsesPVCForDeletion).
func (v view) quiet() volumes.Verdict {
	return volumes.First(
		func() volumes.Verdict { return v.remove(volumes.RoleWarm) },
		func() volumes.Verdict { return v.finish(volumes.RoleSender) },
		func() volumes.Verdict { return v.finish(volumes.RoleReceiver) },
	)
}

// finish deletes a mover unless it has ended. It is done when no process of it is left.
func (v view) finish(role volumes.Role) volumes.Verdict {
	switch m := v.mover(role); {
	case !m.Ended || m.Foreign:
		return v.remove(role)
	case v.ClaimEnds && v.besides(m):
		return v.dismiss(role)
	}
	return volumes.Verdict{}
}

// sendsLate returns the warning that the sender of the last pass starts only after the stop, and what that costs.
func (v view) sendsLate() *volumes.Reason {
	attached := v.Giver.Volume.Attachments
	why, cost := "its warm passes read a snapshot, because no second pod is to mount the claim", "the start of that pod"
	switch {
	case !v.warms() || v.Giver.Claim.OncePod:
		return nil
	case v.Asked.Warm == api.CopyWarmSnapshot:
	case len(attached) > 0:
		why = fmt.Sprintf("volume %s is attached to node %s, and only its detachment proves that no process writes to it any more", v.Giver.Volume.Name, attached[0].Node)
		cost = "a detachment and an attachment of that volume, and the start of that pod"
	default:
		return nil
	}
	return &volumes.Reason{
		Reason: volumes.ReasonCopySendsLate,
		Message: fmt.Sprintf("the pod that reads the last changes of claim %s/%s of claim template %s is created after the stop of its ordinal: %s. The downtime includes %s",
			v.Giver.Ref.Namespace, v.Giver.Ref.Name, v.Template, why, cost),
		Remedy: fmt.Sprintf("expect that time in addition to the projection. To choose the moment of the stop: --volume %[1]s=copy,...,cutover=manual, or copy.cutover: Manual for claim template %[1]s in spec.volumes", v.Template),
	}
}
