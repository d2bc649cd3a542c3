package decide

import (
	"strings"
	"time"
)

// The ways in which claims grow: within a step, and the file system while it is mounted; only at the next mount; not even
// then; after some time; never.
const (
	online  = ""
	offline = "offline"
	stuck   = "stuck"
	slow    = "slow"
	unable  = "unable"
)

// worldClaim is the claim of an ordinal. Its sizes are numbers of steps.
type worldClaim struct {
	asks, has int
	bound     bool
	// steps that it has been growing for.
	steps int
	// pending is the time since which only the file system has to grow. Zero means not pending.
	pending time.Time
	// anew is true if its pod was created after that.
	anew, unable bool
}

// meaning returns the template of a revision, sizeOf the size of its claims.
func meaning(revision string) string { return strings.TrimRight(revision, "+") }

func sizeOf(revision string) int { return len(revision) - len(meaning(revision)) }

// roll rolls out another template. The size of its claims stays.
func (w *world) roll(template string) {
	w.in.Revisions.Update = template + strings.Repeat("+", sizeOf(w.in.Revisions.Update))
}

// growth returns the observed growth of an ordinal's claim.
func (w *world) growth(ordinal int32) Growth {
	claim, growth := w.claims[ordinal], Growth{Claim: "data"}
	switch {
	case claim.asks < sizeOf(w.in.Revisions.Update) && claim.bound:
		growth.State, growth.InProgress = ToGrow, claim.has < claim.asks
	case claim.asks < sizeOf(w.in.Revisions.Update):
		growth.State = Unbound
	case !claim.bound || claim.has >= claim.asks:
		return Growth{}
	case claim.unable:
		growth.State = Infeasible
	case !claim.pending.IsZero():
		growth.State, growth.Since, growth.Anew = AwaitsFileSystem, claim.pending, claim.anew
	default:
		growth.State = Growing
	}
	return growth
}

// ask raises the request of a claim, as an API server does.
func (w *world) ask(ordinal int32) {
	w.t.Helper()
	claim := w.claims[ordinal]
	if !claim.bound {
		w.t.Fatalf("the claim of ordinal %d is not bound and cannot be asked for more", ordinal)
	}
	claim.asks = sizeOf(w.in.Revisions.Update)
}

// mount binds a claim, and grows its file system to the size of its volume.
func (c *worldClaim) mount(driver string) {
	if !c.bound {
		c.bound, c.has = true, c.asks
	}
	if !c.pending.IsZero() && driver != stuck {
		c.has, c.pending = c.asks, time.Time{}
	}
}

// grow simulates one step of a mounted claim.
func (c *worldClaim) grow(driver string, now time.Time) {
	c.unable = driver == unable
	switch {
	case !c.bound || c.has >= c.asks || c.unable:
	case driver == slow && c.steps < 5:
		c.steps++
	case c.pending.IsZero():
		c.pending, c.anew = now, false
	case driver != offline && driver != stuck:
		c.has, c.pending, c.steps = c.asks, time.Time{}, 0
	}
}
