package copy

import (
	"cmp"
	"time"

	"github.com/sliceshift/sliceshift/volumes"
)

const (
	// look is how often movers are looked at: nothing tells of all that they do.
	look = 500 * time.Millisecond
	// pause is how long a mover that has failed is kept before another one takes its place, so that it can be seen.
	pause = 5 * time.Second
)

// mover is one of the two, by its role.
func (v view) mover(role volumes.Role) volumes.Mover {
	if role == volumes.RoleReceiver {
		return v.c.Receiver
	}
	return v.c.Sender
}

// ref is the ordinal's claim on the side of a mover.
func (v view) ref(role volumes.Role) volumes.Ref {
	if role == volumes.RoleReceiver {
		return v.Taker.Ref
	}
	return v.Giver.Ref
}

// pass is the number of the pass that is due.
func (v view) pass() int32 { return v.c.Attempt.Passes + 1 }

// current says whether a mover is of the pass that is due, and written by no older process.
func (v view) current(role volumes.Role) bool {
	m := v.mover(role)
	return m.Found && !m.Terminating && m.Attempt == v.c.Attempt.Number && m.Pass == v.pass() && m.Fence == v.Fence
}

// need is what must be done before a mover of this pass knows its key and is marked with the present
// fence; done: it does.
func (v view) need(role volumes.Role) volumes.Verdict {
	m := v.mover(role)
	switch {
	case !m.Found:
		verdict := v.onMover(volumes.CreateMover, role)
		action := &verdict.Action.Copy
		action.Pass, action.Content = v.pass(), v.c.Attempt.Passes > 0
		if role == volumes.RoleSender {
			action.Address = cmp.Or(v.c.Asked.Address, v.c.Entrance.Address)
		}
		return verdict
	case m.Terminating:
		return v.waits("the %s pod %s is gone", role, v.pod(role))
	case m.Attempt != v.c.Attempt.Number || m.Pass != v.pass():
		return v.remove(role)
	case m.Fence != v.Fence:
		return v.onMover(volumes.MarkMover, role)
	case m.Key == "":
		return v.waits("the %s pod %s has made its key%s", role, v.pod(role), trouble(m))
	}
	return volumes.Verdict{}
}

func trouble(m volumes.Mover) string {
	if m.Trouble == "" {
		return ""
	}
	return ": " + m.Trouble
}

func (v view) pod(role volumes.Role) string {
	return PodName(role, v.ref(role), v.Owner, v.c.Attempt.Number)
}

// remove deletes a mover as it was judged; done: it is gone.
func (v view) remove(role volumes.Role) volumes.Verdict {
	switch m := v.mover(role); {
	case !m.Found:
		return volumes.Verdict{}
	case m.Terminating:
		return v.waits("the %s pod %s is gone", role, v.pod(role))
	}
	return v.onMover(volumes.DeleteMover, role)
}

// removeBoth deletes both movers; done: they are gone.
func (v view) removeBoth() volumes.Verdict {
	return first(
		func() volumes.Verdict { return v.remove(volumes.RoleSender) },
		func() volumes.Verdict { return v.remove(volumes.RoleReceiver) },
	)
}

// dismiss deletes the receiver, and waits for nothing: what it writes is not used.
func (v view) dismiss() volumes.Verdict {
	if m := v.c.Receiver; !m.Found || m.Terminating {
		return volumes.Verdict{}
	}
	return v.onMover(volumes.DeleteMover, volumes.RoleReceiver)
}

func (v view) onMover(verb volumes.Verb, role volumes.Role) volumes.Verdict {
	m := v.mover(role)
	verdict := v.act(verb, role == volumes.RoleSender)
	a := verdict.Action
	a.UID, a.ResourceVersion, a.Ref = m.UID, m.ResourceVersion, v.c.Incoming.Ref
	if role == volumes.RoleSender {
		a.Ref = v.c.Outgoing.Ref
	}
	a.Copy.Role, a.Copy.Attempt, a.Copy.Pod = role, v.c.Attempt.Number, v.pod(role)
	return verdict
}

