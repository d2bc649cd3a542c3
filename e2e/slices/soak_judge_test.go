package slices

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	sliceapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

const (
	// lag is how long the controller may act on old state on an idle machine.
	lag = 2 * time.Second
	// blink is how long the controller may consider a pod down after it has become ready.
	blink = time.Second
	// overdue is how long a pod outside of every range may exist while nothing else happens.
	overdue = 20 * time.Second
)

// judge knows the recent specs and since when pods are down. It checks, under any edits, harm and dead controllers:
//
//   - no pod goes down for an update, for a requested deletion or at the end of a surge, if
//     that takes more pods down than maxUnavailable, less the surge pods;
//   - nothing below the partition is updated, and nothing while the set is paused;
//   - an ordinal never has two pods;
//   - pods outside of the spec leave;
//   - no condition of the status contradicts another, or the counts;
//   - a claim is deleted only with the pod of an ordinal that was scaled down, if the retention
//     policy says so, or with a surge pod; no claim shrinks, and no ordinal's claim becomes that
//     of a surge pod.
//
// The controller may act on slightly old state, so every spec of that time counts in its favour.
type judge struct {
	set    string
	specs  []wantedSpec
	pods   map[int32]*seenPod
	claims map[string]observedClaim
	// harmed are pods that the test deletes.
	harmed map[types.UID]bool
	// paid counts the pods that went down at the expense of the budget, judged those of them for which the budget was
	// checked.
	paid, judged int
	// pace measures how late the controller sees changes.
	pace *pace
	// trace lists the last events of pods, to explain a violation.
	trace []string
}

func newJudge(set string, pace *pace) judge {
	return judge{set: set, pace: pace, pods: map[int32]*seenPod{}, claims: map[string]observedClaim{}, harmed: map[types.UID]bool{}}
}

// wantedSpec is the relevant part of a spec, valid from a time on.
type wantedSpec struct {
	at time.Time
	// ordinals are the owned ordinals; surge is the largest number of surge pods.
	ordinals []int32
	surge    int32
	// allowed is how many pods may be down for an update.
	allowed  int32
	minReady time.Duration
	// partition is the ordinal below which nothing is updated.
	partition int32
	paused    bool
	// deletesScaled is true if the claims of ordinals that are scaled down are deleted.
	deletesScaled bool
}

// seenPod is an ordinal's pod, or the lack of it.
type seenPod struct {
	uid    types.UID
	exists bool
	// up is true while it serves, which it has since the time in since, as its status reports.
	up    bool
	since time.Time
	// down is when it last went down, and paid whether the controller did that at the expense of the budget. changed
	// is when it last went up or down.
	down, changed time.Time
	paid          bool
	// shaken is when it was last down for another reason. The controller may still see it as down, and replacing such
	// a pod does not count.
	shaken time.Time
}

// lag returns how long the controller may act on old state, given the load of the machine.
func (j *judge) lag(now time.Time) time.Duration { return lag + 2*j.pace.worst(now) }

// available reports whether a pod has been up for at least minReady.
func (p *seenPod) available(now time.Time, minReady time.Duration) bool {
	return p.up && now.Sub(p.since) >= minReady
}

type observedClaim struct {
	size          int64
	doomed, surge bool
}

// spec informs the judge of a spec that is about to be written: the controller may act on it at once.
func (j *judge) spec(now time.Time, spec *sliceapi.StatefulSetSpec) {
	wanted := wantedSpec{at: now, ordinals: ordinalsOf(spec), allowed: 1, minReady: time.Duration(spec.MinReadySeconds) * time.Second, paused: spec.Paused}
	rolls := spec.UpdateStrategy.RollingUpdate
	switch {
	case spec.UpdateStrategy.Type == sliceapi.Recreate:
		wanted.allowed = 1000
	case rolls != nil:
		wanted.roll(spec, rolls)
	}
	if policy := spec.PersistentVolumeClaimRetentionPolicy; policy != nil {
		wanted.deletesScaled = policy.WhenScaled == appsv1.DeletePersistentVolumeClaimRetentionPolicyType
	}
	j.specs = append(j.specs, wanted)
	for _, ordinal := range wanted.ordinals {
		j.at(now, ordinal)
	}
}

// wrote informs the judge whether the last spec was written.
func (j *judge) wrote(now time.Time, err error) {
	if last := len(j.specs) - 1; err != nil {
		j.specs = j.specs[:last]
	} else {
		j.pace.took(now, j.specs[last].at)
		j.specs[last].at = now
	}
}

