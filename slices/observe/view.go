package observe

import (
	"cmp"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/slices/decide"
	"github.com/sliceshift/sliceshift/slices/inputs"
)

// Seen holds the objects of a StatefulSet that were read.
type Seen struct {
	Set *api.StatefulSet
	// Claims are all existing claims of the set's ordinals, by name.
	Claims map[string]*corev1.PersistentVolumeClaim
	// Templates are the pod templates of the revisions, by name.
	Templates map[string]*corev1.PodTemplateSpec
	// inputs are the inputs of the revisions, by name.
	inputs map[string][]inputs.Record
	// target is the revision that pods get. failed is true when it is not that of the template, because that has failed.
	target   string
	failed   bool
	minReady time.Duration
	// served holds the pods that may have been available before, as this process has seen them.
	served map[types.UID]bool
	// changes caches, by revision, the change to the target.
	changes map[string]decide.Change
	// Collisions is the collision count of the history.
	Collisions int32
	// Budgets are the PodDisruptionBudgets of the namespace, if the set keeps them.
	Budgets Budgets
	// Owned are the set's ordinals whose claims were read, ascending: those with a pod, and those that may get one in this
	// pass.
	Owned []int32
}

// viewPod returns the properties of a pod that decisions need.
func (s Seen) viewPod(pod *corev1.Pod, ordinal int32, owned bool) decide.Pod {
	view := decide.Pod{
		Ordinal: ordinal, UID: pod.UID, Revision: pod.Labels[appsv1.StatefulSetRevisionLabel],
		Phase: phaseOf(pod), Terminating: pod.DeletionTimestamp != nil,
		IdentityOK:  identityMatches(pod, ordinal),
		AskedToGo:   api.AskedToGo(pod),
		ReadsReason: readsReason(&pod.Spec),
		Reason:      api.TerminationReason(pod.Annotations[api.TerminationReasonAnnotationKey]),
	}
	view.Ready, view.ReadySince = Readiness(pod)
	view.NeverAvailable = !s.served[pod.UID] && neverAvailable(pod, s.minReady)
	view.ReasonSince, _ = time.Parse(time.RFC3339Nano, pod.Annotations[api.TerminationTimeAnnotationKey])
	view.ClaimsMissing = s.awaitsClaims(pod, ordinal)
	view.ClaimsOK, view.Growth = s.claimsMatch(pod, ordinal, owned), s.growthOf(ordinal)
	view.Growth.Anew = view.Growth.State == decide.AwaitsFileSystem && pod.CreationTimestamp.After(view.Growth.Since)
	view.StandIn = s.standsIn(ordinal)
	view.LostSince = lostSince(pod)
	if !view.Ready || view.Terminating {
		view.Node, view.UnreadySince = pod.Spec.NodeName, unreadySince(pod)
	}
	if view.Terminating {
		view.GoneBy, view.Finalizers = pod.DeletionTimestamp.Time, pod.Finalizers
	}
	s.viewChange(&view, pod)
	if lifecycle := s.Set.Spec.Lifecycle; lifecycle != nil {
		view.HeldForDelete, view.HeldForUpdate = Holds(lifecycle.PreDelete, pod), Holds(lifecycle.InPlaceUpdate, pod)
	}
	return view
}

func phaseOf(pod *corev1.Pod) decide.Phase {
	switch pod.Status.Phase {
	case corev1.PodRunning:
		return decide.Running
	case corev1.PodFailed:
		return decide.Failed
	case corev1.PodSucceeded:
		return decide.Succeeded
	default:
		return decide.Pending
	}
}

// Readiness reports whether a pod is Ready, and since when.
func Readiness(pod *corev1.Pod) (bool, time.Time) {
	if pod.Status.Phase != corev1.PodRunning {
		return false, time.Time{}
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue {
			return true, condition.LastTransitionTime.Time
		}
	}
	return false, time.Time{}
}

// unreadySince returns the time since which a pod that is not Ready is not: at most its age.
func unreadySince(pod *corev1.Pod) time.Time {
	since := pod.CreationTimestamp.Time
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status != corev1.ConditionTrue && c.LastTransitionTime.After(since) {
			since = c.LastTransitionTime.Time
		}
	}
	return since
}

// lostSince returns the time since which the node of a pod does not answer, or zero. The node lifecycle controller then sets
// Ready to False, and only that. The kubelet has reported the containers as ready before, and all readiness gates are open.
// Where these came later, the kubelet is about to set Ready to True.
func lostSince(pod *corev1.Pod) time.Time {
	at := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady })
	if pod.Status.Phase != corev1.PodRunning || at < 0 || pod.Status.Conditions[at].Status != corev1.ConditionFalse {
		return time.Time{}
	}
	since := pod.Status.Conditions[at].LastTransitionTime.Time
	before := func(kind corev1.PodConditionType) bool {
		c := conditionOf(pod, kind)
		return c != nil && c.LastTransitionTime.Time.Before(since)
	}
	shut := func(gate corev1.PodReadinessGate) bool { return !before(gate.ConditionType) }
	if !before(corev1.ContainersReady) || slices.ContainsFunc(pod.Spec.ReadinessGates, shut) {
		return time.Time{}
	}
	return since
}

