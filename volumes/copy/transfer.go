package copy

import (
	"fmt"
	"time"

	"github.com/sliceshift/sliceshift/volumes"
)

// mostPasses is how many last passes may end with different roots.
const mostPasses = 3

// view is a pair, its giver the one of the attempt.
type view struct {
	volumes.Pair
	c volumes.Copying
	// warming: the passes are those that are made while the ordinal runs.
	warming bool
}

// viewOf is a pair as the attempt sees it: where the move has turned round since, its giver is the pair's taker.
func viewOf(pair volumes.Pair) view {
	h := volumes.HandingOf(pair)
	return view{Pair: h.Pair, c: h.Copying}
}

// handing has the steps of the claims and the volumes.
func (v view) handing() volumes.Handing { return volumes.Handing{Pair: v.Pair, Copying: v.c} }

func (v view) act(verb volumes.Verb, atGiver bool) volumes.Verdict {
	return v.handing().Act(verb, atGiver)
}

func (view) waits(format string, a ...any) volumes.Verdict { return volumes.Awaits(format, a...) }

func blocked(reason, message, remedy string) volumes.Verdict {
	return volumes.Verdict{Blocked: &volumes.Problem{Reason: reason, Message: message, Remedy: remedy}}
}

// Transfer brings the copy to the taker. Of an attempt that was begun before the move turned round it
// returns the volume to where it was, as long as the copy has not been taken over. When it is done the
// ordinal may be started at the pair's taker.
func (c Copy) Transfer(pair volumes.Pair) volumes.Verdict {
	if verdict := c.Fill(pair); !verdict.Done() {
		return verdict
	}
	v := viewOf(pair)
	h := v.handing()
	switch {
	case v.c.Back:
		return v.back()
	case v.c.Attempt.Number == 0:
		return volumes.Return(pair)
	case h.Taken():
		return volumes.First(h.TakeOver, h.LetGo)
	}
	return h.HandOver()
}

// Fill has the copy made and sealed, and its movers gone.
func (Copy) Fill(pair volumes.Pair) volumes.Verdict {
	v := viewOf(pair)
	return volumes.First(func() volumes.Verdict { return v.dismiss(volumes.RoleWarm) }, v.dismissBase, v.fill)
}

// Claim has the incoming claim made, and nobody write to it yet.
func (Copy) Claim(pair volumes.Pair) volumes.Verdict {
	v := viewOf(pair)
	h, attempt := v.handing(), v.c.Attempt
	switch {
	case v.c.Back && h.Taken():
		return v.turned()
	case v.c.Back, attempt.Number == 0 && volumes.Returns(v.Pair), h.Taken(), h.Sealed():
		return volumes.Verdict{}
	case attempt.Number == 0, attempt.Dropped:
		return v.begin()
	case attempt.Holds != "", v.torn():
		return volumes.Verdict{} // another one is begun for it, or nothing is before a person has looked
	case v.c.Receiver.Found:
		return volumes.Verdict{} // it has mounted what that claim had: where the claim is gone, another one of its name would have another volume
	}
	return v.incoming()
}

// fill makes the copy, where there is one to be made.
func (v view) fill() volumes.Verdict {
	h := v.handing()
	switch {
	case v.c.Back && h.Taken():
		return v.turned()
	case v.c.Back, v.c.Attempt.Number == 0 && volumes.Returns(v.Pair), h.Taken():
		return volumes.Verdict{}
	case v.c.Attempt.Number == 0, v.c.Attempt.Dropped:
		return v.begin()
	case v.c.Attempt.Holds != "":
		return v.notNew()
	case v.torn():
		return v.afterTorn()
	case v.outgrown():
		return v.tooSmall()
	}
	return volumes.First(h.Release, v.seal)
}

// Overdue says whether an ordinal that is down takes longer to be copied than it may, and can still go back to the volume
// that it had.
func (Copy) Overdue(pair volumes.Pair, down time.Duration) bool {
	v := viewOf(pair)
	return v.c.Asked.Limit > 0 && down > v.c.Asked.Limit && !v.c.Back && !v.handing().Taken()
}

// seal has both sides read and recorded as equal. Movers go after that: nothing writes to what is sealed.
func (v view) seal() volumes.Verdict {
	if v.handing().Sealed() {
		return v.removeAll()
	}
	return v.lastPass()
}