// hasSurgeClaim reports whether the claim of an ordinal was created for a surge pod.
func (j *judge) hasSurgeClaim(ordinal int32) bool {
	return j.claims[fmt.Sprintf("data-%s-%d", j.set, ordinal)].surge
}

func (a *wantedSpec) roll(spec *sliceapi.StatefulSetSpec, rolls *sliceapi.RollingUpdateStrategy) {
	if rolls.MaxUnavailable != nil {
		a.allowed = rolls.MaxUnavailable.IntVal
	}
	if rolls.Partition != nil {
		a.partition = *rolls.Partition
	}
	if rolls.MaxSurge != nil {
		a.surge = min(rolls.MaxSurge.IntVal, *spec.Replicas)
	}
}

func (j *judge) at(now time.Time, ordinal int32) *seenPod {
	if j.pods[ordinal] == nil {
		j.pods[ordinal] = &seenPod{down: now, changed: now}
	}
	return j.pods[ordinal]
}

// pod judges an event.
func (j *judge) pod(now time.Time, pod *corev1.Pod, gone bool) error {
	ordinal := ordinalOf(j.set, pod.Name)
	j.note(now, pod, gone)
	known := j.at(now, ordinal)
	if known.exists && known.uid != pod.UID {
		return fmt.Errorf("%s: %s has two pods: %s and %s", now.Format(clockTime), pod.Name, known.uid, pod.UID)
	}
	was := *known
	known.exists, known.uid, known.up, known.since = !gone, pod.UID, !gone && serves(pod), readySince(pod)
	switch {
	case was.up == known.up:
	case known.up:
		known.changed = now
	default:
		known.down, known.changed, known.paid = now, now, j.pays(now, ordinal, pod)
		if err := j.goesDown(now, ordinal, pod, was); err != nil {
			return fmt.Errorf("%s: %s %w", now.Format(clockTime), pod.Name, err)
		}
	}
	return j.strays(now)
}

// note records an event.
func (j *judge) note(now time.Time, pod *corev1.Pod, gone bool) {
	const most = 60
	reason := pod.Annotations[sliceapi.TerminationReasonAnnotationKey]
	words := []string{fmt.Sprintf("  %s %s of %s, revision %s", now.Format(clockTime), pod.Name, pod.ResourceVersion, pod.Labels[appsv1.StatefulSetRevisionLabel])}
	for _, each := range []struct {
		what string
		is   bool
	}{{"gone", gone}, {"serves", serves(pod)}, {"is deleted", pod.DeletionTimestamp != nil}, {"is updated in place", updatedInPlace(pod)}, {"is told " + reason, reason != ""}} {
		if each.is {
			words = append(words, each.what)
		}
	}
	j.trace = append(j.trace[max(0, len(j.trace)-most):], strings.Join(words, ", "))
}

// goesDown judges a pod that served until now.
func (j *judge) goesDown(now time.Time, ordinal int32, pod *corev1.Pod, was seenPod) error {
	known := j.pods[ordinal]
	if !known.paid {
		known.shaken = now
		return nil
	}
	j.paid++
	if err := j.allowed(now, ordinal, pod); err != nil {
		return err
	}
	for _, wanted := range j.lately(now) {
		if wanted.minReady > 0 && !was.available(now.Add(-j.lag(now)), wanted.minReady) {
			return nil // it may not have been available
		}
	}
	if now.Sub(known.shaken) <= j.lag(now) || now.Sub(was.changed) <= blink+j.pace.worst(now) {
		return nil
	}
	j.judged++
	return j.budget(now)
}

// pays reports whether the controller takes a pod down at the expense of its budget.
func (j *judge) pays(now time.Time, ordinal int32, pod *corev1.Pod) bool {
	if j.harmed[pod.UID] {
		return false
	}
	if updatedInPlace(pod) {
		return true
	}
	if pod.DeletionTimestamp == nil && gateOf(pod) != corev1.ConditionFalse {
		return false
	}
	switch sliceapi.TerminationReason(pod.Annotations[sliceapi.TerminationReasonAnnotationKey]) {
	case sliceapi.TerminationUpdate, sliceapi.TerminationDeletion:
		return true
	case sliceapi.TerminationScaleDown:
		return j.hasSurgeClaim(ordinal) && !slices.ContainsFunc(j.lately(now), func(a wantedSpec) bool { return a.surge == 0 || slices.Contains(a.ordinals, ordinal) })
	default:
		return false
	}
}

