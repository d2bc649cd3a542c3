package slices

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/shell"
	"github.com/sliceshift/sliceshift/slices/decide"
	"github.com/sliceshift/sliceshift/slices/execute"
	"github.com/sliceshift/sliceshift/slices/observe"
)

// statusOf returns the status for a decision. failed is the error of its actions, if any.
func statusOf(s observe.Seen, in decide.Input, decision decide.Decision, failed error) api.StatefulSetStatus {
	set := s.Set
	status := *set.Status.DeepCopy()
	count := decision.Status
	status.ObservedGeneration = set.Generation
	status.Replicas, status.ReadyReplicas, status.AvailableReplicas = count.Replicas, count.Ready, count.Available
	status.CurrentReplicas, status.UpdatedReplicas = count.Current, count.Updated
	status.UpdatedReadyReplicas, status.UpdatedAvailableReplicas = count.UpdatedReady, count.UpdatedAvailable
	status.CurrentRevision, status.UpdateRevision, status.FailedRevision = count.CurrentRevision, in.Revisions.Update, decision.FailedRevision
	if s.Collisions > 0 {
		status.CollisionCount = &s.Collisions
	}
	status.ObservedMaxUnavailable = in.Spec.Share
	status.LabelSelector = metav1.FormatLabelSelector(set.Spec.Selector)
	status.VolumeClaims = s.VolumeClaims(s.Owned)
	status.LastProgressTime = lastProgress(decision.Progress)
	renderProgressing(set, &status, in, decision)
	renderSplit(set, &status)
	renderBehind(s, &status)
	renderHeld(set, &status, decision)
	renderFailure(set, &status, failed)
	renderReady(set, &status, decision)
	return status
}

func condition(set *api.StatefulSet, status *api.StatefulSetStatus, kind string, is bool, reason, message string) {
	value := metav1.ConditionFalse
	if is {
		value = metav1.ConditionTrue
	}
	meta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type: kind, Status: value, Reason: reason, Message: message, ObservedGeneration: set.Generation,
	})
}

// Reasons of the condition Progressing, with Deployment's names. Package decide has the reasons that Ready shares.
const (
	reasonComplete = "StatefulSetComplete"
	reasonUpdating = "StatefulSetUpdated"
	reasonOnDelete = "StatefulSetOnDelete"
)

func renderProgressing(set *api.StatefulSet, status *api.StatefulSetStatus, in decide.Input, decision decide.Decision) {
	switch {
	case decision.Progress.Failed:
		condition(set, status, api.ConditionProgressing, false, decision.Readiness.Reason, decision.Progress.Message)
	case decision.Progress.Blocked:
		condition(set, status, api.ConditionProgressing, true, api.ReasonRevisionInput, in.Revisions.Blocked)
	case decision.Complete:
		condition(set, status, api.ConditionProgressing, true, reasonComplete, "every pod has revision "+status.UpdateRevision)
	case in.Spec.Paused:
		condition(set, status, api.ConditionProgressing, true, decide.ReasonRolloutPaused, "the roll-out is paused")
	case in.Spec.Strategy == api.OnDelete && int(status.UpdatedReplicas) < staying(in.Pods):
		condition(set, status, api.ConditionProgressing, true, reasonOnDelete, "pods of other revisions get revision "+status.UpdateRevision+" when they are deleted")
	default:
		condition(set, status, api.ConditionProgressing, true, reasonUpdating, "rolling out revision "+status.UpdateRevision)
	}
}

// lastProgress returns the time of the last progress of an incomplete roll-out, or nil.
func lastProgress(p decide.Progress) *metav1.Time {
	if p.Revision == "" || p.Complete {
		return nil
	}
	return &metav1.Time{Time: p.Since.Truncate(time.Second)} // the API has no fractions of a second
}

// toldProgress returns the progress that a status records. It lets a restarted controller continue the deadline of a
// roll-out.
func toldProgress(status api.StatefulSetStatus) decide.Progress {
	progressing := meta.FindStatusCondition(status.Conditions, api.ConditionProgressing)
	if progressing == nil || progressing.Reason == decide.ReasonRolloutPaused || status.LastProgressTime == nil && status.UpdatedReplicas == 0 {
		return decide.Progress{}
	}
	p := decide.Progress{Revision: status.UpdateRevision, Updated: status.UpdatedReplicas, Ready: status.UpdatedReadyReplicas, Available: status.UpdatedAvailableReplicas}
	if p.Complete = status.LastProgressTime == nil; !p.Complete {
		p.Since, p.Late = status.LastProgressTime.Time, toldLate(status)
	}
	p.Blocked = progressing.Reason == api.ReasonRevisionInput
	if progressing.Reason == api.ReasonRevisionFailed {
		p.Message = progressing.Message
	}
	return p
}

