package inplace

import (
	"cmp"
	"fmt"
	"slices"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// present holds while the set does not exist, unless it is being recreated.
func (p *planner) present() *Decision {
	if p.Set.Found || p.Record.Replace != nil {
		return nil
	}
	return stalls(api.ReasonSourceMissing, p.title()+" does not exist: it was deleted", "create it again; the migration then continues")
}

func (p *planner) title() string { return "StatefulSet " + p.Set.Namespace + "/" + p.Set.Name }

// templates gives the set the target templates, by an update or by a recreation. No ordinal is stopped.
func (p *planner) templates() *Decision {
	to := p.target()
	switch {
	case p.Record.Replace != nil:
		return p.recreate(to)
	case !p.Set.Manifest.Equals(to):
		if held := cmp.Or(p.reverted(to), p.recreatable()); held != nil {
			return held
		}
		return p.rewrite(to)
	case !p.reached(to):
		return p.recorded(func(r *Record) { r.Reached, r.Written = p.Mode, to.Templates })
	}
	return nil
}

// reverted stalls if the set has had the templates of a manifest in the present mode, or was recreated with them and came
// back with others. They are not written again: that writer would not end, and no set may be deleted without end.
func (p *planner) reverted(to Manifest) *Decision {
	if !p.reached(to) {
		return nil
	}
	return stalls(api.ReasonTemplatesReverted, p.title()+" has other claim templates than those that the migration has written: another writer has recreated it, or a webhook changes them",
		"change the templates where that writer has them, such as in Git, or exempt the set from the webhook and recreate it with them; the migration then continues")
}

// reached reports whether the set has had the templates of a manifest in the present mode, or was recreated with them.
func (p *planner) reached(to Manifest) bool {
	return p.Record.Reached == p.Mode && slices.Equal(p.Record.Written, to.Templates)
}

// permitted stalls while the controller of the set or its owner may change claims or templates, too.
func (p *planner) permitted() *Decision {
	if refusal := p.Set.Refusal(p.title()); refusal != nil {
		return &Decision{Hold: refusal}
	}
	return nil
}

// recreatable holds if the templates of the set cannot change now.
func (p *planner) recreatable() *Decision {
	switch {
	case p.Set.Terminating:
		return stalls(api.ReasonSourceBeingDeleted, p.title()+" is being deleted", "create it again when it is deleted; the migration then continues")
	case p.permitted() != nil:
		return p.permitted()
	case p.Set.Kept(p.title()) != nil:
		return &Decision{Hold: p.Set.Kept(p.title())}
	case p.Set.DeletesClaims:
		return stalls(volumes.ReasonClaimOwned, p.title()+" deletes its claims when it is deleted", "set persistentVolumeClaimRetentionPolicy.whenDeleted to Retain until the migration is completed")
	case !p.Set.RolledOut:
		return waits(api.ReasonRolloutInProgress, "waiting until the rollout of "+p.title()+" is completed")
	}
	for _, o := range p.Ordinals {
		for _, slot := range o.Slots {
			if slot.Claim.Owned {
				return waits(volumes.ReasonClaimOwned, fmt.Sprintf("waiting until claim %s has no owner any more", slot.Ref.Name))
			}
		}
	}
	return nil
}

// rewrite takes the next step by which the set gets other templates.
func (p *planner) rewrite(to Manifest) *Decision {
	if !p.Set.Updates {
		return p.recreate(to)
	}
	if p.Record.Former.Text == "" || p.Record.Reached != "" {
		return p.recorded(func(r *Record) {
			if r.Reached = ""; r.Former.Text == "" {
				r.Former = p.Set.Manifest
			}
		})
	}
	decision := p.onSet(UpdateSet)
	decision.Action.Manifest = to
	return decision
}

// recreate takes the next step of a recreation. Both manifests are recorded before the set is deleted, so that a crash
// between deletion and creation loses nothing. A set that has changed since is recorded again: its author may have changed
// its pod template meanwhile. Its pods and claims stay.
func (p *planner) recreate(to Manifest) *Decision {
	replace := p.Record.Replace
	switch {
	case replace == nil:
		return p.recorded(func(r *Record) {
			r.Replace = &Replace{UID: p.Set.UID, Next: to}
			if r.Former.Text == "" {
				r.Former = p.Set.Manifest
			}
		})
	case p.Set.Found && !p.Set.Terminating && p.Set.Manifest.Equals(to):
		return p.recorded(func(r *Record) { r.Replace = nil })
	case !p.Set.Found && !replace.Next.Equals(to):
		return p.recorded(func(r *Record) { r.Replace.Next = to })
	case !p.Set.Found:
		return act(Action{Verb: CreateSet, Name: p.Set.Name, Manifest: replace.Next})
	case p.Set.UID != replace.UID:
		return p.recorded(func(r *Record) {
			if r.Replace = nil; replace.Next.Equals(to) {
				r.Reached, r.Written = p.Mode, to.Templates
			}
		})
	case p.Set.Terminating:
		return looks(api.ReasonAwaitingDeletion, "waiting until "+p.title()+" is deleted; its pods and claims stay", "see its finalizers: "+p.Kubectl.Do("get", "statefulset", "-n", p.Set.Namespace, p.Set.Name, "-o", "yaml"))
	case p.Record.Handoff == nil && p.recreatable() != nil:
		return p.recreatable()
	case !replace.Next.same(to):
		return p.recorded(func(r *Record) { r.Replace.Next = to })
	default:
		decision := p.onSet(DeleteSet)
		decision.Action.Manifest = replace.Next
		return decision
	}
}

// current returns the manifest with the templates of a recorded one, and with all other fields as the present set has them.
func (p *planner) current(recorded Manifest) Manifest {
	for _, m := range []Manifest{p.Wanted, p.Record.Former} {
		if m.Text != "" && m.Equals(recorded) {
			return m
		}
	}
	return recorded
}
