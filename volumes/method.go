package volumes

// Method is one way to carry the data of a claim from the giver to the taker: its facts, one question, and four
// steps on the way of an ordinal. A method without a step returns the zero Verdict for it.
//
// All functions are pure: the same pair gives the same answer. A Verdict is requested again and again until it is
// done. In between anything can happen, including a crash of this process.
type Method interface {
	// Facts returns the facts of the method, which never change.
	Facts() Facts
	// Check returns why the pair may not go on at a moment, or nil. Before the move it also returns the warnings
	// for the user.
	Check(pair Pair, at Moment) (refused *Reason, warnings []Reason)
	// Ahead returns the next step towards a goal of the work that precedes Transfer. It takes nothing from the
	// ordinal before that is stopped, and after that keeps the way back open.
	Ahead(pair Pair, goal Goal) Verdict
	// Prepare returns the next step that must be done right before the ordinal is stopped.
	Prepare(pair Pair) Verdict
	// Transfer carries the data to the taker. It is called when the giver's pod and the attachments of its
	// volumes no longer exist. When it is done, the ordinal is started at the taker.
	Transfer(pair Pair) Verdict
	// Settle restores the taker's volume to its author's settings, once no ordinal is left to move.
	Settle(pair Pair) Verdict
}

// Facts are always true of a method.
type Facts struct {
	// Separate is true if each side has a volume of its own, also in one cluster. The volume that an ordinal has
	// left is then kept.
	Separate bool
	// Fills reports whether a volume is filled while its ordinal runs (goal Warm), as far as that is known. Nil
	// if the method never does that.
	Fills func(pair Pair) bool
}

// Moment is when a method is asked why a pair may not go on.
type Moment int

// The moments.
const (
	// BeforeMove is before anything is changed.
	BeforeMove Moment = iota
	// BeforeStop is while the ordinal still runs: the taker's place must be free.
	BeforeStop
	// AfterStop is before the first volume of a stopped ordinal is carried: the giver's must be the one that the
	// ordinal was stopped with (Pair.Disk).
	AfterStop
	// AfterArrival is at any time after the ordinal has moved from the pair's giver to its taker: the taker's
	// volume must have its data.
	AfterArrival
)

// Goal is a state of the work that precedes Transfer. The volumes of an ordinal do not wait for each other within
// a goal, and no volume goes on before all have reached the goal before.
type Goal int

// The goals.
const (
	// Claimed: the claim that is filled exists, if it may exist before. It waits for no other volume. A class with
	// immediate binding then provisions its volume, and volumes that wait for a pod are placed within its reach.
	Claimed Goal = iota
	// Warm: the ordinal runs, and may be stopped: what can be done before is done, and no work is in progress.
	Warm
	// Standby: the ordinal runs, is Warm, and is stopped next: the movers of its last pass exist as far as they can
	// before the stop. They copy nothing yet.
	Standby
	// Placed: the ordinal runs, and the volume exists that another volume of the ordinal waits for
	// (Beside.Awaited). Warm includes this; Placed is for a volume that is not to be filled yet.
	Placed
	// Filled: the ordinal is stopped, and the second volume has its data and is not taken over, so the ordinal can
	// still go back.
	Filled
	// Withdrawn: no work of Warm, Standby or Placed is in progress, and its results are kept. It waits for nothing.
	Withdrawn
	// Halted: the ordinal is stopped and is started next, on its second volume or again on its first. No mover runs that has
	// one of the two mounted, and none names a claim that ends.
	Halted
	// Dropped: nothing is left of an attempt that this migration may remove. The ordinal runs where it was when the
	// attempt began, or has arrived on the second volume, and the record then forgets the attempt.
	Dropped
	// Proven: the ordinal runs on its second volume, and that is proven or accepted. No work of a proof is left, and
	// the first volume is parked.
	Proven
	// Unproven: no work of a proof is left, and the first volume is parked, whatever is proven.
	Unproven
)
