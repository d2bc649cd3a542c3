package volumes

import "time"

// Method is one way to carry the data of a claim from the giver to the taker. All functions are pure: the
// same pair gives the same answer. A Verdict is requested again and again until it is done. In
// between anything can happen, including a crash of this process.
type Method interface {
	// Separate reports whether each side has a volume of its own, also in one cluster. The volume that an
	// ordinal has left is then kept.
	Separate() bool
	// Check returns why the pair cannot be moved, or nil. It is called before anything is changed.
	Check(pair Pair) *Problem
	// Free returns why the taker's place is taken, or nil. It is called before the ordinal is stopped.
	Free(pair Pair) *Problem
	// Prepare returns the next step that must be done before the ordinal is stopped, while it still runs at the
	// giver.
	Prepare(pair Pair) Verdict
	// Confirm returns why the giver's volume may not be the one that the ordinal was stopped with, or nil. disk
	// is the digest that was recorded at that time; empty if none was.
	Confirm(pair Pair, disk string) *Problem
	// Transfer carries the data to the taker. It is called when the giver's pod and the attachments of its
	// volumes no longer exist. When it is done, the ordinal is started at the taker.
	Transfer(pair Pair) Verdict
	// Carried returns why an ordinal that has moved is not known to be on its data, or nil.
	Carried(taken Taken) *Problem
	// Settle restores the taker's volume to its author's settings, once no ordinal is left to move.
	Settle(pair Pair) Verdict
}

// Ahead is a method that works while the ordinal runs, before the ordinal is stopped.
type Ahead interface {
	// Ahead returns the next step of that work. It is called before the disruption budget is reserved, and
	// again until the ordinal is stopped. When it is done, the ordinal may be stopped, and no work is in
	// progress.
	Ahead(pair Pair) Verdict
	// Withdraw ends the work in progress without waiting, and keeps its results. It is called when the ordinal
	// is not to be stopped now, and after it was stopped.
	Withdraw(pair Pair) Verdict
	// Fills reports whether there is such work, as far as that is known. Ahead finds out.
	Fills(pair Pair) bool
	// Place creates the volume that another volume of the ordinal waits for (Beside.Awaited), and puts nothing
	// into it. Ahead does this as well; Place is called when this volume is not to be filled yet. It is done if
	// nothing waits for the volume.
	Place(pair Pair) Verdict
}

// Claimer is a method that fills a claim which may exist before it is filled.
type Claimer interface {
	// Claim creates that claim. It is called for the volumes of an ordinal before any of them is filled, both
	// while the ordinal runs and after it was stopped. A class with immediate binding then provisions its
	// volume, and volumes that wait for a pod are placed within its reach. It is done if no claim must be
	// created now; it waits for no other volume.
	Claim(pair Pair) Verdict
}

// Filler is a method that fills a second volume before that volume is taken over.
type Filler interface {
	// Fill copies the data into the second volume and takes nothing over, so the ordinal can still go back. It
	// is called when Transfer is, for all volumes of an ordinal at once. No volume is transferred before every
	// one is filled. It is done if there is nothing to fill.
	Fill(pair Pair) Verdict
}

// Limited is a method that may take too long while an ordinal is down.
type Limited interface {
	// Overdue reports whether the ordinal, which has been down for the given time, must go back to its former
	// volumes.
	Overdue(pair Pair, down time.Duration) bool
}

// ClaimWarner is a method with a warning for the user before it is used for a claim.
type ClaimWarner interface {
	// WarnOf returns the warnings.
	WarnOf(pair Pair) []Problem
}

// Warner is a method with a warning for the user before it is used.
type Warner interface {
	// Warn returns the warning.
	Warn(template string) *Problem
}
