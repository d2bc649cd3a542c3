package planner

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/inplace"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/mover/report"
	"github.com/sliceshift/sliceshift/volumes"
)

// giverOf returns the side that stands for the old volumes of a handoff. Ordinals return in the opposite direction.
func giverOf(h *inplace.Handoff) plan.SideName {
	if h != nil && h.Return {
		return plan.DestinationSide
	}
	return plan.SourceSide
}

// facing returns the view in the direction of a handoff, whatever the mode is now. A claim of its ordinal that is not replaced
// keeps its volume, whatever its method: no other volume waits for a new one of it, and each is placed within its reach.
func (p storagePlanner) facing(h *inplace.Handoff) *View {
	view := *p.View
	if h != nil {
		view.Volumes = slices.Clone(view.Volumes)
		for i := range view.Volumes {
			v := &view.Volumes[i]
			if v.Ordinal == h.Ordinal && !slices.ContainsFunc(h.Slots, func(handed inplace.Handed) bool { return handed.Template == v.Template }) {
				v.Method, v.Copy = api.MethodRebind, nil
			}
		}
	}
	view.giverName = giverOf(h)
	view.takerName = view.giverName.Other()
	view.giver, view.taker, view.claims = view.Side(view.giverName), view.Side(view.takerName), nil
	return &view
}

// volumeOf returns the claim of an ordinal for a template.
func (p *View) volumeOf(ordinal int32, template string) (plan.OrdinalVolume, bool) {
	found := p.claimsOf(ordinal)
	at := slices.IndexFunc(found, func(v plan.OrdinalVolume) bool { return v.Template == template })
	if at < 0 {
		return plan.OrdinalVolume{}, false
	}
	return found[at], true
}

// oldOf returns the claim of an ordinal with its old volume.
func (p *View) oldOf(v plan.OrdinalVolume) volumes.Holding { return *v.Holding(p.giverName) }

// newOf returns the claim in which the new volume is filled.
func newOf(v plan.OrdinalVolume) volumes.Holding {
	if v.Copy == nil {
		return volumes.Holding{}
	}
	return v.Copy.Incoming
}

// observed returns the snapshot of package inplace.
func (p storagePlanner) observed() inplace.Snapshot {
	st := p.Storage
	var ordinal *int32
	var starts time.Duration
	if p.Record.Handoff != nil {
		ordinal, starts = &p.Record.Handoff.Ordinal, p.spent(api.StepAwaitReadiness)
	}
	s := inplace.Snapshot{
		Now: p.Now, Kubectl: p.Source.Kubectl(), Set: st.Set, Wanted: st.Wanted, Margin: st.Margin, Deadline: p.Spec.Deadline, LowestFirst: p.Spec.Order == api.LowestFirst,
		Record: inplace.RecordOf(p.Record.Storage, ordinal), Starts: starts,
	}
	if p.Record.Baseline != nil {
		s.Budget = int(p.Record.Baseline.Budget)
	}
	// The recorded set has the claim templates, and the present one all other fields. A template without a class means the
	// default class of now in both.
	if s.Record.Former.Text != "" && st.Former.Text != "" {
		s.Record.Former = st.Former
	}
	s.Mode = p.modeInPlace(s.Record.Handoff)
	s.Evictions = p.evictions()
	view := p.facing(s.Record.Handoff)
	for k := st.Set.Start; k < st.Set.Start+st.Set.Replicas; k++ {
		o := inplace.Ordinal{Ordinal: k, Pod: p.podOf(k)}
		for _, v := range view.claimsOf(k) {
			o.Slots = append(o.Slots, p.slot(view, s.Record.Handoff, v))
		}
		s.Ordinals = append(s.Ordinals, o)
	}
	s.Overdue = p.overdue(view, s)
	return s
}

// evictions returns what the PodDisruptionBudget of the pods allows now; nil without one.
func (p storagePlanner) evictions() *inplace.Evictions {
	side := &p.Source
	switch len(side.Budgets) {
	case 0:
		return nil
	case 1:
	default:
		return &inplace.Evictions{Never: SeveralBudgets(*side).Hold()}
	}
	b := side.Budgets[0]
	may := &inplace.Evictions{
		Unhealthy: b.EvictsUnhealthy,
		Unlock:    side.Kubectl().Do("patch", "pdb", "-n", side.Namespace, b.Name, "--type=merge", "-p", `{"spec":{"unhealthyPodEvictionPolicy":"AlwaysAllow"}}`),
	}
	if b.Observed {
		may.Allowed = b.Evictions
	}
	return may
}