func updatedInPlace(pod *corev1.Pod) bool {
	return pod.Annotations[sliceapi.InPlaceUpdateAnnotationKey] != ""
}

// allowed checks that an update which takes a pod down is permitted by partition and pause.
func (j *judge) allowed(now time.Time, ordinal int32, pod *corev1.Pod) error {
	if !updatedInPlace(pod) && pod.Annotations[sliceapi.TerminationReasonAnnotationKey] != string(sliceapi.TerminationUpdate) {
		return nil
	}
	wanted := j.lately(now)
	if !slices.ContainsFunc(wanted, func(a wantedSpec) bool { return ordinal >= a.partition }) {
		return fmt.Errorf("is updated, and the partition is %d", wanted[0].partition)
	}
	if !slices.ContainsFunc(wanted, func(a wantedSpec) bool { return !a.paused }) {
		return errors.New("is updated, and the set is paused")
	}
	return nil
}

// lately returns the specs that the controller may act on.
func (j *judge) lately(now time.Time) []wantedSpec {
	first := len(j.specs) - 1
	for first > 0 && now.Sub(j.specs[first].at) < j.lag(now) {
		first--
	}
	return j.specs[first:]
}

// budget checks that not too many owned pods are down: those that the controller has taken down, and those that have
// been down for long enough to be known. Each surge pod compensates for one.
func (j *judge) budget(now time.Time) error {
	wanted := j.lately(now)
	allowed, owned, minReady := int32(0), wanted[0].ordinals, wanted[0].minReady
	surges := false
	for _, spec := range wanted {
		allowed, minReady = max(allowed, spec.allowed), min(minReady, spec.minReady)
		owned = slices.DeleteFunc(slices.Clone(owned), func(ordinal int32) bool { return !slices.Contains(spec.ordinals, ordinal) })
		surges = surges || spec.surge > 0
	}
	var down, surging []int32
	for _, ordinal := range slices.Sorted(maps.Keys(j.pods)) {
		pod := j.pods[ordinal]
		surely := !pod.available(now, minReady) && (pod.paid || now.Sub(pod.down) > j.lag(now))
		switch {
		case slices.Contains(owned, ordinal) && surely:
			down = append(down, ordinal)
		case surges && j.hasSurgeClaim(ordinal) && !surely:
			surging = append(surging, ordinal)
		}
	}
	if len(down) > int(allowed)+len(surging) {
		return fmt.Errorf("goes down on the budget, and with it %v are: %d are allowed, and %v are surge pods\n%s", down, allowed, surging, j.scene(now))
	}
	return nil
}

// scene describes the known state of all pods, and the recent specs.
func (j *judge) scene(now time.Time) string {
	var lines []string
	ago := func(at time.Time) string {
		if at.IsZero() {
			return "never"
		}
		return now.Sub(at).Round(time.Millisecond).String() + " ago"
	}
	for _, ordinal := range slices.Sorted(maps.Keys(j.pods)) {
		pod := j.pods[ordinal]
		lines = append(lines, fmt.Sprintf("  pod %d: there %t, up %t since %s, changed %s, down %s, paid %t, shaken %s, surge %t",
			ordinal, pod.exists, pod.up, ago(pod.since), ago(pod.changed), ago(pod.down), pod.paid, ago(pod.shaken), j.hasSurgeClaim(ordinal)))
	}
	for _, spec := range j.lately(now) {
		lines = append(lines, fmt.Sprintf("  asked %s: %+v", ago(spec.at), spec))
	}
	lines = append(lines, j.trace...)
	lines = append(lines, fmt.Sprintf("  the controller may act on what was true %s ago", j.lag(now)))
	return strings.Join(lines, "\n")
}

// strays checks that no pod outside of the spec remains when nothing else is pending.
func (j *judge) strays(now time.Time) error {
	last := j.specs[len(j.specs)-1]
	since := last.at
	for _, ordinal := range last.ordinals {
		pod := j.pods[ordinal]
		if !pod.available(now, last.minReady) {
			return nil
		}
		if counts := pod.changed.Add(last.minReady); counts.After(since) {
			since = counts
		}
	}
	for _, ordinal := range slices.Sorted(maps.Keys(j.pods)) {
		if j.pods[ordinal].exists && !slices.Contains(last.ordinals, ordinal) && (last.surge == 0 || !j.hasSurgeClaim(ordinal)) && now.Sub(since) > overdue {
			return fmt.Errorf("%s: ordinal %d is still there, %s after all of %v were up", now.Format(clockTime), ordinal, now.Sub(since), last.ordinals)
		}
	}
	return nil
}

