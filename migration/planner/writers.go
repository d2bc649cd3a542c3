package planner

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// Marks that a migration writes on a writer, after its fence.
const (
	markPaused = " paused"
	markLetGo  = " let-go"
)

// writerPlanner pauses the other controllers of the source before the first ordinal is stopped, and restores their
// settings at the end. The former setting is recorded before it is changed, and the writer has a mark while the
// setting differs.
type writerPlanner struct{ *View }

// recorded returns the index of a writer's entry; -1: there is none.
func (p writerPlanner) recorded(w api.WriterReference) int {
	return slices.IndexFunc(p.Record.Writers, func(r api.PausedWriter) bool {
		return r.Group == w.Group && r.Kind == w.Kind && r.Namespace == w.Namespace && r.Name == w.Name && r.UID == w.UID
	})
}

// seen returns the index of an entry's writer, in the version that is served now; -1: it no longer exists.
func (p writerPlanner) seen(entry api.PausedWriter) int {
	return slices.IndexFunc(p.Writers.List, func(w plan.Writer) bool {
		reference := w.WriterReference
		reference.Version = entry.Version
		return w.Found && reference == entry.WriterReference
	})
}

// ours reports whether a mark belongs to this migration.
func (p writerPlanner) ours(mark string) bool { return api.FenceOwner(mark) == p.UID }

// pause pauses the writers of the source, one write at a time, as long as ordinals are left to stop. It waits for
// nothing while an ordinal is in flight.
func (p writerPlanner) pause() *plan.Decision {
	_, more := p.next()
	if !p.Spec.PauseWriters || p.direction() == api.Back || p.resting() || !more || p.Record.Handoff != nil || p.Focused {
		return nil
	}
	if hold := p.unread(); hold != nil {
		return &plan.Decision{Hold: hold}
	}
	for _, w := range p.Writers.List {
		if !w.Writes {
			continue
		}
		if finding := p.notFound(w); finding != nil {
			return &plan.Decision{Hold: finding.Hold()}
		}
		if !w.Found {
			continue
		}
		if decision := p.pauseOne(w); decision != nil {
			return decision
		}
	}
	return nil
}

// notFound returns a finding for a writer that a mark of the source names, but that does not exist in its cluster.
// Argo CD and Flux often run in another one. nil: the writer exists, or a user has paused it.
func (p writerPlanner) notFound(w plan.Writer) *plan.Finding {
	if w.Found || slices.Contains(p.Spec.WritersPaused, w.Path()) {
		return nil
	}
	return &plan.Finding{
		Reason: api.ReasonWriterNotFound, Object: fmt.Sprintf("%s in cluster %s", w, p.Source.Cluster),
		Message: fmt.Sprintf("a mark on %s names %s, which must be paused but is not in cluster %s: it may be in another cluster, and would restore replicas while ordinals move", p.Source.Object(), w, p.Source.Cluster),
		Remedy: fmt.Sprintf("find it in the cluster where the tool runs, pause it there until the end, and set --paused-by-hand %[1]s, or spec.writers.pausedByHand: [%[1]s]. Set the same if no controller acts on the mark, for example with a Helm release installed by hand",
			w.Path()),
	}
}

// unread stalls while the writers of the source are not known.
func (p writerPlanner) unread() *plan.Hold {
	switch {
	case p.Writers.Read:
		return nil
	case p.Writers.LacksRight:
		return &plan.Hold{Reason: api.ReasonPermissionMissing, Stalled: true, Message: "the other writers of " + p.Source.Object() + " could not be read: " + p.Writers.Trouble, Remedy: plan.RemedyWriterRights}
	default:
		return &plan.Hold{Reason: api.ReasonWriterNotRead, Stalled: true, Message: "the other writers of " + p.Source.Object() + " could not be read: " + p.Writers.Trouble, Remedy: "the read is retried; check that the API server answers"}
	}
}

// heldBy returns a finding for a writer that another migration has paused; nil: none has.
func (p writerPlanner) heldBy(w plan.Writer) *plan.Finding {
	if w.Mark == "" || p.ours(w.Mark) {
		return nil
	}
	return &plan.Finding{
		Reason: api.ReasonWriterHeld, Object: fmt.Sprintf("%s in cluster %s", w, p.Source.Cluster),
		Message: fmt.Sprintf("%s in cluster %s is paused for another migration, of the UID %s: when that ends it would write %s", w, p.Source.Cluster, api.FenceOwner(w.Mark), p.Source.Object()),
		Remedy:  "wait until that one has ended; or pause it yourself, and take the annotation " + api.WriterAnnotationKey + " off",
	}
}

