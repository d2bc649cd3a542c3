package copy

import (
	"cmp"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

const (
	// warmLook is how often the movers of a warm pass are read: nothing is down, and many may run.
	warmLook = 2 * time.Second
	// unmounted is how long a warm sender may take to create its key. A node that refuses a second pod for a
	// volume reports it only in events and keeps trying. After this time, that report counts. The time alone
	// proves nothing.
	unmounted = 5 * time.Minute
	// stale is how long after a warm pass an ordinal may still be stopped without another pass. If the pass
	// itself took longer, that time applies: another pass would find as many changes.
	stale = 5 * time.Minute
	// between is the interval between the pods of two warm passes.
	between = 5 * time.Second
	// aging is how long it takes until changes from before a warm pass are old enough to be trusted
	// (differ.Record), with a margin.
	aging = 70 * time.Second
)

// ahead makes passes while the ordinal runs, so that its downtime covers only the latest changes and the proof.
// It is done if a recent pass has ended well and the downtime fits, or if no passes are wanted. No mover
// of a pass is left then.
func (v view) ahead() volumes.Verdict {
	if v.Back {
		return v.turned()
	}
	v.warming = true
	switch {
	case !v.warms():
		return volumes.First(v.place, func() volumes.Verdict { return v.poised(volumes.First(v.coldly, v.word)) })
	case v.Attempt.Number == 0, v.Attempt.Dropped:
		return v.begin()
	case v.Attempt.Holds != "":
		return v.slowly(v.notNew())
	case v.torn():
		return v.slowly(v.afterTorn())
	case v.Attempt.Warm.Passes > 0 && v.lost():
		return v.begin() // what these passes have copied is lost
	case v.outgrown():
		return v.grow()
	case v.chooses():
		return v.choose()
	case v.Asked.Warm == api.CopyWarmSnapshot && !v.based():
		return v.baseless(v.unbased())
	case v.oncePod() && !v.based():
		return v.cold(fmt.Sprintf("%s, and no snapshot can be read: %s", onceOnly, v.unbased()))
	case v.Attempt.Seal.Root != "":
		return v.unsealed()
	case v.astray():
		return v.removeBeside()
	case v.old():
		return v.slowly(volumes.First(func() volumes.Verdict { return v.dismiss(volumes.RoleSender) }, v.warmPass))
	}
	if v.Early {
		return v.removeAll() // whether it may be stopped is decided when it is its turn
	}
	return v.poised(v.cutover())
}

// poised removes the movers of warm passes. If the ordinal is not to be stopped yet, none stands by either.
func (v view) poised(held volumes.Verdict) volumes.Verdict {
	if !held.Done() {
		return volumes.First(v.removeAll, func() volumes.Verdict { return held })
	}
	return v.unwarm()
}

// placed creates the new volume while the ordinal runs, for a volume that is copied later.
func (v view) placed() volumes.Verdict {
	if v.Back {
		return volumes.Verdict{}
	}
	v.warming = true
	return v.place()
}

// place creates the new volume while the ordinal runs, although nothing is copied into it before the stop.
// Another volume of the ordinal must be within its reach, and the passes of that one wait for this. A receiver
// mounts it and gets no peer.
func (v view) place() volumes.Verdict {
	switch {
	case !v.Beside.Awaited || !v.WaitsForPod || v.Incoming.Bound():
		return v.untroubled()
	case v.Attempt.Dropped:
		return v.begin()
	case v.Attempt.Holds != "":
		return v.slowly(v.notNew())
	case v.torn():
		return v.slowly(v.afterTorn())
	}
	if verdict, over := v.ended(); over {
		return v.toldUnplaced(verdict)
	}
	return v.toldUnplaced(volumes.First(v.hindered, v.incoming, func() volumes.Verdict { return v.need(volumes.RoleReceiver) }, v.filled))
}

// withdraw deletes the movers of a warm pass, and those that stand by for the last one. The copied data stay and
// count.
func (v view) withdraw() volumes.Verdict {
	return volumes.First(func() volumes.Verdict { return v.dismiss(volumes.RoleWarm) }, v.standDown, v.dismissBase)
}

// turned handles an ordinal that runs on its copy and must go back. It goes back by a new copy, once the
// take-over is complete.
func (v view) turned() volumes.Verdict {
	if v.Taken() {
		return volumes.First(v.TakeOver, v.LetGo, v.begin)
	}
	return v.begin()
}

// warms reports whether there are passes while the ordinal runs.
func (v view) warms() bool {
	switch {
	case v.Down, v.Asked.Warm == api.CopyWarmNone:
		return false
	case v.auto():
		return v.Attempt.Warm.Refused == "" || v.chooses()
	default:
		return true
	}
}

// oncePod reports whether the API itself keeps a second pod from mounting the claim, and copy.warm is Auto.
func (v view) oncePod() bool {
	return v.Giver.Claim.OncePod && v.auto()
}

// cold records that there is no warm pass.
func (v view) cold(why string) volumes.Verdict {
	next := v.Attempt
	next.Warm.Refused, next.Warm.Ended = cut(why), metav1.NewTime(v.Now)
	next.Warm.Trouble, next.Warm.TroubleSince = "", metav1.Time{}
	return volumes.Verdict{Attempt: &next}
}

// warnings returns those for a claim: that it cannot be copied while its ordinal runs, or what is trusted, or that
// its downtime may exceed the budget; that a relay is slow; and that its last sender starts after the stop.
func (v view) warnings() []volumes.Reason {
	var found []volumes.Reason
	for _, problem := range []*volumes.Reason{cmp.Or(v.once(), v.trusts(), v.proves(), v.doubt()), v.slow(), v.sendsLate()} {
		if problem != nil {
			found = append(found, *problem)
		}
	}
	return found
}

// once returns the warning that a claim cannot be copied while its ordinal runs.
func (v view) once() *volumes.Reason {
	if !v.oncePod() {
		return nil
	}
	return &volumes.Reason{
		Reason: volumes.ReasonCopyCold,
		Message: fmt.Sprintf("claim %s/%s of claim template %s has access mode ReadWriteOncePod: no second pod can copy it while its ordinal runs. Where no snapshot of it can be taken and deleted again, each ordinal is down for its whole copy",
			v.Giver.Ref.Namespace, v.Giver.Ref.Name, v.Template),
		Remedy: fmt.Sprintf("require snapshots, so that no ordinal is stopped without one: --volume %[1]s=copy,...,warm=snapshot; or accept the downtime: warm=none (copy.warm: Snapshot, or None, for claim template %[1]s in spec.volumes)", v.Template),
	}
}

// astray reports whether a sender beside the ordinal's pod may be in the way. That pod is being deleted, does not
// exist, or runs on another node, where it needs the volume.
func (v view) astray() bool {
	astray := func(m volumes.Mover) bool { return !v.Pod.Runs() || m.Node != "" && m.Node != v.Pod.Node }
	return v.Warm.Found && !v.based() && astray(v.Warm) || v.besides(v.Sender) && astray(v.Sender)
}

// unsealed clears a seal: the ordinal has run since, and the copy is written to again.
func (v view) unsealed() volumes.Verdict {
	next := v.Attempt
	next.Seal, next.Passes, next.Differs = api.CopySeal{}, 0, ""
	next.Warm.Known, next.Warm.Young = 0, 0 // the last pass has removed the kept results
	return volumes.Verdict{Attempt: &next}
}

// removeBeside deletes the senders beside the ordinal's pod at once, and then waits.
func (v view) removeBeside() volumes.Verdict {
	return v.slowly(volumes.First(
		func() volumes.Verdict { return v.dismiss(volumes.RoleSender) },
		func() volumes.Verdict { return v.remove(volumes.RoleWarm) },
		func() volumes.Verdict { return v.remove(volumes.RoleSender) },
	))
}

// slowly reduces how often an awaited object is read.
func (view) slowly(verdict volumes.Verdict) volumes.Verdict {
	if verdict.Look == volumes.Look {
		verdict.Look = warmLook
	}
	return verdict
}

// old reports whether another warm pass is due: none has ended well, the last one is too long ago, or another
// one would reduce the last pass. If the last one ended in the future, the clock was set back, and its age is not known.
func (v view) old() bool {
	done := v.Attempt.Warm
	if done.Passes == 0 {
		return true
	}
	took, since := time.Duration(done.Seconds)*time.Second, v.Now.Sub(done.Ended.Time)
	if since > max(stale, took) || since < 0 {
		return true
	}
	if v.Early || !v.automatic() {
		return false
	}
	p := v.project()
	return p.helps(v.budget()) && since >= between || p.settles(v.budget()) && since >= aging
}

// warmPass makes one pass from the ordinal's own claim, beside its pod. If none is possible for long, it is
// reported to the user.
func (v view) warmPass() volumes.Verdict {
	if verdict, over := v.ended(); over {
		return v.told(verdict)
	}
	if verdict := volumes.First(v.refused, v.hindered); !verdict.Done() {
		return verdict
	}
	return v.told(v.onePass())
}

func (v view) onePass() volumes.Verdict {
	begun := v.current(volumes.RoleWarm)
	return volumes.First(
		v.incoming, v.entrance,
		func() volumes.Verdict {
			if amiss := v.Pod.Amiss(); !begun && amiss != "" {
				return volumes.Awaits("pod %s/%s of the ordinal is Ready: %s, and a warm pass runs only beside a Ready pod", v.Giver.Ref.Namespace, v.Pod.Name, amiss)
			}
			return v.meet(volumes.RoleWarm)
		},
		func() volumes.Verdict {
			return volumes.Awaits("warm pass %d of pod %s to pod %s has ended; the ordinal runs%s%s", v.pass(), v.pod(volumes.RoleWarm), v.pod(volumes.RoleReceiver), v.tornBefore(), v.hampered())
		},
	)
}

// refused records that a second pod cannot mount the volume, if the cluster reports that. The copy is then made
// when the ordinal is stopped, if that fits the budget. If the user requested warm passes with Mount, the
// problem is reported and nothing is stopped.
func (v view) refused() volumes.Verdict {
	m := v.Warm
	if !v.current(volumes.RoleWarm) || m.Key != "" || m.Ended || m.Broken || m.Node == "" || m.Refuses == "" || v.Now.Sub(m.Made) < unmounted {
		return volumes.Verdict{}
	}
	if v.based() {
		return v.baseless(fmt.Sprintf("pod %s does not start on node %s: %s", v.pod(volumes.RoleWarm), m.Node, m.Refuses))
	}
	if v.Asked.Warm == api.CopyWarmMount {
		return blocked(volumes.ReasonCopyNotWarm,
			fmt.Sprintf("pod %s does not start on node %s beside the ordinal's own: %s. copy.warm of claim template %s is Mount, so its ordinal is not stopped before a warm pass", v.pod(volumes.RoleWarm), m.Node, m.Refuses, v.Template),
			fmt.Sprintf("%s; to copy without warm passes: copy.warm: None in spec.volumes, or --volume %s=copy,warm=none", v.describe(volumes.RoleWarm), v.Template))
	}
	return v.cold(m.Refuses)
}

// warmed records the result of a warm pass. It is no seal: the ordinal continues to write.
func (v view) warmed() volumes.Verdict {
	from, next := v.Receiver.Result, v.Attempt
	before := next.Warm
	next.Warm = api.CopyWarm{
		Passes: v.pass(), Ended: metav1.NewTime(v.Now),
		Bytes: from.Bytes, Files: from.Files, Written: from.Written, Seconds: from.Seconds,
		Rate: before.Rate, Changes: before.Changes, ReadRate: cmp.Or(slower(from.ReadRate, v.Warm.Result.ReadRate), before.ReadRate),
		Known: from.Known, Young: from.Young,
		By: before.By, Why: before.Why,
	}
	if v.based() {
		next.Warm.Taken = metav1.NewTime(v.Receiver.Made) // the receiver is created before the snapshot is requested
	}
	next.Torn = api.CopyTorn{}
	measure(&next.Warm, before, from.Proving)
	return volumes.Verdict{Attempt: &next}
}