// neverAvailable reports whether a pod that is not Ready has certainly not been available since its creation: it has no node,
// its kubelet has not reported the condition Ready, or that condition changed too early. For a pod that is Ready it is true,
// since only this process can have seen it available before.
//
// When a kubelet starts a pod, it writes both times at once, in whole seconds (kubernetes/pkg/kubelet/status). Another clock
// has written a condition that precedes the start, for example that of the node lifecycle controller.
func neverAvailable(pod *corev1.Pod, minReady time.Duration) bool {
	if isReady, _ := Readiness(pod); isReady || pod.Spec.NodeName == "" {
		return true
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			if pod.Status.StartTime == nil {
				return false
			}
			after := condition.LastTransitionTime.Sub(pod.Status.StartTime.Time)
			return after >= 0 && (after <= time.Second || after < minReady)
		}
	}
	return true
}

func (s Seen) viewChange(view *decide.Pod, pod *corev1.Pod) {
	view.Change = s.changeFrom(view.Revision)
	if p := InPlaceOf(pod); p != nil {
		view.InPlace = viewInPlace(p, pod)
	}
	if in := view.InPlace; in != nil && in.Infeasible && in.Revision == s.target {
		view.Change.Blocker = "spec.template.spec.containers[].resources"
	}
}

func viewInPlace(p *ProgressInPlace, pod *corev1.Pod) *decide.InPlace {
	view := &decide.InPlace{
		Revision: p.Revision, Since: p.Since, Patched: p.Patched != nil,
		Done: p.done(pod), Unseen: p.unseen(pod), Serves: p.Serves(pod),
	}
	if p.Refused != "" {
		view.Waits, view.Infeasible = p.Refused, true
		return view
	}
	if stalled := stalledResize(pod); stalled != nil && p.Patched != nil && len(p.Resized) > 0 && specSeen(pod) {
		view.Waits = cmp.Or(stalled.Message, stalled.Reason)
		view.Infeasible = stalled.Type == corev1.PodResizePending && stalled.Reason == corev1.PodReasonInfeasible
	}
	return view
}

// changeFrom returns how a pod can be updated from its revision to the target.
func (s Seen) changeFrom(revision string) decide.Change {
	if change, known := s.changes[revision]; known {
		return change
	}
	from, to := s.Templates[revision], s.Templates[s.target]
	change := decide.Change{Blocker: "the pod's revision is not known any more"}
	switch {
	case revision == s.target:
		change = decide.Change{Same: true}
	case from != nil && to != nil:
		change = changeOf(from, to)
		if changed := inputs.Changed(s.inputs[revision], s.inputs[s.target]); changed != "" && change.Blocker != "" {
			change.Blocker = changed
		}
	}
	s.changes[revision] = change
	return change
}

// claimsMatch reports whether all existing claims of a pod need no change.
func (s Seen) claimsMatch(pod *corev1.Pod, ordinal int32, owned bool) bool {
	for i := range s.Set.Spec.VolumeClaimTemplates {
		claim := s.Claims[ClaimName(s.Set.Spec.VolumeClaimTemplates[i].Name, s.Set.Name, ordinal)]
		if claim != nil && !ClaimMatches(s.Set, claim, pod, owned) {
			return false
		}
	}
	return true
}

// awaitsClaims reports whether a pod waits for missing claims. A running pod has mounted its claims, and a new claim of the
// same name would have another volume.
func (s Seen) awaitsClaims(pod *corev1.Pod, ordinal int32) bool {
	waits := phaseOf(pod) == decide.Pending || !storageMatches(s.Set, pod, ordinal)
	return waits && slices.ContainsFunc(s.Set.Spec.VolumeClaimTemplates, func(template corev1.PersistentVolumeClaim) bool {
		return s.Claims[ClaimName(template.Name, s.Set.Name, ordinal)] == nil
	})
}

// Holds reports whether a hook delays a change of a pod: the pod has all labels and finalizers.
func Holds(hook *api.LifecycleHook, pod *corev1.Pod) bool {
	if hook == nil || len(hook.LabelsHandler) == 0 && len(hook.FinalizersHandler) == 0 {
		return false
	}
	for key, value := range hook.LabelsHandler {
		if pod.Labels[key] != value {
			return false
		}
	}
	return sets.New(pod.Finalizers...).HasAll(hook.FinalizersHandler...)
}

// readsReason reports whether a container of a pod can read the termination reason: the annotation is exposed to it, or it
// has a preStop hook, which could query the API server.
func readsReason(spec *corev1.PodSpec) bool {
	for i := range spec.Volumes {
		if showsReason(&spec.Volumes[i]) {
			return true
		}
	}
	return anyReadsReason(spec.InitContainers) || anyReadsReason(spec.Containers)
}

// showsReason reports whether a volume has a file with the reason.
func showsReason(volume *corev1.Volume) bool {
	return slices.ContainsFunc(downwardFiles(volume), func(file corev1.DownwardAPIVolumeFile) bool { return isReason(file.FieldRef) })
}

func anyReadsReason(containers []corev1.Container) bool {
	shows := func(env corev1.EnvVar) bool { return env.ValueFrom != nil && isReason(env.ValueFrom.FieldRef) }
	for i := range containers {
		if hooks := containers[i].Lifecycle; hooks != nil && hooks.PreStop != nil || slices.ContainsFunc(containers[i].Env, shows) {
			return true
		}
	}
	return false
}

// isReason reports whether a field is the reason, its time, or all annotations.
func isReason(field *corev1.ObjectFieldSelector) bool {
	if field == nil {
		return false
	}
	key, one := strings.CutPrefix(field.FieldPath, "metadata.annotations[")
	key = strings.Trim(key, `'"]`)
	return field.FieldPath == "metadata.annotations" || one && (key == api.TerminationReasonAnnotationKey || key == api.TerminationTimeAnnotationKey)
}