// doubted returns a finding for a writer that does not name the source itself; nil: it does, it is paused, or this
// migration has already recorded it.
func (p writerPlanner) doubted(w plan.Writer) *plan.Finding {
	if w.Unconfirmed == "" || w.Paused() || p.recorded(w.WriterReference) >= 0 {
		return nil
	}
	return &plan.Finding{
		Reason: api.ReasonWriterNotConfirmed, Object: fmt.Sprintf("%s in cluster %s", w, p.Source.Cluster),
		Message: fmt.Sprintf("%s has a mark of %s in cluster %s, which does not name it: %s. The mark may be old, or false, and a pause may stop what others rely on",
			p.Source.Object(), w, p.Source.Cluster, w.Unconfirmed),
		Remedy: fmt.Sprintf("see whether it writes the source: %s. If so, pause it yourself until the end; if not, remove the mark; "+
			"or set spec.writers.pause to false", p.Source.Kubectl().Do("get", strings.ToLower(w.Kind)+"."+w.Group, "-n", w.Namespace, w.Name, "-o", "yaml")),
	}
}

// writerFindings returns the findings that prevent the pause of the source's writers.
func writerFindings(s plan.Snapshot) []plan.Finding {
	p := writerPlanner{viewOf(s)}
	if !p.Spec.PauseWriters {
		return nil
	}
	if hold := p.unread(); hold != nil {
		return []plan.Finding{plan.FindingOf(s.Source.Object(), *hold)}
	}
	var findings []plan.Finding
	for _, w := range p.Writers.List {
		if finding := cmp.Or(p.notFound(w), p.heldBy(w), p.doubted(w)); w.Writes && finding != nil {
			findings = append(findings, *finding)
		}
	}
	return findings
}

func (p writerPlanner) pauseOne(w plan.Writer) *plan.Decision {
	if finding := cmp.Or(p.heldBy(w), p.doubted(w)); finding != nil {
		return &plan.Decision{Hold: finding.Hold()}
	}
	at := p.recorded(w.WriterReference)
	switch {
	case at < 0 && w.Paused():
		return p.scales(w) // another party paused it, and must end that pause
	case at < 0:
		next := p.Record
		entry := api.PausedWriter{WriterReference: w.WriterReference}
		if w.Value != "" {
			entry.Before = &w.Value
		}
		next.Writers = append(slices.Clone(next.Writers), entry)
		return &plan.Decision{Record: &next}
	case w.Mark == "" && w.Paused():
		return p.scales(w) // likewise, since it was recorded
	case w.Mark == p.fence()+markPaused && w.Paused():
		return p.scales(w)
	case w.Mark == "" || w.Paused():
		return p.write(plan.PauseWriter, w, plan.Pausing{Sets: true, Value: &w.Pause, Mark: p.fence() + markPaused})
	default:
		return plan.Stalled(api.ReasonWriterNotPaused,
			fmt.Sprintf("%s in cluster %s was paused for the move, but is no longer paused: it writes %s during the move", w, p.Source.Cluster, p.Source.Object()),
			"pause it again; or continue without the pause, and set spec.writers.pause to false; or roll back: "+p.command("rollback"))
	}
}

// scalerSoon is the interval at which the deletion of an autoscaler is checked.
const scalerSoon = 2 * time.Second

// scales waits until the HorizontalPodAutoscaler of a paused writer is deleted. The setting shows that the writer
// is paused, and the deletion shows that its controller has observed that.
func (p writerPlanner) scales(w plan.Writer) *plan.Decision {
	if w.Scaler == "" {
		return nil
	}
	return &plan.Decision{Wait: scalerSoon, Hold: &plan.Hold{
		Reason:  api.ReasonWriterNotPaused,
		Message: fmt.Sprintf("waiting until HorizontalPodAutoscaler %s/%s in cluster %s is deleted: %s is paused, but its controller has not deleted the autoscaler yet, which scales %s during the move", p.Source.Namespace, w.Scaler, p.Source.Cluster, w, p.Source.Object()),
		Remedy:  "check that the operator of KEDA runs there; or delete it: " + p.Source.Kubectl().Remove("hpa", p.Source.Namespace, w.Scaler),
	}}
}