// toldLate reports whether a status describes a late roll-out: pods of the update revision that are not available, or writes
// that are refused.
func toldLate(status api.StatefulSetStatus) bool {
	is := func(kind string) bool { return meta.IsStatusConditionTrue(status.Conditions, kind) }
	return status.UpdatedAvailableReplicas < status.UpdatedReplicas || is(api.ConditionFailedCreatePod) || is(api.ConditionFailedUpdatePod) ||
		meta.IsStatusConditionFalse(status.Conditions, api.ConditionProgressing)
}

// staying counts the pods that are not Terminating.
func staying(pods []decide.Pod) (count int) {
	for i := range pods {
		if !pods[i].Terminating {
			count++
		}
	}
	return count
}

// renderSplit sets or removes the condition Split.
func renderSplit(set *api.StatefulSet, status *api.StatefulSetStatus) {
	switch {
	case decide.SplitOf(set):
		condition(set, status, api.ConditionSplit, true, "Marked", "another slice may own ordinals of the application: no surge pods are created until the annotation "+api.SplitAnnotationKey+" is "+api.NotSplit)
	case meta.FindStatusCondition(status.Conditions, api.ConditionSplit) != nil:
		meta.RemoveStatusCondition(&status.Conditions, api.ConditionSplit)
	}
}

// renderBehind sets the condition ClaimsBehind, or removes it from a set whose claims do not follow on deletion.
func renderBehind(s observe.Seen, status *api.StatefulSetStatus) {
	if !observe.FollowsOnDelete(s.Set) {
		meta.RemoveStatusCondition(&status.Conditions, api.ConditionClaimsBehind)
		return
	}
	behind := s.Behind(s.Owned)
	if len(behind.Ordinals) == 0 {
		condition(s.Set, status, api.ConditionClaimsBehind, false, "AsTemplates", "")
		return
	}
	words := []string{s.Set.Name, "-n", s.Set.Namespace, "--api-version", api.GroupVersion.String()}
	for _, template := range behind.Templates {
		words = append(words, "--volume", template+"=method=copy,image=IMAGE")
	}
	condition(s.Set, status, api.ConditionClaimsBehind, true, "TemplatesChanged",
		fmt.Sprintf("claims of %d of %d ordinals differ from their templates, first those of %s: plan their replacement with %s",
			len(behind.Ordinals), len(s.Owned), observe.PodName(s.Set.Name, behind.Ordinals[0]), shell.Kubectl{}.Migrate("storage", words...)))
}

// told is the maximum number of held ordinals in the condition's message.
const told = 5

func renderHeld(set *api.StatefulSet, status *api.StatefulSetStatus, decision decide.Decision) {
	if len(decision.Held) == 0 {
		if meta.FindStatusCondition(status.Conditions, api.ConditionHeld) != nil {
			condition(set, status, api.ConditionHeld, false, "NothingHeld", "")
		}
		return
	}
	words := make([]string, 0, told)
	for _, hold := range causesFirst(decision.Held) {
		words = append(words, fmt.Sprintf("%s: %s", observe.PodName(set.Name, hold.Ordinal), hold.Message))
	}
	if more := len(decision.Held) - told + int(decision.HeldMore); more > 0 {
		words = append(words, fmt.Sprintf("and %d more", more))
	}
	condition(set, status, api.ConditionHeld, true, decision.Held[0].Reason, strings.Join(words, "; "))
}

// causesFirst returns the holds that the message of the condition has room for. If it lacks room, those of pods that others
// wait for come first, such as a pod on a lost node.
func causesFirst(held []decide.Hold) []decide.Hold {
	if len(held) <= told {
		return held
	}
	waits := func(h decide.Hold) int {
		if h.Reason == decide.HeldNotReady || h.Reason == decide.HeldTerminating {
			return 0
		}
		return 1
	}
	sorted := slices.Clone(held)
	slices.SortStableFunc(sorted, func(a, b decide.Hold) int { return waits(a) - waits(b) })
	return sorted[:told]
}

