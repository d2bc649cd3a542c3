package volumes

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Method is one way to carry the data of a claim from the giver to the taker. All but Apply are
// pure: the same pair, the same answer. A Verdict is asked for again and again, until it is done;
// in between anything may have happened, a crash of this process included.
type Method interface {
	// Separate says whether each side has a volume of its own, also in one cluster: the one that an
	// ordinal has left is kept then.
	Separate() bool
	// Check returns why the pair cannot be moved, or nil. It is asked before anything is changed.
	Check(pair Pair) *Problem
	// Free returns why the taker's place is taken, or nil. It is asked before the ordinal is stopped.
	Free(pair Pair) *Problem
	// Prepare does what can be done while the ordinal still runs at the giver, and must be done
	// before it is stopped.
	Prepare(pair Pair) Verdict
	// Confirm returns why what the giver has may not be what the ordinal was stopped with, or nil.
	// disk is what was recorded of it then; empty: nothing.
	Confirm(pair Pair, disk string) *Problem
	// Transfer brings the data to the taker. It is asked when the giver's pod and the attachments
	// of its volumes are gone. When it is done the ordinal is started at the taker.
	Transfer(pair Pair) Verdict
	// Carried returns why an ordinal that has moved is not known to be on its data, or nil.
	Carried(taken Taken) *Problem
	// Settle leaves the taker's volume as its author had it, once no ordinal is left to move.
	Settle(pair Pair) Verdict
	// AtGiver says whether an action is done in the giver's cluster.
	AtGiver(action Action) bool
	// Apply does one action: exactly one write, refused by the API server when the object has
	// changed since pair was observed. It returns the object as it was written.
	Apply(ctx context.Context, c Carrier, action Action, pair Pair) (client.Object, error)
}

// Ahead is a method that has work done while the ordinal runs, before anything is taken from it.
type Ahead interface {
	// Ahead does the next of it. It is asked before the budget is taken, and again until the ordinal is stopped;
	// when it is done the ordinal may be stopped, and nothing is under way.
	Ahead(pair Pair) Verdict
	// Withdraw has what of it is under way end, waits for nothing, and keeps what it has come to. It is asked when
	// the ordinal is not to be stopped now, and when it was.
	Withdraw(pair Pair) Verdict
	// Fills says whether there is any, as far as that is known: it finds out with Ahead.
	Fills(pair Pair) bool
	// Place has the volume made that another one of the ordinal waits for (Beside.Awaited), and nothing put into it. Ahead does
	// it as well: it is asked where this one is not to be filled yet. It is done where nobody waits for the volume.
	Place(pair Pair) Verdict
}

// Claimer is a method that fills a claim which may be there before anything is put into it.
type Claimer interface {
	// Claim has that claim made. It is asked of the volumes of an ordinal before any of them is filled, while the ordinal runs
	// and once it is down: a class that waits for no pod makes its volume then, and those that wait for one are made within its
	// reach. Where no claim is to be made now it is done; it waits for no other volume.
	Claim(pair Pair) Verdict
}

// Filler is a method that fills a second volume before that is taken over.
type Filler interface {
	// Fill brings the data into the second volume, and takes nothing over: until then the way back is open. It is asked when
	// Transfer is, of all volumes of an ordinal at once, and none of them is transferred before each is filled. Where
	// nothing is to be filled it is done.
	Fill(pair Pair) Verdict
}

// Limited is a method that may take too long while an ordinal is down.
type Limited interface {
	// Overdue says whether the ordinal, which has been down for so long for its volumes, is to go back to what it had.
	Overdue(pair Pair, down time.Duration) bool
}

// ClaimWarner is a method that a person should know something of before it is used for a claim.
type ClaimWarner interface {
	// WarnOf says what.
	WarnOf(pair Pair) []Problem
}

// Warner is a method that a person should know something of before it is used.
type Warner interface {
	// Warn says what.
	Warn(template string) *Problem
}