// introduce tells both movers the key of the other one, the receiver first; done: both know it.
func (v view) introduce() volumes.Verdict {
	r, s := v.c.Receiver, v.c.Sender
	switch {
	case r.Peer != "" && r.Peer != s.Key || s.Peer != "" && s.Peer != r.Key:
		return v.removeBoth() // one of them has taken the place of another
	case r.Peer == "":
		return v.tell(volumes.RoleReceiver, s.Key)
	case s.Peer == "":
		return v.tell(volumes.RoleSender, r.Key)
	}
	return volumes.Verdict{}
}

func (v view) tell(role volumes.Role, peer string) volumes.Verdict {
	verdict := v.onMover(volumes.TellMover, role)
	verdict.Action.Copy.Peer = peer
	return verdict
}

// ended is what follows from movers that have come to their end, and whether any of both has.
func (v view) ended() (volumes.Verdict, bool) {
	r, s := v.c.Receiver, v.c.Sender
	receives, sends := v.current(volumes.RoleReceiver), v.current(volumes.RoleSender)
	received, sent := receives && did(r), sends && did(s)
	switch {
	case receives && r.Result.Torn:
		return v.begin(), true
	case received && sent:
		return v.compared(), true
	case receives && r.Ended && r.Result.Differs != "":
		return v.differs(r.Result.Differs), true
	case receives && r.Ended && !received:
		return v.failed(volumes.RoleReceiver), true
	case sends && s.Ended && !sent && !received:
		return v.failed(volumes.RoleSender), true
	case receives && alone(r, s), sends && alone(s, r):
		return v.removeBoth(), true
	}
	return volumes.Verdict{}, false
}

// alone says whether a mover waits for one that was lost.
func alone(m, other volumes.Mover) bool { return m.Peer != "" && !other.Found }

// did says whether a mover has come to the end of its pass, and found both sides equal.
func did(m volumes.Mover) bool { return m.Ended && m.Result.Done }

// compared records that both sides have shown the same root.
func (v view) compared() volumes.Verdict {
	from, to := v.c.Sender.Result, v.c.Receiver.Result
	if to.Root == "" || from.Root != to.Root {
		return v.differs(cmp.Or(to.Differs, from.Differs, "the root of both"))
	}
	next := v.c.Attempt
	next.Seal.Root, next.Seal.Released, next.Seal.Volume = to.Root, v.Giver.Volume.Released, v.c.Incoming.Volume.Name
	next.Seal.From, next.Seal.To = volumes.Disk(v.Giver.Volume.Handle), volumes.Disk(v.c.Incoming.Volume.Handle)
	next.Seal.Bytes, next.Seal.Files, next.Seal.Seconds = to.Bytes, to.Files, to.Seconds
	return volumes.Verdict{Attempt: &next}
}

// differs records that a pass has ended with different roots. Its movers are of no use any more then.
func (v view) differs(path string) volumes.Verdict {
	next := v.c.Attempt
	next.Passes, next.Differs = v.pass(), cut(path)
	return volumes.Verdict{Attempt: &next}
}

// cut bounds what is recorded of a path.
func cut(path string) string {
	const most = 256
	if len(path) <= most {
		return path
	}
	return path[:most] + "..."
}

// failed has a mover and its peer made anew, after a while: another try may help.
func (v view) failed(role volumes.Role) volumes.Verdict {
	m := v.mover(role)
	if left := pause - v.c.Now.Sub(m.EndedAt); left > 0 && left <= pause {
		verdict := v.waits("the copy is tried again: the %s pod %s failed: %s", role, v.pod(role), cmp.Or(m.Result.Message, m.Trouble, "it said nothing"))
		verdict.Look = left
		return verdict
	}
	return v.removeBoth()
}