func renderFailure(set *api.StatefulSet, status *api.StatefulSetStatus, failed error) {
	for kind, verbs := range map[string][]decide.Verb{
		api.ConditionFailedCreatePod: {decide.Create},
		api.ConditionFailedUpdatePod: {decide.BeginInPlace, decide.PatchInPlace, decide.FinishInPlace, decide.GrowClaims, decide.CreateClaims, decide.OwnClaims, decide.Repair, decide.Relabel, decide.Announce, decide.Delete, decide.Evict, decide.ChargeBudget, decide.ReleaseBudget, execute.OpenGate, execute.CloseGate, execute.TellState},
	} {
		message := refusal(failed, verbs)
		switch {
		case message != "":
			condition(set, status, kind, true, "Refused", message)
		case meta.FindStatusCondition(status.Conditions, kind) != nil:
			meta.RemoveStatusCondition(&status.Conditions, kind)
		}
	}
}

// renderReady sets the conditions that kstatus and kubectl wait use. Ready is always present. While it is False, Reconciling
// or Stalled is present too, unless the set is paused or being deleted.
func renderReady(set *api.StatefulSet, status *api.StatefulSetStatus, decision decide.Decision) {
	is, failed := decision.Readiness, decision.Progress.Failed
	reason, message := is.Reason, is.Message
	if !is.Ready && !failed {
		for _, kind := range []string{api.ConditionFailedUpdatePod, api.ConditionFailedCreatePod} {
			if refused := meta.FindStatusCondition(status.Conditions, kind); refused != nil {
				reason, message = kind, is.Message+": "+refused.Message
			}
		}
	}
	condition(set, status, api.ConditionReady, is.Ready, reason, message)
	if failed {
		message = decision.Progress.Message // without counts, which change while the roll-out is stalled
	}
	for kind, abnormal := range map[string]bool{
		api.ConditionReconciling: !is.Ready && !is.Waiting && !failed,
		api.ConditionStalled:     failed,
	} {
		if abnormal {
			condition(set, status, kind, true, reason, message)
		} else {
			meta.RemoveStatusCondition(&status.Conditions, kind)
		}
	}
}

// refusal returns the API server's error for one of the verbs, of the first pod by name, or an empty string. A conflict is
// no refusal, because the write is retried at once.
func refusal(failed error, verbs []decide.Verb) (first string) {
	if several, is := failed.(interface{ Unwrap() []error }); is {
		for _, each := range several.Unwrap() {
			if text := refusal(each, verbs); first == "" || text != "" && text < first {
				first = text
			}
		}
		return first
	}
	if failed == nil || apierrors.IsConflict(failed) {
		return ""
	}
	text := failed.Error()
	if !slices.ContainsFunc(verbs, func(v decide.Verb) bool { return strings.HasPrefix(text, string(v)+" of pod") }) {
		return ""
	}
	return text
}

// urgent reports whether a status must be written at once, because other controllers act on the change. Changes of counts
// alone may be batched.
func urgent(before, after api.StatefulSetStatus) bool {
	return before.ObservedGeneration != after.ObservedGeneration ||
		!equality.Semantic.DeepEqual(before.ObservedMaxUnavailable, after.ObservedMaxUnavailable) ||
		before.CurrentRevision != after.CurrentRevision || before.UpdateRevision != after.UpdateRevision || before.FailedRevision != after.FailedRevision ||
		before.LabelSelector != after.LabelSelector || statuses(before) != statuses(after)
}

// settled reports whether all desired pods exist, are available and have the same revision.
func settled(s api.StatefulSetStatus, want int) bool {
	return int(s.Replicas) == want && s.AvailableReplicas == s.Replicas && s.UpdatedReplicas == s.Replicas && s.CurrentRevision == s.UpdateRevision
}

func statuses(s api.StatefulSetStatus) string {
	var text strings.Builder
	for _, c := range s.Conditions {
		switch c.Type {
		case api.ConditionProgressing:
			text.WriteString(c.Type + string(c.Status) + c.Reason)
		case api.ConditionReady:
			text.WriteString(c.Type + string(c.Status))
		}
	}
	return text.String()
}