// begin begins another attempt, once the one before was dropped. How often disks have failed before counts on, unless it
// goes the other way.
func (v view) begin() volumes.Verdict {
	return volumes.First(v.removeAll, v.handing().Drop, func() volumes.Verdict {
		next := v.handing().Begun()
		if !v.c.Back {
			next.Torn = v.c.Attempt.Torn
		}
		return volumes.Verdict{Attempt: next}
	})
}

// Drop removes what was copied for nothing, with its movers.
func (Copy) Drop(pair volumes.Pair) volumes.Verdict {
	v := viewOf(pair)
	return volumes.First(
		func() volumes.Verdict { return v.dismiss(volumes.RoleWarm) },
		func() volumes.Verdict { return v.dismiss(volumes.RoleSender) },
		func() volumes.Verdict { return v.dismiss(volumes.RoleReceiver) },
		v.handing().Drop,
	)
}

// incoming makes the claim that the copy is made in.
func (v view) incoming() volumes.Verdict {
	in := v.c.Incoming
	switch {
	case in.Parked():
		return v.begin() // it was about to be taken over when the move turned round
	case !in.Claim.Found && (v.c.Attempt.Begun != v.Fence || v.c.Attempt.Filling):
		return v.begin() // a claim for the one before may still come; and nobody has looked at the volume of another one
	case !in.Claim.Found:
		verdict := v.act(volumes.CreateIncoming, false)
		verdict.Action.Ref, verdict.Action.Copy.Attempt, verdict.Action.Copy.Class = in.Ref, v.c.Attempt.Number, v.Taker.Volume.Class
		return verdict
	case !in.Claim.Ours || in.Claim.Terminating:
		return blocked(volumes.ReasonForeignClaim, fmt.Sprintf("claim %s/%s, for a copy, was not made by this migration, or is being deleted", in.Ref.Namespace, in.Ref.Name),
			in.Describe())
	}
	return volumes.Verdict{}
}

// filled waits until the incoming claim has its volume: where its class waits for a pod, the receiver is that.
func (v view) filled() volumes.Verdict {
	if in := v.c.Incoming; !in.Bound() {
		return v.waits("claim %s/%s is bound to a new volume", in.Ref.Namespace, in.Ref.Name)
	}
	return volumes.Verdict{}
}

// lastPass has all bytes carried over, both sides read, and their roots recorded.
func (v view) lastPass() volumes.Verdict {
	if verdict, over := v.ended(); over {
		return verdict
	}
	if v.c.Attempt.Passes >= mostPasses {
		return volumes.First(v.removeAll, func() volumes.Verdict {
			return blocked(volumes.ReasonCopyDiffers, fmt.Sprintf("after %d passes the copy of claim %s/%s differs from it, first in %q", v.c.Attempt.Passes, v.Giver.Ref.Namespace, v.Giver.Ref.Name, v.c.Attempt.Differs),
				"look what writes there, or what the file system of the other side cannot keep; the ordinal goes back with spec.mode: Rollback")
		})
	}
	return volumes.First(
		v.incoming, v.entrance,
		func() volumes.Verdict { return v.meet(volumes.RoleSender) },
		func() volumes.Verdict {
			return v.waits("pass %d of pod %s to pod %s has ended%s%s", v.pass(), v.pod(volumes.RoleSender), v.pod(volumes.RoleReceiver), v.tornBefore(), v.hampered())
		},
	)
}

// meet has a receiver and a sender of a role made, and told of each other.
func (v view) meet(sender volumes.Role) volumes.Verdict {
	return volumes.First(
		func() volumes.Verdict { return v.need(volumes.RoleReceiver) },
		v.filled, v.reached, v.base,
		func() volumes.Verdict { return v.need(sender) },
		v.introduce,
	)
}

// back returns the volume to the giver as long as the copy has not been taken over. What was copied is dropped once
// the ordinal is up again.
func (v view) back() volumes.Verdict {
	return volumes.First(
		func() volumes.Verdict { return v.remove(volumes.RoleSender) },
		func() volumes.Verdict { return v.dismiss(volumes.RoleReceiver) },
		v.handing().GoBack,
	)
}
