package planner

import (
	"fmt"
	"slices"
	"strings"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// mostPutBack is how often a copy is restored that another manager changes repeatedly.
const mostPutBack = 3

// begun reports whether an ordinal has moved, or is in flight: the application may run with the copies.
func (p *View) begun() bool {
	return p.Record.Baseline != nil && (!p.Record.Idle() || p.layout.moved != p.layout.initial)
}

// dependencyPlanner maintains the copies of the objects other than volumes that pods need.
type dependencyPlanner struct{ *View }

// copies creates the objects that pods need at the destination, and keeps them up to date. It holds nothing up
// while an ordinal is down, since that ordinal must start first.
func (p dependencyPlanner) copies() *plan.Decision {
	if !p.copying() {
		return nil
	}
	held := p.unread()
	for _, d := range p.Dependencies.List {
		decision := p.copy(d)
		switch {
		case decision == nil:
		case decision.Effect != nil:
			return decision
		case held == nil:
			held = decision
		}
	}
	if p.stopped() {
		return nil
	}
	return held
}

// copying reports whether dependencies are copied. In one namespace there is nothing to copy, and without a source
// the dependencies are not known.
func (p dependencyPlanner) copying() bool {
	return p.Spec.Dependencies.Copy && !p.Spec.SameNamespace && p.Source.Set.Presence == plan.Seen
}

// unread holds while the dependencies are not known.
func (p dependencyPlanner) unread() *plan.Decision {
	switch {
	case p.Dependencies.Read:
		return nil
	case p.Dependencies.Trouble == "":
		return &plan.Decision{Hold: &plan.Hold{Reason: api.ReasonDependencyNotRead, Message: "waiting until the pods' dependencies have been read"}}
	case p.Dependencies.LacksRight:
		return plan.Stalled(api.ReasonDependencyNotRead, "the pods' dependencies cannot be copied, because the permission to read them is missing: "+p.Dependencies.Trouble, plan.RemedyDependencyRights)
	default:
		return plan.Stalled(api.ReasonDependencyNotRead, "the pods' dependencies cannot be copied, because they cannot be read: "+p.Dependencies.Trouble, plan.RemedyUnreachable)
	}
}

// copy updates one copy, or returns the reason that it cannot; nil: there is nothing to do.
func (p dependencyPlanner) copy(d plan.Dependency) *plan.Decision {
	c := d.Copy
	switch {
	case d.Barred.Reason != "":
		return plan.Stalled(d.Barred.Reason, "cluster "+p.Source.Cluster+": "+d.Barred.Message, d.Barred.Remedy)
	case !c.Found:
		return p.create(d)
	case c.Terminating:
		return &plan.Decision{Hold: &plan.Hold{
			Reason: api.ReasonAwaitingDeletion, Message: "waiting until " + p.there(d) + " is deleted" + volumes.KeptBy(c.Keeps),
			Remedy: "look at its finalizers: " + p.show(d),
		}}
	case c.Unbound:
		return &plan.Decision{Hold: &plan.Hold{
			Reason: api.ReasonDependencyNotBound, Message: "waiting until " + p.there(d) + ", which all ordinals share, is bound to its volume",
			Remedy: p.Destination.Kubectl().Do("describe", "pvc", "-n", p.Destination.Namespace, d.Name),
		}}
	case d.Origin == "":
		return nil // the moved ordinals still need a copy whose origin no longer exists
	case d.Origin == c.Hash, c.Marked && c.EditedBy == "" && c.Copied == d.Origin: // or the destination's defaulting has changed the hash
		if c.Anothers { // the other migration would delete it with its own pods, but these pods need it, too: after this write no migration deletes it
			return p.write(plan.UpdateCopy, d, c.PutBack)
		}
		return nil
	case d.Storage:
		return p.diverged(d)
	case c.Marked && c.EditedBy == "":
		return p.follow(d)
	default:
		return p.conflict(d)
	}
}

// diverged stalls for storage that all ordinals share and that differs at the destination. Nothing is deleted or
// overwritten to fix it, because pods may have it mounted.
func (p dependencyPlanner) diverged(d plan.Dependency) *plan.Decision {
	return plan.Stalled(volumes.ReasonClaimDiverges,
		fmt.Sprintf("%s differs from the one in cluster %s, and all ordinals share it: moved ordinals would write to other storage than the others: %s", p.there(d), p.Source.Cluster, d.Difference),
		fmt.Sprintf("decide which storage is right, and make both equal: %s; nothing is replaced automatically", p.show(d)))
}

// create copies a dependency that the destination lacks.
func (p dependencyPlanner) create(d plan.Dependency) *plan.Decision {
	policy := p.Spec.Dependencies.SelectsOthers
	switch {
	case d.Unserved:
		return plan.Stalled(api.ReasonDependencyMissing,
			fmt.Sprintf("clusters %s and %s serve the kind of %s %s, which %s needs, in no version that both have (of %s): a moved ordinal would be stopped and not start again",
				p.Source.Cluster, p.Destination.Cluster, d.Kind, d.Name, d.From, d.Versions),
			"have cluster "+p.Destination.Cluster+" serve the kind in a version of cluster "+p.Source.Cluster+": install what serves it, or bring the older one up to date (kubectl api-resources, in both)")
	case d.Origin == "":
		return plan.Stalled(api.ReasonDependencyMissing,
			fmt.Sprintf("%s does not exist, and neither does it in cluster %s, and %s needs it: a moved ordinal would be stopped and not start again", p.there(d), p.Source.Cluster, d.From),
			"create it in either cluster, or take it out of the pod template")
	case d.SelectsOthers != "" && policy == api.SelectsOthersLeave:
		return nil
	case d.SelectsOthers != "" && policy != api.SelectsOthersCopy:
		return plan.Stalled(api.ReasonDependencySelects,
			fmt.Sprintf("%s %s/%s in cluster %s would select not only the pods that move, but also pod %s: a copy of it would change what others get", d.Kind, p.Source.Namespace, d.Name, p.Source.Cluster, d.SelectsOthers),
			"set spec.dependencies.selectsOthers (--selects-others) to Copy to copy it anyway, or to Leave to skip it")
	default:
		return p.write(plan.CreateCopy, d, 0)
	}
}

// follow applies a change of the source to a copy that no other manager has changed.
func (p dependencyPlanner) follow(d plan.Dependency) *plan.Decision {
	if p.Spec.Dependencies.OnChange == api.ChangeStall && p.begun() {
		return plan.Stalled(api.ReasonDependencyChanged,
			fmt.Sprintf("%s %s/%s in cluster %s was changed during the move, and its copy in cluster %s was not: the next ordinal would start with the old version; the copy would change so: %s",
				d.Kind, p.Source.Namespace, d.Name, p.Source.Cluster, p.Destination.Cluster, d.Difference),
			"set spec.dependencies.onChange to Follow (--on-change follow) to update the copy, or revert the change")
	}
	if d.Rigid {
		return p.replace(d)
	}
	return p.write(plan.UpdateCopy, d, d.Copy.PutBack)
}

// conflict handles an object that differs from what was copied, or that is not a copy.
func (p dependencyPlanner) conflict(d plan.Dependency) *plan.Decision {
	c := d.Copy
	choose := "set spec.dependencies.onConflict to Keep to leave it, or to Overwrite to give it the source's content (--on-conflict keep, --on-conflict overwrite)"
	switch {
	case p.Spec.Dependencies.OnConflict == api.ConflictKeep:
		return nil
	case p.Spec.Dependencies.OnConflict != api.ConflictOverwrite && c.Marked:
		return plan.Stalled(api.ReasonDependencyDiffers,
			fmt.Sprintf("%s is a copy, and %s has changed it; it would change so: %s", p.there(d), c.EditedBy, d.Difference), choose)
	case p.Spec.Dependencies.OnConflict != api.ConflictOverwrite:
		return plan.Stalled(api.ReasonDependencyDiffers,
			fmt.Sprintf("%s differs from the one in cluster %s, and %s needs it: the moved ordinals would not get the same; it would change so: %s", p.there(d), p.Source.Cluster, d.From, d.Difference), choose)
	case c.Marked && c.PutBack >= mostPutBack:
		return plan.Stalled(api.ReasonDependencyDiffers,
			fmt.Sprintf("%s was restored %d times, and %s keeps changing it; it would change so: %s", p.there(d), c.PutBack, c.EditedBy, d.Difference),
			fmt.Sprintf("stop %s, or set spec.dependencies.onConflict to Keep", c.EditedBy))
	case d.Rigid && !c.Marked:
		return plan.Stalled(api.ReasonDependencyDiffers,
			fmt.Sprintf("%s differs from the one in cluster %s in fields that cannot be updated, and must be recreated: %s", p.there(d), p.Source.Cluster, d.Difference),
			"set spec.dependencies.onConflict to Keep; or, if nothing there needs its present version, keep its manifest and delete it: "+p.Destination.Kubectl().Remove(strings.ToLower(d.Kind), p.Destination.Namespace, d.Name))
	case d.Rigid:
		return p.replace(d)
	case c.Marked:
		return p.write(plan.UpdateCopy, d, c.PutBack+1)
	default:
		return p.write(plan.UpdateCopy, d, 0)
	}
}

func (p dependencyPlanner) write(verb plan.Verb, d plan.Dependency, putBack int) *plan.Decision {
	return effect(plan.Effect{
		Verb: verb, Side: plan.DestinationSide, Kind: d.Kind, Name: d.Name, UID: d.Copy.UID, ResourceVersion: d.Copy.ResourceVersion,
		Copied: plan.Copied{Origin: d.Origin, PutBack: putBack},
	})
}

// cleanup deletes the copies that the migration created, if the spec requests it, once no pod is left at the
// destination that may need them. It does not delete a copy that another manager has changed.
func (p dependencyPlanner) cleanup() *plan.Decision {
	if !p.copying() || !p.Spec.Dependencies.Delete || p.Spec.Mode != api.ModeRollback || p.Destination.Set.Replicas > 0 || len(p.Destination.Pods) > 0 {
		return nil
	}
	if hold := p.unread(); hold != nil {
		return hold
	}
	for _, d := range p.Dependencies.List {
		if c := d.Copy; c.Found && c.Ours && c.UsedBy != "" {
			return plan.Stalled(api.ReasonDependencyUsed,
				fmt.Sprintf("%s is a copy that the cleanup deletes, but pod %s uses it: the pod would not start again", p.there(d), c.UsedBy),
				"delete that pod and its controller; or set spec.dependencies.cleanup to Retain (--cleanup-copies retain) to keep the copies")
		}
		if c := d.Copy; c.Found && c.Ours && c.Releases {
			return plan.Stalled(volumes.ReasonVolumeNotRetain,
				p.there(d)+" is a copy that the cleanup deletes, but its reclaim policy is no longer Retain: the storage that the source uses would be deleted with it",
				p.Destination.Kubectl().Do("patch", "pv", d.Name, "-p", `{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}`))
		}
	}
	for _, d := range slices.Backward(p.Dependencies.List) {
		if c := d.Copy; c.Found && c.Ours && !c.Terminating && c.EditedBy == "" {
			return p.write(plan.DeleteCopy, d, 0)
		}
	}
	return nil
}

func (p dependencyPlanner) there(d plan.Dependency) string {
	if d.ClusterWide {
		return fmt.Sprintf("%s %s in cluster %s", d.Kind, d.Name, p.Destination.Cluster)
	}
	return fmt.Sprintf("%s %s/%s in cluster %s", d.Kind, p.Destination.Namespace, d.Name, p.Destination.Cluster)
}

// show returns the command that shows the dependency.
func (p dependencyPlanner) show(d plan.Dependency) string {
	if d.ClusterWide {
		return p.Destination.Kubectl().Do("get", strings.ToLower(d.Kind), d.Name, "-o", "yaml")
	}
	return p.Destination.Kubectl().Do("get", strings.ToLower(d.Kind), "-n", p.Destination.Namespace, d.Name, "-o", "yaml")
}

// dependencyFindings returns the findings that prevent the copies.
func dependencyFindings(s plan.Snapshot) []plan.Finding {
	p := dependencyPlanner{viewOf(s)}
	if !p.copying() {
		return nil
	}
	find := func(decision *plan.Decision, object string) []plan.Finding {
		if decision == nil || decision.Hold == nil || !decision.Hold.Stalled {
			return nil
		}
		return []plan.Finding{plan.FindingOf(object, *decision.Hold)}
	}
	findings := find(p.unread(), s.Source.Object())
	for i, d := range s.Dependencies.List {
		if p.told(s.Dependencies.List[:i], d) {
			continue
		}
		findings = append(findings, find(p.copy(d), p.there(d))...)
		if d.KeptBy != "" && !d.Copy.Found {
			findings = append(findings, p.kept(d))
		}
	}
	return findings
}

// told reports whether an earlier dependency already has the same problem: a claim and its volume are barred
// together.
func (p dependencyPlanner) told(before []plan.Dependency, d plan.Dependency) bool {
	return d.Barred.Reason != "" && slices.ContainsFunc(before, func(other plan.Dependency) bool { return other.Barred == d.Barred })
}

// kept warns about a copy that no controller writes once the migration has completed.
func (p dependencyPlanner) kept(d plan.Dependency) plan.Finding {
	return plan.Finding{
		Reason: api.ReasonDependencyKept, Object: p.there(d), Warning: true,
		Message: fmt.Sprintf("%s %s/%s in cluster %s is written by %s: its copy in cluster %s follows until the migration has been completed, and then nothing writes it any more", d.Kind, p.Source.Namespace, d.Name, p.Source.Cluster, d.KeptBy, p.Destination.Cluster),
		Remedy:  fmt.Sprintf("set up %s in cluster %s, too", d.KeptBy, p.Destination.Cluster),
	}
}
