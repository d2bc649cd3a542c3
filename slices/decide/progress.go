package decide

import (
	"fmt"
	"slices"
	"time"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// rollout computes the progress of the update.
type rollout struct{ *decider }

// progress returns the progress of the roll-out. Progress means more updated pods, or more Ready updated pods, than ever
// before. A pod that crashes and restarts is no progress, unless it stays Ready for minReadySeconds. The deadline counts
// from the last progress, and only while the roll-out is late.
func (d rollout) progress() Progress {
	p := d.Progress
	switch {
	case d.Revisions.Failed:
		return d.failed()
	case d.Spec.Deleting:
		return p
	case d.Revisions.Blocked != "":
		return d.blocked()
	case d.Spec.Paused || d.strategy.order == nil || d.scope() == 0:
		return Progress{}
	}
	return d.advanced(p)
}

// advanced returns the progress after that of the previous pass.
func (d rollout) advanced(p Progress) Progress {
	updated, isReady, available := d.got()
	if p.Revision != d.Revisions.Update || p.Blocked {
		p = Progress{Revision: d.Revisions.Update, Since: d.Now, Updated: updated, Ready: isReady, Available: available}
	}
	if p.Complete && slices.ContainsFunc(d.pods, d.unfinished) {
		p.Complete, p.Since = false, d.Now // more pods have to be updated
	}
	p.Complete = p.Complete || d.rolledOut()
	late, pod := d.late()
	lasts := d.Spec.MinReady > 0 && available > p.Available
	if p.Complete {
		late = ""
	}
	if updated > p.Updated || isReady > p.Ready || lasts || late != "" && !p.Late {
		p.Since = d.Now
	}
	// Fewer updated pods mean a scale-down, or pods that are recreated.
	p.Updated, p.Ready, p.Available = updated, min(max(p.Ready, isReady), updated), available
	p.Late, p.Failed, p.Message = late != "", false, ""
	if !p.Late || d.Spec.Deadline == 0 {
		return p
	}
	left := d.deadline() - d.Now.Sub(p.Since)
	hasFailed := d.Progress.Failed && d.Progress.Revision == p.Revision
	if p.Failed = left <= 0 && (hasFailed || !d.blameless(pod)); p.Failed {
		p.Message = fmt.Sprintf("the roll-out of revision %s has made no progress since %s: %s", p.Revision, p.Since.UTC().Format(time.RFC3339), late)
	}
	d.lookAgain(left)
	return p
}

// blocked returns the progress of a roll-out whose inputs cannot be had. It fails after the deadline, and is not rolled back,
// because no pod has the revision.
func (d rollout) blocked() Progress {
	p := Progress{Revision: d.Revisions.Update, Since: d.Now, Blocked: true, Late: true}
	if d.Progress.Blocked {
		p.Since = d.Progress.Since
	}
	if d.Spec.Deadline == 0 {
		return p
	}
	left := d.Spec.Deadline - d.Now.Sub(p.Since)
	if p.Failed = left <= 0; p.Failed {
		p.Message = d.Revisions.Blocked
	}
	d.lookAgain(left)
	return p
}

// failed returns the progress of a roll-out that has failed and is rolled back. It stays failed until the template changes.
func (d rollout) failed() Progress {
	p := d.Progress
	if p.Revision != d.Revisions.Update {
		p = Progress{Revision: d.Revisions.Update, Since: d.Now}
	}
	if p.Message == "" {
		p.Message = "the roll-out of revision " + p.Revision + " has failed" + d.keeps()
	}
	p.Late, p.Failed, p.Complete = true, true, false
	return p
}

// keeps returns what a rolled-back set does, as the end of a message.
func (d rollout) keeps() string {
	return fmt.Sprintf("; pods keep revision %s until spec.template changes", d.Revisions.Current)
}

// rollBack decides whether a roll-out that has failed in this pass is rolled back. There must be another revision to roll
// back to, with another template.
func (d rollout) rollBack(s Status, p *Progress) {
	if d.Spec.Deleting || d.Revisions.Failed || !p.Failed || p.Blocked || d.Spec.OnFailure != api.Rollback {
		return
	}
	if d.rollingBack = s.CurrentRevision != d.Revisions.Update && !d.Revisions.SameTemplate; d.rollingBack {
		p.Message += d.keeps()
	}
}

// failedRevision returns the update revision if its roll-out has failed and is rolled back, or an empty string.
func (d *facts) failedRevision() string {
	if d.rollingBack || d.Revisions.Failed {
		return d.Revisions.Update
	}
	return ""
}

// deadline returns the time that the roll-out may make no progress. While an updated pod is Ready but not available yet,
// minReadySeconds is added.
func (d rollout) deadline() time.Duration {
	if slices.ContainsFunc(d.pods, func(pod *Pod) bool { return d.rolled(pod) && ready(pod) && !d.available(pod) }) {
		return d.Spec.Deadline + d.Spec.MinReady
	}
	return d.Spec.Deadline
}

// got counts the pods that the roll-out has reached: those with the revision, and of them the Ready and the available ones.
// Surge pods that are about to be removed do not count, because their removal would hide progress.
func (d rollout) got() (updated, isReady, available int32) {
	standIns := d.standInsWanted()
	for _, pod := range d.pods {
		if !d.rolled(pod) || pod.Revision != d.Revisions.Update || !standIns && d.stands[pod.Ordinal] {
			continue
		}
		updated, isReady, available = updated+1, isReady+one(ready(pod)), available+one(d.available(pod))
	}
	return updated, isReady, available
}

// rolled reports whether a pod that stays has the update.
func (d rollout) rolled(pod *Pod) bool {
	return (d.inScope(pod.Ordinal) || d.stands[pod.Ordinal]) && !pod.Terminating && !d.outdated(pod)
}