// overdue returns why the ordinal in flight is to return to its old volumes: its copy takes longer than its limit.
func (p storagePlanner) overdue(view *View, s inplace.Snapshot) string {
	if s.Record.Handoff == nil {
		return ""
	}
	for _, v := range view.claimsOf(s.Record.Handoff.Ordinal) {
		if v.Copy != nil && volumes.HandingOf(p.pairOf(view, s, v)).Overdue(p.downFor()) {
			return fmt.Sprintf("the copy of claim template %s was not complete %s after the stop (copy.downtimeLimit)", v.Template, v.Copy.Asked.Limit)
		}
	}
	return ""
}

// modeInPlace returns the mode in which the next step is decided. A migration that is deleted returns an ordinal in flight
// to its old volumes as long as it can.
func (p storagePlanner) modeInPlace(h *inplace.Handoff) api.Mode {
	switch {
	case p.Deleting && h != nil && h.Return:
		return api.ModeRun
	case p.Deleting && h != nil:
		return api.ModeRollback
	case p.resting():
		return api.ModePause
	case p.direction() == api.Back:
		return api.ModeRollback
	default:
		return api.ModeRun
	}
}

// podOf returns the pod of an ordinal, on whichever slice it is shown.
func (p storagePlanner) podOf(k int32) inplace.Pod {
	for _, side := range []*plan.Side{&p.Source, &p.Destination} {
		if pod, found := side.Pod(k); found {
			available := pod.Available(p.Now, max(p.Spec.MinReady, side.Set.MinReady))
			return inplace.Pod{Found: true, UID: pod.UID, Terminating: pod.Terminating, Ready: pod.Ready, Available: available, Pending: pod.Pending, Node: pod.Node, Created: pod.Created}
		}
	}
	return inplace.Pod{}
}

func (p storagePlanner) slot(view *View, h *inplace.Handoff, v plan.OrdinalVolume) inplace.Slot {
	old := view.oldOf(v)
	slot := inplace.Slot{
		Template: v.Template, Ref: volumes.Ref{Namespace: old.Ref.Namespace, Name: old.Ref.Name}, Needs: v.Needs, Returns: v.Returns,
		Why: v.Why, Keeps: !v.Method.FillsSecond(), Asks: v.Asks, Change: v.Change, Claim: claimInPlace(old, newOf(v)), Old: p.volumeInPlace(old),
	}
	if h == nil || h.Ordinal != v.Ordinal {
		return slot
	}
	slot.New = p.volumeInPlace(newOf(v))
	if v.Copy == nil {
		return slot
	}
	attempt := plan.RecordedVolume(p.Record.Handoff, v.Ordinal, v.Template).Copy
	slot.Used = needed(attempt.Warm)
	pair := view.pair(v)
	if pair.Giver.Claim.Terminating = false; volumes.HandingOf(pair).Sealed() {
		slot.Seal = attempt.Seal.Root
	}
	return slot
}

// block is the least space that a file needs on a usual file system.
const block = 4096

// needed returns the bytes that data need on a new volume, with a block for each file.
func needed(warm api.CopyWarm) int64 {
	if warm.Passes == 0 {
		return 0
	}
	return max(1, warm.Bytes+block*warm.Files)
}

// claimInPlace returns the claim of an ordinal. It is bound if it and one of its two volumes name each other.
func claimInPlace(old, filled volumes.Holding) inplace.Claim {
	c := old.Claim
	bound := c.Phase == corev1.ClaimBound && slices.ContainsFunc([]volumes.Volume{old.Volume, filled.Volume}, func(v volumes.Volume) bool {
		return v.Found && v.Name == c.Volume && v.ClaimRef.Names(old.Ref) && v.ClaimRef.UID == c.UID
	})
	kept := slices.ContainsFunc(c.Keeps, func(name string) bool { return name != api.ClaimFinalizer })
	users := slices.DeleteFunc(slices.Clone(c.Users), func(name string) bool { return slices.Contains(c.Own, name) })
	return inplace.Claim{
		Stays: stays(old), Found: c.Found, UID: c.UID, ResourceVersion: c.ResourceVersion, Volume: c.Volume, Bound: bound, Held: c.Held, Ours: c.Ours, Kept: kept, Terminating: c.Terminating, Owned: c.Owned, Users: users,
	}
}

// stays returns why a claim would stay after its deletion, whose finalizer of ours is removed.
func stays(h volumes.Holding) *volumes.Reason {
	if h.Claim.Terminating {
		return nil
	}
	h.Claim.Keeps = slices.DeleteFunc(slices.Clone(h.Claim.Keeps), func(name string) bool { return name == api.ClaimFinalizer })
	return volumes.MayStay(h)
}

func (p storagePlanner) volumeInPlace(held volumes.Holding) inplace.Volume {
	v := held.Volume
	seen := inplace.Volume{
		Found: v.Found, Name: v.Name, UID: v.UID, ResourceVersion: v.ResourceVersion, Retain: v.Policy == corev1.PersistentVolumeReclaimRetain,
		Secured: v.Note.By == p.UID && p.UID != "", Ref: v.ClaimRef, Available: v.Phase == corev1.VolumeAvailable, Size: v.Size,
		Block: v.FileSystem == "block", Attributes: v.Attributes, Modes: inplace.Modes(v.Modes), Departing: volumes.Departing(held),
	}
	if len(v.Attachments) > 0 {
		seen.Attached = v.Attachments[0].Node
	}
	return seen
}

