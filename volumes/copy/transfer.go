package copy

import (
	"fmt"
	"time"

	"github.com/sliceshift/sliceshift/volumes"
)

const (
	// mostPasses is how many last passes may end with different roots.
	mostPasses = 3
	// lastLook is how often the movers of a last pass are read: the ordinal is down until both have ended.
	lastLook = 100 * time.Millisecond
)

// view is a pair in the direction of its attempt.
type view struct {
	volumes.Handing
	// warming is true for passes while the ordinal runs.
	warming bool
	// beside is true while the sender of the last pass is created beside the ordinal's pod.
	beside bool
}

func viewOf(pair volumes.Pair) view { return view{Handing: volumes.HandingOf(pair)} }

func blocked(reason, message, remedy string) volumes.Verdict {
	return volumes.Held(volumes.Stalled(reason, message, remedy))
}

// Transfer carries the copy to the taker. If the move has been reversed since the attempt began, it returns the
// volume to its former side, as long as the copy has not been taken over. When it is done, the ordinal may be
// started at the pair's taker.
func (Copy) Transfer(pair volumes.Pair) volumes.Verdict {
	v := viewOf(pair)
	if verdict := v.fill(); !verdict.Done() {
		return verdict
	}
	switch {
	case v.Back, v.Kept:
		return v.back()
	case v.Taken():
		return volumes.First(v.TakeOver, v.quiet) // once both volumes were pointed elsewhere, a late mover mounts none
	default:
		return v.HandOver()
	}
}

// fill makes and seals the copy. No process of its movers is left then.
func (v view) fill() volumes.Verdict {
	return volumes.First(func() volumes.Verdict { return v.dismiss(volumes.RoleWarm) }, v.dismissBase, v.copied)
}

// claim creates the incoming claim, to which no mover writes yet.
func (v view) claim() volumes.Verdict {
	attempt := v.Attempt
	switch {
	case v.Back && v.Taken():
		return v.turned()
	case v.Back, v.Kept, v.Taken(), v.Sealed():
		return volumes.Verdict{}
	case attempt.Number == 0, attempt.Dropped:
		return v.begin()
	case attempt.Holds != "", v.torn():
		return volumes.Verdict{} // another attempt begins for it, or nothing happens before the user has inspected it
	case v.Receiver.Found:
		return volumes.Verdict{} // it has mounted that claim's volume: if the claim is deleted, another claim of its name would have another volume
	}
	return v.incoming()
}

// copied makes the copy, if there is one to make.
func (v view) copied() volumes.Verdict {
	switch {
	case v.Back && v.Taken():
		return v.turned()
	case v.Back, v.Kept, v.Taken():
		return volumes.Verdict{}
	case v.Attempt.Number == 0, v.Attempt.Dropped:
		return v.begin()
	case v.Attempt.Holds != "":
		return v.notNew()
	case v.torn():
		return v.afterTorn()
	case v.outgrown():
		return v.tooSmall()
	}
	verdict := volumes.First(v.takenAway, v.seal)
	if verdict.Look == volumes.Look {
		verdict.Look = lastLook
	}
	return verdict
}

// seal lets both sides be read and recorded as equal. No mover runs after that: nothing writes to sealed content.
func (v view) seal() volumes.Verdict {
	if v.Sealed() {
		return v.quiet()
	}
	return v.lastPass()
}

// begin begins another attempt, once the one before was dropped. The count of failed disks continues, unless
// the attempt goes in the other direction.
func (v view) begin() volumes.Verdict {
	return volumes.First(v.removeAll, v.Drop, func() volumes.Verdict {
		next := v.Begun()
		if !v.Back {
			next.Torn = v.Attempt.Torn
		}
		return volumes.Verdict{Attempt: next}
	})
}

// drop removes an abandoned copy, or what is left beside a copy on which the ordinal has started, with its movers.
func (v view) drop() volumes.Verdict {
	return volumes.First(
		func() volumes.Verdict { return v.dismiss(volumes.RoleWarm) },
		func() volumes.Verdict { return v.dismiss(volumes.RoleSender) },
		func() volumes.Verdict { return v.dismiss(volumes.RoleReceiver) },
		v.Tidy,
	)
}

// incoming creates the claim of the copy.
func (v view) incoming() volumes.Verdict {
	in := v.Incoming
	switch {
	case in.Parked():
		return v.begin() // it was about to be taken over when the move was reversed
	case !in.Claim.Found && (v.Attempt.Begun != v.Fence || v.Attempt.Filling):
		return v.begin() // a late claim of this attempt may still be created; or another claim's volume was never inspected
	case !in.Claim.Found:
		verdict := v.Act(volumes.CreateIncoming, false)
		verdict.Action.Ref, verdict.Action.Copy.Attempt, verdict.Action.Copy.Class = in.Ref, v.Attempt.Number, v.Taker.Volume.Class
		return verdict
	case !in.Claim.Ours || in.Claim.Terminating:
		return blocked(volumes.ReasonForeignClaim, fmt.Sprintf("claim %s/%s, for a copy, was not created by this migration, or is being deleted", in.Ref.Namespace, in.Ref.Name),
			in.Describe())
	}
	return volumes.Verdict{}
}

// filled waits until the incoming claim has its volume. If its class waits for a pod, the receiver is that pod.
func (v view) filled() volumes.Verdict {
	if in := v.Incoming; !in.Bound() {
		return volumes.Awaits("claim %s/%s is bound to a new volume", in.Ref.Namespace, in.Ref.Name)
	}
	return volumes.Verdict{}
}

// lastPass copies all bytes, has both sides read, and records their roots.
func (v view) lastPass() volumes.Verdict {
	if verdict, over := v.ended(); over {
		return verdict
	}
	if v.Attempt.Passes >= mostPasses {
		return volumes.First(v.removeAll, func() volumes.Verdict {
			return blocked(volumes.ReasonCopyDiffers, fmt.Sprintf("after %d passes the copy of claim %s/%s differs from it, first in %q", v.Attempt.Passes, v.Giver.Ref.Namespace, v.Giver.Ref.Name, v.Attempt.Differs),
				"find what writes there, or what the other side's file system cannot store; to return the ordinal: spec.mode: Rollback")
		})
	}
	return volumes.First(
		v.incoming, v.entrance,
		func() volumes.Verdict { return v.meet(volumes.RoleSender) },
		func() volumes.Verdict {
			return volumes.Awaits("pass %d of pod %s to pod %s has ended%s%s", v.pass(), v.pod(volumes.RoleSender), v.pod(volumes.RoleReceiver), v.tornBefore(), v.hampered())
		},
	)
}

// meet creates a receiver and a sender of a role, and gives each the key of the other.
func (v view) meet(sender volumes.Role) volumes.Verdict {
	return volumes.First(
		func() volumes.Verdict { return v.need(volumes.RoleReceiver) },
		v.filled, v.reached, v.base,
		func() volumes.Verdict { return v.need(sender) },
		v.introduce,
	)
}

// back returns the ordinal to the volume that it has left, as long as the copy has not been taken over. The copy and its
// ended movers are dropped once the ordinal runs again.
func (v view) back() volumes.Verdict {
	return volumes.First(
		func() volumes.Verdict { return v.finish(volumes.RoleSender) },
		func() volumes.Verdict {
			if v.Receiver.Ended {
				return volumes.Verdict{}
			}
			return v.dismiss(volumes.RoleReceiver)
		},
		v.GoBack,
	)
}