// claim judges an event of a claim.
func (j *judge) claim(now time.Time, claim *corev1.PersistentVolumeClaim, gone bool) error {
	known, observed := j.claims[claim.Name]
	size := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	if gone || claim.DeletionTimestamp != nil {
		if observed && !known.doomed {
			return fmt.Errorf("%s: claim %s is deleted, and goes with no pod", now.Format(clockTime), claim.Name)
		}
		if gone {
			delete(j.claims, claim.Name)
		}
		return nil
	}
	if observed && size.Value() < known.size {
		return fmt.Errorf("%s: claim %s shrinks to %s", now.Format(clockTime), claim.Name, size.String())
	}
	doomed := slices.ContainsFunc(claim.OwnerReferences, isPod)
	_, surge := claim.Annotations[sliceapi.SurgeAnnotationKey]
	if surge && observed && !known.surge {
		return fmt.Errorf("%s: claim %s was an ordinal's, and is a surge pod's now", now.Format(clockTime), claim.Name)
	}
	if doomed && !known.doomed && !slices.ContainsFunc(j.lately(now), func(a wantedSpec) bool {
		return (a.deletesScaled || surge) && !slices.Contains(a.ordinals, ordinalOf("data-"+j.set, claim.Name))
	}) {
		return fmt.Errorf("%s: claim %s is to go with its pod, and nothing says so", now.Format(clockTime), claim.Name)
	}
	j.claims[claim.Name] = observedClaim{size: size.Value(), doomed: doomed, surge: surge}
	return nil
}

// ordinalsOf returns the ordinals of a spec.
func ordinalsOf(spec *sliceapi.StatefulSetSpec) []int32 {
	start := int32(0)
	if spec.Ordinals != nil {
		start = spec.Ordinals.Start
	}
	return nextOrdinals(spec.ReserveOrdinals, start, *spec.Replicas)
}

// nextOrdinals returns the next count ordinals from at on that are not reserved.
func nextOrdinals(reserved []intstr.IntOrString, at, count int32) []int32 {
	ordinals := []int32{}
	for ; len(ordinals) < int(count); at++ {
		if !slices.ContainsFunc(reserved, func(r intstr.IntOrString) bool { return reserves(r, at) }) {
			ordinals = append(ordinals, at)
		}
	}
	return ordinals
}

// reserves reports whether value, a number or a range like "3-5", includes the ordinal.
func reserves(value intstr.IntOrString, ordinal int32) bool {
	from, to, ranged := strings.Cut(value.String(), "-")
	if !ranged {
		to = from
	}
	first, err1 := strconv.Atoi(from)
	last, err2 := strconv.Atoi(to)
	return err1 == nil && err2 == nil && first <= int(ordinal) && int(ordinal) <= last
}

func ordinalOf(set, pod string) int32 {
	ordinal, err := strconv.ParseInt(strings.TrimPrefix(pod, set+"-"), 10, 32)
	if err != nil {
		return -1
	}
	return int32(ordinal)
}

// readySince returns since when a pod reports itself Ready.
func readySince(pod *corev1.Pod) time.Time {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue {
			return condition.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

func isPod(owner metav1.OwnerReference) bool { return owner.Kind == "Pod" }

// contradiction finds conditions of a status that contradict each other, or its counts.
func contradiction(set *sliceapi.StatefulSet) error {
	status := set.Status
	is := func(kind string) bool { return meta.IsStatusConditionTrue(status.Conditions, kind) }
	ready, reconciling, stalled := is(sliceapi.ConditionReady), is(sliceapi.ConditionReconciling), is(sliceapi.ConditionStalled)
	switch {
	case ready && (reconciling || stalled), reconciling && stalled:
		return fmt.Errorf("the conditions contradict each other: %+v", status.Conditions)
	case ready && (status.ReadyReplicas != status.Replicas || status.AvailableReplicas != status.Replicas):
		return fmt.Errorf("it is Ready with these counts: %+v", status)
	case ready && status.ObservedGeneration == set.Generation && int(status.Replicas) != len(ordinalsOf(&set.Spec)):
		return fmt.Errorf("it is Ready with %d pods of %d", status.Replicas, len(ordinalsOf(&set.Spec)))
	}
	return nil
}