// pairOf returns the pair of a claim in the direction of its handoff. The method does not see that the claim is being
// deleted: the migration does that, and its finalizer keeps the claim. A claim that has replaced it is the taker's.
func (p storagePlanner) pairOf(view *View, s inplace.Snapshot, v plan.OrdinalVolume) volumes.Pair {
	pair := view.pair(v)
	h := s.Record.Handoff
	if h == nil || h.Ordinal != v.Ordinal {
		return pair
	}
	at := slices.IndexFunc(h.Slots, func(handed inplace.Handed) bool { return handed.Template == v.Template })
	if at < 0 {
		return pair
	}
	former := pair.Giver.Claim.Found && pair.Giver.Claim.UID == h.Slots[at].Claim
	ends := former && pair.Giver.Claim.Terminating
	if filled := newOf(v).Volume; !former && filled.Found && pair.Giver.Claim.Volume == filled.Name {
		pair.Taker.Claim, pair.Taker.Volume, pair.Giver.Claim = pair.Giver.Claim, filled, volumes.Claim{}
	}
	pair.Giver.Claim.Terminating, pair.Giver.Claim.Keeps = false, nil
	if pair.Copy == nil {
		return pair
	}
	pair.Copy.Stopped, pair.Copy.ClaimEnds, pair.Copy.Stays = ends || !former, ends, true
	if to := p.goal(s, v.Template); to != nil {
		size := to.Spec.Resources.Requests.Storage().Value()
		pair.Copy.Asked.Size, pair.Copy.Asked.Needed = size, min(pair.Copy.Asked.Needed, size)
	}
	if verify := &pair.Copy.Asked.Verify; *verify == "" || *verify == api.CopyVerifyLater { // no proof follows the start
		*verify = api.CopyVerifyFull
	}
	return pair
}

// goal returns the claim template of the new volumes.
func (p storagePlanner) goal(s inplace.Snapshot, template string) *corev1.PersistentVolumeClaim {
	if h := s.Record.Handoff; h != nil && h.Return {
		return s.Record.Former.Claim(template)
	}
	return s.Wanted.Claim(template)
}

// filledUp returns why no further pass is made while the ordinal runs: the last one has filled the new volume, and none of a
// larger size is asked for.
func filledUp(pair volumes.Pair) *volumes.Reason {
	seen := pair.Copy
	if !strings.Contains(seen.Attempt.Warm.Trouble, report.Full) || seen.Asked.Size > seen.Incoming.Volume.Size {
		return nil
	}
	return volumes.Stalled(volumes.ReasonCopySizeTooSmall,
		fmt.Sprintf("the data of claim %s do not fit its new volume of %d bytes, which a pass has filled while the ordinal runs; its old volume has %d", pair.Giver.Ref.Name, seen.Incoming.Volume.Size, pair.Giver.Volume.Size),
		"request a larger size in spec.volumes, or delete data and set spec.mode to Rollback, then to Run; the ordinal runs until then")
}

// Ahead implements inplace.Filler by the method of a claim template. New claims have the form of the templates. While a
// gate holds, no mover stands by for the stop.
func (p storagePlanner) Ahead(ordinal int32, slot inplace.Slot, goal volumes.Goal) volumes.Verdict {
	s := p.observed()
	view := p.facing(s.Record.Handoff)
	v, found := view.volumeOf(ordinal, slot.Template)
	if !found || v.Copy == nil || goal == volumes.Standby && gatePlanner(p).gate(ordinal) != nil {
		return volumes.Verdict{}
	}
	pair := p.pairOf(view, s, v)
	if full := filledUp(pair); full != nil && goal == volumes.Warm {
		return volumes.First(func() volumes.Verdict { return v.Way().Ahead(pair, volumes.Withdrawn) }, func() volumes.Verdict { return volumes.Held(full) })
	}
	verdict := v.Way().Ahead(pair, goal)
	if turned := s.Record.Handoff != nil && s.Record.Handoff.Turned; goal == volumes.Dropped && turned && verdict.Done() {
		verdict = volumes.HandingOf(pair).LeaveOutgoing()
	}
	if a := verdict.Action; a != nil && a.Verb == volumes.CreateIncoming {
		to := p.goal(s, slot.Template)
		if to == nil {
			return volumes.Held(volumes.Stalled(api.ReasonClaimTemplateMissing, "claim template "+slot.Template+" does not exist in the new templates", "name it there"))
		}
		a.Copy.Like = to
	}
	return verdict
}
