package plan

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// DependencySpec is what the user asks for of the objects that pods need besides their volumes.
type DependencySpec struct {
	// Copy is true when they are copied.
	Copy          bool
	OnConflict    api.ConflictPolicy
	OnChange      api.ChangePolicy
	SelectsOthers api.SelectsOthersPolicy
	// Delete asks for the copies to be deleted when every ordinal has gone back.
	Delete bool
}

// Dependencies are the objects that are to be copied, as they were seen on both sides. On the way
// back they are the copies that the migration has made, and nothing is known of their origins.
type Dependencies struct {
	// Read is true when they were looked at, and Trouble says why they could not be; LacksRight is true
	// when it was for want of a right.
	Read       bool
	Trouble    string
	LacksRight bool
	List       []Dependency
}

// Dependency is one object that pods need, and its copy. Of what is in them only hashes are known.
type Dependency struct {
	Kind, Name string
	// From is where it is named, for people.
	From string
	// Origin is the hash of the source's content; empty: the source has no such object.
	Origin string
	// Unserved is true when the API servers of both sides serve the kind in no version that they share, of
	// those that are understood, which are Versions then, for people.
	Unserved bool
	Versions string
	// SelectsOthers names a pod of somebody else that it selects, and the pod's cluster.
	SelectsOthers string
	// KeptBy is what owns it at the source, and writes it; empty: nothing does.
	KeptBy string
	Copy   Copy
	// Difference is how the destination's object would change, for people.
	Difference string
	// Rigid is true when the destination's object cannot be changed into a copy, only replaced.
	Rigid bool
	// Storage is true for what stands for storage, and is never replaced; Barred is why it may not be
	// made, or stay, at the destination.
	Storage bool
	Barred  volumes.Problem
	// ClusterWide is true for what is in no namespace.
	ClusterWide bool
}

// Copy is an object of the destination with the name of a dependency.
type Copy struct {
	Found           bool
	UID             types.UID
	ResourceVersion string
	Terminating     bool
	// Hash is of its content.
	Hash string
	// Marked is true when it says that it is a copy of this dependency, and Copied is the hash of
	// what was copied.
	Marked bool
	Copied string
	// PutBack is how often it had to be put back.
	PutBack int
	// EditedBy is who else has changed what was copied; empty: nobody.
	EditedBy string
	// Ours is true when this migration has made it, and Anothers when another one has, which may delete it.
	Ours, Anothers bool
	// Unbound is true for a claim that is not bound yet, and Releases for a volume whose storage would be
	// deleted with it.
	Unbound  bool
	Releases bool
	// UsedBy names a pod of somebody else that names it; empty: none does. It is looked for before what
	// the migration has made is deleted.
	UsedBy string
}

// Copied is what a write of a copy is about.
type Copied struct {
	// Origin is the hash of what was judged: the write is refused when the source has another one.
	Origin string
	// PutBack is how often the copy had to be put back, this time included.
	PutBack int
}

// mostPutBack is how often a copy is put back that somebody else keeps changing.
const mostPutBack = 3

// Copies says whether the effect is about a copy of a dependency.
func (e Effect) Copies() bool {
	return e.Verb == CreateCopy || e.Verb == UpdateCopy || e.Verb == DeleteCopy
}

// begun says whether an ordinal has moved, or is on its way: the application may run with the copies.
func (p *View) begun() bool {
	return p.Record.Baseline != nil && (p.Record.Handoff != nil || p.layout.moved != p.layout.initial)
}

// dependencyPlanner keeps copies of what pods need besides their volumes.
type dependencyPlanner struct{ *View }