func (p writerPlanner) write(verb plan.Verb, w plan.Writer, about plan.Pausing) *plan.Decision {
	about.WriterReference = w.WriterReference
	return effect(plan.Effect{Verb: verb, Side: plan.SourceSide, Name: w.Name, UID: w.UID, ResourceVersion: w.ResourceVersion, Writer: about})
}

// resume restores each writer's setting, once everything else is restored. First its mark records the release, so
// that a late pause write is refused. Then the release is recorded in the status, and the mark is removed.
func (p writerPlanner) resume() *plan.Decision {
	if len(p.Record.Writers) == 0 || p.Focused {
		return nil
	}
	if hold := p.unread(); hold != nil {
		return &plan.Decision{Hold: hold}
	}
	if waits := p.refills(); waits != nil {
		return waits
	}
	for i, entry := range p.Record.Writers {
		at := p.seen(entry)
		if at < 0 {
			return p.drop(i)
		}
		switch w := p.Writers.List[at]; {
		case entry.Done && p.ours(w.Mark):
			return p.write(plan.UnmarkWriter, w, plan.Pausing{})
		case entry.Done:
			return p.drop(i)
		case w.Mark != "" && !p.ours(w.Mark):
			return p.drop(i) // another migration has it now, with the setting that it found
		case w.Mark == p.fence()+markLetGo:
			next := p.Record
			next.Writers = slices.Clone(next.Writers)
			next.Writers[i].Done = true
			return &plan.Decision{Record: &next}
		default:
			// A setting that was changed since remains.
			still := p.ours(w.Mark) && w.Paused()
			return p.write(plan.ReleaseWriter, w, plan.Pausing{Sets: still, Value: entry.Before, Mark: p.fence() + markLetGo})
		}
	}
	return nil
}

// refills keeps writers paused while the destination has ordinals that they would start at the source again (I1).
// Only a user knows that they will not, and confirms it with spec.writers.pause.
func (p writerPlanner) refills() *plan.Decision {
	if p.Storage != nil {
		return p.rewrites()
	}
	there := DestinationSlice(p.Snapshot).Replicas
	if p.direction() == api.Back { // after a complete rollback the destination has only the ordinals with which it began
		there -= p.Record.Baseline.DestinationReplicas
	}
	if !p.Spec.PauseWriters || p.Source.Set.Presence != plan.Seen || there <= 0 {
		return nil
	}
	for _, w := range p.Writers.List {
		if !w.Found || !w.Writes || !w.Paused() || !p.ours(w.Mark) {
			continue
		}
		return plan.Stalled(api.ReasonWriterWouldRefill,
			fmt.Sprintf("%s in cluster %s is still paused: resumed, it would write %s again, and moved ordinals would run on both sides", w, p.Source.Cluster, p.Source.Object()),
			"delete it, or adapt it to the present state of the source; then set spec.writers.pause to false (of a run: --pause-writers=false) to resume it")
	}
	return nil
}

// rewrites keeps the owner of a set paused whose claim templates have changed, while it would write its own. Only a user
// knows that it would not, and confirms it with spec.writers.pause.
func (p writerPlanner) rewrites() *plan.Decision {
	operator, changed := p.Storage.Set.Operator, p.Record.Storage != nil && p.Record.Storage.Former != nil
	if !p.Spec.PauseWriters || p.direction() == api.Back || operator.Field == "" || !changed || !p.Storage.Set.Found {
		return nil
	}
	return plan.Stalled(api.ReasonWriterWouldRefill,
		fmt.Sprintf("%s in cluster %s is still paused: resumed, it would write the storage of its %s into %s", p.Storage.Set.Owner, p.Source.Cluster, operator.Field, p.Source.Object()),
		"write the new class and size into that field; then set spec.writers.pause to false (of a run: --pause-writers=false) to resume it")
}

func (p writerPlanner) drop(i int) *plan.Decision {
	next := p.Record
	next.Writers = slices.Delete(slices.Clone(next.Writers), i, i+1)
	return &plan.Decision{Record: &next}
}
