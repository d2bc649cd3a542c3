package copy

import (
	"k8s.io/apimachinery/pkg/types"
)

// mover is one of the three, by its role.
func (v View) mover(role Role) Mover {
	switch role {
	case Receiver:
		return v.Receiver
	case Warm:
		return v.Warm
	default:
		return v.Last
	}
}

// need is what must be done before a mover of this attempt runs, knows its key, and is marked with
// the present fence; done: it does.
func (v View) need(role Role, node string) Verdict {
	m := v.mover(role)
	switch {
	case !m.Found:
		verdict := v.act(CreateMover)
		verdict.Action.Role, verdict.Action.Node = role, node
		return verdict
	case m.Terminating:
		return waits("the %s is gone", role)
	case m.Attempt != v.Attempt || m.Ended && !m.said():
		return v.remove(role)
	case m.Fence != v.Fence:
		return v.onMover(MarkMover, role)
	case m.Key == "":
		return waits("the %s has started", role)
	}
	return Verdict{}
}

// said says whether a mover has ended the pass that it was told.
func (m Mover) said() bool { return m.Order.Pass > 0 && m.Result.Order == m.Order }

// remove deletes a mover as it was judged; done: it is gone.
func (v View) remove(role Role) Verdict {
	switch m := v.mover(role); {
	case !m.Found:
		return Verdict{}
	case m.Terminating:
		return waits("the %s is gone", role)
	}
	return v.onMover(DeleteMover, role)
}

// removeAll deletes movers, one after the other.
func (v View) removeAll(roles ...Role) Verdict {
	for _, role := range roles {
		if verdict := v.remove(role); !verdict.Done() {
			return verdict
		}
	}
	return Verdict{}
}

func (v View) onMover(verb Verb, role Role) Verdict {
	m := v.mover(role)
	verdict := v.act(verb)
	verdict.Action.Role, verdict.Action.UID, verdict.Action.ResourceVersion = role, m.UID, m.ResourceVersion
	return verdict
}

// pass has the receiver and a sender make one more pass, unless they are at one: both are told the same
// number and the other one's key, the receiver first. done: both have ended it.
func (v View) pass(sender Role) Verdict {
	from, to := v.mover(sender), v.Receiver
	number := max(from.Order.Pass, to.Order.Pass)
	if together := (Order{number, to.Key}); number == 0 || from.Order != together || to.Order != (Order{number, from.Key}) {
		return v.tell(sender, v.number(sender))
	}
	switch {
	case from.said() && to.said():
		return Verdict{}
	case from.Ended:
		return v.remove(sender)
	case to.Ended: // the other one cannot come to an end without it
		return v.remove(Receiver)
	}
	return waits("pass %d has ended", number)
}

// number is that of the pass which two movers are about to make: one that the receiver was told for
// this sender is gone on with, and any other one is left behind.
func (v View) number(sender Role) int32 {
	from, to := v.mover(sender), v.Receiver
	if to.Order.Peer == from.Key && to.Order.Pass > from.Order.Pass {
		return to.Order.Pass
	}
	return max(from.Order.Pass, to.Order.Pass) + 1
}

func (v View) tell(sender Role, number int32) Verdict {
	role, order := Receiver, Order{number, v.mover(sender).Key}
	if v.Receiver.Order == order {
		role, order = sender, Order{number, v.Receiver.Key}
	}
	verdict := v.onMover(Tell, role)
	verdict.Action.Order = order
	return verdict
}

// again tells both movers of a pass that has ended to make another one.
func (v View) again(sender Role) Verdict { return v.tell(sender, v.Receiver.Order.Pass+1) }

// Healthy says whether a pod may be counted as a healthy replica: of movers none ever is, so that no
// PodDisruptionBudget grants an eviction for one. movers are the UIDs of those that are known.
func Healthy(pod types.UID, ready bool, movers ...types.UID) bool {
	for _, mover := range movers {
		if mover == pod {
			return false
		}
	}
	return ready
}