// copies makes what pods need at the destination, and keeps it up to date. While an ordinal is down
// it waits for nobody: that one is brought up first.
func (p dependencyPlanner) copies() *Decision {
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

// copying says whether there is anything to be copied: within one namespace there is not, and without a
// source nobody knows what.
func (p dependencyPlanner) copying() bool {
	return p.Spec.Dependencies.Copy && !p.Spec.SameNamespace && p.Source.Set.Presence == Seen
}

// unread holds while it is not known what is to be copied.
func (p dependencyPlanner) unread() *Decision {
	switch {
	case p.Dependencies.Read:
		return nil
	case p.Dependencies.Trouble == "":
		return &Decision{Hold: &Hold{Reason: api.ReasonDependencyNotRead, Message: "waiting until what the pods need besides their volumes has been read"}}
	case p.Dependencies.LacksRight:
		return Stalled(api.ReasonDependencyNotRead, "what the pods need besides their volumes may not be read, so it cannot be copied: "+p.Dependencies.Trouble, RemedyDependencyRights)
	default:
		return Stalled(api.ReasonDependencyNotRead, "what the pods need besides their volumes cannot be read, so it cannot be copied: "+p.Dependencies.Trouble, RemedyUnreachable)
	}
}

// RemedyDependencyRights mends a right that is missing for copies.
const RemedyDependencyRights = "bind the ClusterRole sliceshift-mover-dependencies to the identity that is used there, in the namespace of that side; or set spec.dependencies.mode to Check and make the copies yourself"

// RemedyMoverRights mends a right that is missing for the pods of method Copy.
const RemedyMoverRights = "bind the ClusterRole sliceshift-mover-pods to the identity that is used there, in the namespace of that side; or name another method in spec.volumes"

// writesMover says whether the effect makes, writes or deletes a pod of method Copy.
func (e Effect) writesMover() bool {
	return e.Verb == CarryVolume && slices.Contains([]volumes.Verb{volumes.CreateMover, volumes.MarkMover, volumes.TellMover, volumes.DeleteMover}, e.Volume.Verb)
}

// RemedyRights mends a right that is missing for an effect.
func (e Effect) RemedyRights() string {
	if e.Copies() {
		return RemedyDependencyRights
	}
	if e.RunsHook() {
		return RemedyJobRights
	}
	if e.writes() {
		return RemedyWriterRights
	}
	if e.writesMover() {
		return RemedyMoverRights
	}
	return RemedyRights
}

// copy brings one copy up to date, or says why not; nil: there is nothing to do.
func (p dependencyPlanner) copy(d Dependency) *Decision {
	c := d.Copy
	switch {
	case d.Barred.Reason != "":
		return Stalled(d.Barred.Reason, "cluster "+p.Source.Cluster+": "+d.Barred.Message, d.Barred.Remedy)
	case !c.Found:
		return p.create(d)
	case c.Terminating:
		return &Decision{Hold: &Hold{
			Reason: api.ReasonAwaitingDeletion, Message: "waiting until " + p.there(d) + ", which is being deleted, is gone",
			Remedy: "look at its finalizers: " + p.show(d),
		}}
	case c.Unbound:
		return &Decision{Hold: &Hold{
			Reason: api.ReasonDependencyNotBound, Message: "waiting until " + p.there(d) + ", which all ordinals share, is bound to its volume",
			Remedy: fmt.Sprintf("kubectl describe pvc -n %s %s", p.Destination.Namespace, d.Name),
		}}
	case d.Origin == "":
		return nil // what has no origin any more is still needed by those that have moved
	case d.Origin == c.Hash, c.Marked && c.EditedBy == "" && c.Copied == d.Origin: // or as the destination stores it
		if c.Anothers { // that one would delete it with its own pods, and these need it, too: from now on nobody does
			return p.write(UpdateCopy, d, c.PutBack)
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

// diverged is for storage that all ordinals share and that is another one at the destination. Nothing is
// deleted or written over for it: pods may have it mounted.
func (p dependencyPlanner) diverged(d Dependency) *Decision {
	return Stalled(volumes.ReasonClaimDiverges,
		fmt.Sprintf("%s is not as the one in cluster %s, and all ordinals share it: the moved ones would write apart from the others: %s", p.there(d), p.Source.Cluster, d.Difference),
		fmt.Sprintf("see which storage is meant, and make both equal: %s; nothing is replaced by itself", p.show(d)))
}

// create copies what the destination does not have.
func (p dependencyPlanner) create(d Dependency) *Decision {
	policy := p.Spec.Dependencies.SelectsOthers
	switch {
	case d.Unserved:
		return Stalled(api.ReasonDependencyMissing,
			fmt.Sprintf("clusters %s and %s serve the kind of %s %s, which %s needs, in no version that both have (of %s): a moved ordinal would be stopped and not start again",
				p.Source.Cluster, p.Destination.Cluster, d.Kind, d.Name, d.From, d.Versions),
			"have cluster "+p.Destination.Cluster+" serve the kind in a version of cluster "+p.Source.Cluster+": install what serves it, or bring the older one up to date (kubectl api-resources, in both)")
	case d.Origin == "":
		return Stalled(api.ReasonDependencyMissing,
			fmt.Sprintf("%s does not exist, and neither does it in cluster %s, and %s needs it: a moved ordinal would be stopped and not start again", p.there(d), p.Source.Cluster, d.From),
			"create it in either cluster, or take it out of the pod template")
	case d.SelectsOthers != "" && policy == api.SelectsOthersLeave:
		return nil
	case d.SelectsOthers != "" && policy != api.SelectsOthersCopy:
		return Stalled(api.ReasonDependencySelects,
			fmt.Sprintf("%s %s/%s in cluster %s selects not only the pods that move, but also pod %s: a copy of it would change what others get", d.Kind, p.Source.Namespace, d.Name, p.Source.Cluster, d.SelectsOthers),
			"set spec.dependencies.selectsOthers (--selects-others) to Copy to have it copied all the same, or to Leave to have it left out")
	default:
		return p.write(CreateCopy, d, 0)
	}
}

// follow carries a change of the source over to a copy that nobody else has changed.
func (p dependencyPlanner) follow(d Dependency) *Decision {
	if p.Spec.Dependencies.OnChange == api.ChangeStall && p.begun() {
		return Stalled(api.ReasonDependencyChanged,
			fmt.Sprintf("%s %s/%s in cluster %s was changed in mid-move, and its copy in cluster %s was not: the next ordinal would start as it was before; the copy would change so: %s",
				d.Kind, p.Source.Namespace, d.Name, p.Source.Cluster, p.Destination.Cluster, d.Difference),
			"set spec.dependencies.onChange to Follow (--on-change follow), and the copy gets the change; or take the change back")
	}
	if d.Rigid {
		return p.write(DeleteCopy, d, 0)
	}
	return p.write(UpdateCopy, d, d.Copy.PutBack)
}

// conflict is for an object that is not as it was copied, or no copy.
func (p dependencyPlanner) conflict(d Dependency) *Decision {
	c := d.Copy
	choose := "set spec.dependencies.onConflict to Keep to leave it, or to Overwrite to give it the source's content (--on-conflict keep, --on-conflict overwrite)"
	switch {
	case p.Spec.Dependencies.OnConflict == api.ConflictKeep:
		return nil
	case p.Spec.Dependencies.OnConflict != api.ConflictOverwrite && c.Marked:
		return Stalled(api.ReasonDependencyDiffers,
			fmt.Sprintf("%s is a copy, and %s has changed it; it would change so: %s", p.there(d), c.EditedBy, d.Difference), choose)
	case p.Spec.Dependencies.OnConflict != api.ConflictOverwrite:
		return Stalled(api.ReasonDependencyDiffers,
			fmt.Sprintf("%s differs from the one in cluster %s, and %s needs it: the moved ordinals would not get the same; it would change so: %s", p.there(d), p.Source.Cluster, d.From, d.Difference), choose)
	case c.Marked && c.PutBack >= mostPutBack:
		return Stalled(api.ReasonDependencyDiffers,
			fmt.Sprintf("%s was put back %d times, and %s changes it again and again; it would change so: %s", p.there(d), c.PutBack, c.EditedBy, d.Difference),
			fmt.Sprintf("stop %s, or set spec.dependencies.onConflict to Keep", c.EditedBy))
	case d.Rigid && !c.Marked:
		return Stalled(api.ReasonDependencyDiffers,
			fmt.Sprintf("%s differs from the one in cluster %s, and what differs cannot be changed, only made anew: %s", p.there(d), p.Source.Cluster, d.Difference),
			fmt.Sprintf("see who needs it as it is, and then delete it in cluster %s: kubectl delete %s -n %s %s; or set spec.dependencies.onConflict to Keep", p.Destination.Cluster, strings.ToLower(d.Kind), p.Destination.Namespace, d.Name))
	case d.Rigid:
		return p.write(DeleteCopy, d, 0)
	case c.Marked:
		return p.write(UpdateCopy, d, c.PutBack+1)
	default:
		return p.write(UpdateCopy, d, 0)
	}
}

func (p dependencyPlanner) write(verb Verb, d Dependency, putBack int) *Decision {
	return effect(Effect{
		Verb: verb, Side: DestinationSide, Kind: d.Kind, Name: d.Name, UID: d.Copy.UID, ResourceVersion: d.Copy.ResourceVersion,
		Copied: Copied{Origin: d.Origin, PutBack: putBack},
	})
}

// cleanup deletes the copies that the migration has made, as far as it was asked to, when no pod
// is left at the destination that may need them. One that somebody else has changed is his.
func (p dependencyPlanner) cleanup() *Decision {
	if !p.copying() || !p.Spec.Dependencies.Delete || p.Spec.Mode != api.ModeRollback || p.Destination.Set.Replicas > 0 || len(p.Destination.Pods) > 0 {
		return nil
	}
	if hold := p.unread(); hold != nil {
		return hold
	}
	for _, d := range p.Dependencies.List {
		if c := d.Copy; c.Found && c.Ours && c.UsedBy != "" {
			return Stalled(api.ReasonDependencyUsed,
				fmt.Sprintf("%s is a copy that is to be deleted, and pod %s uses it: it would not start again", p.there(d), c.UsedBy),
				"remove that pod, with what made it; or set spec.dependencies.cleanup to Retain (--cleanup-copies retain), and the copies stay")
		}
		if c := d.Copy; c.Found && c.Ours && c.Releases {
			return Stalled(volumes.ReasonVolumeNotRetain,
				p.there(d)+" is a copy that is to be deleted, and its reclaim policy is not Retain any more: the storage that the source uses would be deleted with it",
				fmt.Sprintf(`kubectl patch pv %s -p '{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}'`, d.Name))
		}
	}
	for _, d := range slices.Backward(p.Dependencies.List) {
		if c := d.Copy; c.Found && c.Ours && !c.Terminating && c.EditedBy == "" {
			return p.write(DeleteCopy, d, 0)
		}
	}
	return nil
}

func (p dependencyPlanner) there(d Dependency) string {
	if d.ClusterWide {
		return fmt.Sprintf("%s %s in cluster %s", d.Kind, d.Name, p.Destination.Cluster)
	}
	return fmt.Sprintf("%s %s/%s in cluster %s", d.Kind, p.Destination.Namespace, d.Name, p.Destination.Cluster)
}

// show is the command that shows it.
func (p dependencyPlanner) show(d Dependency) string {
	if d.ClusterWide {
		return fmt.Sprintf("kubectl get %s %s -o yaml", strings.ToLower(d.Kind), d.Name)
	}
	return fmt.Sprintf("kubectl get %s -n %s %s -o yaml", strings.ToLower(d.Kind), p.Destination.Namespace, d.Name)
}

// dependencyFindings are all that keeps the copies from being made.
func dependencyFindings(s Snapshot) []Finding {
	p := dependencyPlanner{viewOf(s)}
	if !p.copying() {
		return nil
	}
	find := func(decision *Decision, object string) []Finding {
		if decision == nil || decision.Hold == nil || !decision.Hold.Stalled {
			return nil
		}
		return []Finding{{Reason: decision.Hold.Reason, Object: object, Message: decision.Hold.Message, Remedy: decision.Hold.Remedy}}
	}
	findings := find(p.unread(), s.Source.object())
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

// told says whether the same is in the way of a dependency before it: a claim and its volume are barred together.
func (p dependencyPlanner) told(before []Dependency, d Dependency) bool {
	return d.Barred.Reason != "" && slices.ContainsFunc(before, func(other Dependency) bool { return other.Barred == d.Barred })
}

// kept warns of a copy that nothing will write once the migration has been completed.
func (p dependencyPlanner) kept(d Dependency) Finding {
	return Finding{
		Reason: api.ReasonDependencyKept, Object: p.there(d), Warning: true,
		Message: fmt.Sprintf("%s %s/%s in cluster %s is written by %s: its copy in cluster %s follows until the migration has been completed, and then nothing writes it any more", d.Kind, p.Source.Namespace, d.Name, p.Source.Cluster, d.KeptBy, p.Destination.Cluster),
		Remedy:  fmt.Sprintf("set up %s in cluster %s, too", d.KeptBy, p.Destination.Cluster),
	}
}
