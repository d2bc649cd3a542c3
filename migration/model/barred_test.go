package model

import (
	"errors"
	"fmt"
	"slices"

	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/volumes"
)

// An API server may refuse one kind of write for a while: a quota is full, an admission policy changes, or a
// right is removed.

// bar is a kind of write that the API server of a side refuses, and the error.
type bar struct {
	side   plan.SideName
	verb   string
	answer planner.Kind
}

// errBarred is the answer to such a write.
var errBarred = errors.New("the API server refuses it")

// refuses reports whether a write is refused. An object that must be replaced is deleted only after a dry run
// of the new one's creation.
func (b *bar) refuses(e plan.Effect) bool {
	if b == nil || b.side != e.Side {
		return false
	}
	verb := string(e.Verb)
	if e.Verb == plan.CarryVolume {
		verb = string(e.Volume.Verb)
	}
	return b.verb == verb || e.Verb == plan.DeleteCopy && b.verb == string(plan.CreateCopy)
}

func (b *bar) String() string {
	return fmt.Sprintf("the API server of the %s refuses to %s", b.side, b.verb)
}

// barredVerbs are the kinds of writes that may be refused.
var barredVerbs = []string{
	string(plan.WriteFence), string(plan.CreateSet), string(plan.CreateBudget), string(plan.SetBudget), string(plan.RestoreBudget), string(plan.ScaleDown),
	string(plan.ScaleUp), string(plan.CreateCopy), string(plan.RestorePolicy), string(plan.DeleteClaim), string(plan.DeleteBudget), string(volumes.Secure),
	string(volumes.Park), string(volumes.Point), string(volumes.CreateVolume), string(volumes.CreateClaim), string(volumes.CreateIncoming), string(volumes.CreateMover),
}

// barReasons are the reasons of stalls and waits while writes are refused.
var barReasons = slices.Concat(shutReasons, []string{api.ReasonPermissionMissing, api.ReasonVolumeAttached, api.ReasonVolumeUnbound})

// barrings are the refused kinds of writes in explored worlds.
var barrings = []edit{
	barring(plan.SourceSide, string(plan.ScaleDown)), barring(plan.SourceSide, string(plan.ScaleUp)), barring(plan.SourceSide, string(plan.SetBudget)),
	barring(plan.SourceSide, string(volumes.Park)), barring(plan.SourceSide, string(volumes.Point)), barring(plan.SourceSide, string(plan.RestoreBudget)),
	barring(plan.DestinationSide, string(plan.ScaleUp)), barring(plan.DestinationSide, string(plan.ScaleDown)), barring(plan.DestinationSide, string(plan.SetBudget)),
	barring(plan.DestinationSide, string(volumes.CreateVolume)), barring(plan.DestinationSide, string(volumes.CreateClaim)), barring(plan.DestinationSide, string(volumes.Point)),
	barring(plan.DestinationSide, string(plan.DeleteClaim)), barring(plan.DestinationSide, string(plan.RestorePolicy)),
}

func barring(side plan.SideName, verb string) edit {
	b := &bar{side, verb, planner.Refused}
	return edit{name: b.String(), reasons: barReasons, do: func(w *model) func(*model) {
		w.barred = b
		return func(w *model) { w.barred = nil }
	}}
}

// explained checks that a refused write stalls the migration with a message and a remedy (I6).
func (m *machine) explained(e plan.Effect, follows planner.Step) {
	hold := follows.Decision.Hold
	if follows.Do != planner.Report || hold == nil || !hold.Stalled || hold.Message == "" || hold.Remedy == "" ||
		!slices.Contains([]string{api.ReasonWriteRefused, api.ReasonPermissionMissing, api.ReasonHookRefused}, hold.Reason) {
		m.breaks("I6: %s is refused, and it says %+v", e, hold)
	}
}

// refuseWrites makes an API server refuse one kind of write for a while. The migration stalls, rolls back if
// none of its writes is refused, and continues when the write is allowed again.
func (r *run) refuseWrites(t *rapid.T) {
	r.t = t
	p := r.onward()
	b := &bar{
		rapid.SampledFrom(plan.SideNames).Draw(t, "side"), rapid.SampledFrom(barredVerbs).Draw(t, "refused"),
		rapid.SampledFrom([]planner.Kind{planner.Refused, planner.MissingRight}).Draw(t, "answer"),
	}
	if rapid.Bool().Draw(t, "as it comes") {
		r.approachTo(p, b.verb)
	}
	r.barred = b
	r.note("%s", b)
	r.interleaved++
	r.passes(p, rapid.IntRange(1, 8).Draw(t, "passes"), r.laggards())
	if rapid.Bool().Draw(t, "turned") {
		r.turnMode(t)
		r.passes(p, rapid.IntRange(1, 12).Draw(t, "passes since"), r.laggards())
	}
	if rapid.Bool().Draw(t, "back") {
		r.comesBack(p)
	}
	r.allow()
	r.passes(p, rapid.IntRange(1, 8).Draw(t, "passes at last"), everyone)
}

// allow ends the refusal.
func (r *run) allow() {
	if r.barred != nil {
		r.note("it is allowed again")
	}
	r.barred = nil
}

// comesBack checks that a rollback returns the ordinal in flight if none of its own writes is refused (I8).
func (r *run) comesBack(p *process) {
	if len(r.yards) > 0 || r.State.Deleting || r.kept() {
		return
	}
	handoff := r.State.Record.Handoff
	if handoff == nil {
		return
	}
	k := handoff.Ordinal
	r.setMode(api.ModeRollback)
	r.renew(p)
	before := r.refusals
	for range 40 {
		r.passes(p, 1, everyone)
		r.State.Now = r.State.Now.Add(r.State.Spec.MinReady)
		pod, found := r.State.Destination.Pod(k)
		if r.refusals > before || r.State.Source.Set.Has(k) || found && pod.Ready && r.State.Destination.Set.Has(k) {
			return
		}
	}
	r.breaks("I8: a rollback keeps ordinal %d down, and none of its writes is refused", k)
	r.verify()
}

// kept reports whether claims have pods or finalizers of others.
func (r *run) kept() bool {
	return slices.ContainsFunc(r.State.Volumes, func(v plan.OrdinalVolume) bool {
		return len(v.Source.Claim.Users)+len(v.Destination.Claim.Users)+len(v.Source.Claim.Keeps)+len(v.Destination.Claim.Keeps) > 0
	})
}
