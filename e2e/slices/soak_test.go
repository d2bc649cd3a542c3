package slices

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/clock"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/e2e/cluster"
	sliceapi "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// What a soak looks like. The seed is logged, so that the same edits can be made again.
const (
	soakFor  = "SLICESHIFT_SOAK"
	soakSets = "SLICESHIFT_SOAK_SETS"
	soakSeed = "SLICESHIFT_SOAK_SEED"
)

const (
	// soakStep is the time between two edits of a set, more or less.
	soakStep = 300 * time.Millisecond
	// soakSettles bounds how long a set may need to get complete at the end.
	soakSettles = time.Minute
	// lag is how long the controller may act on what was true before.
	lag = 2 * time.Second
	// overdue is how long a pod may be there that no range owns, while nothing else happens.
	overdue = 20 * time.Second
)

// TestSoak edits sets at random, and deletes and breaks their pods, while a watch checks
// that no more pods are down for an update than allowed, and that pods outside of the
// range leave. In the end all sets get complete. D-016, D-047, S-002, S-008, S-010.
func TestSoak(t *testing.T) {
	p := newPlay(t, slice(1))
	duration, count, seed := soakSize(t)
	t.Logf("%s on %d sets with %s=%d", duration, count, soakSeed, seed)
	ctx, cancel := context.WithTimeout(t.Context(), duration+2*soakSettles)
	defer cancel()
	var group sync.WaitGroup
	errs := make([]error, count)
	for i := range count {
		group.Go(func() {
			s := &soak{namespace: p.set.Namespace, name: fmt.Sprintf("soak-%d", i), seed: seed + i*1_000_000, parallel: i%2 == 0}
			if err := s.run(ctx, duration); err != nil {
				errs[i] = fmt.Errorf("%s: %w\nits edits:\n%s", s.name, err, strings.Join(s.edits, "\n"))
			}
		})
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func soakSize(t *testing.T) (duration time.Duration, sets, seed int) {
	t.Helper()
	duration, sets, seed = 15*time.Second, 4, int(clock.RealClock{}.Now().Unix())
	var err error
	if text := os.Getenv(soakFor); text != "" {
		if duration, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	for name, number := range map[string]*int{soakSets: &sets, soakSeed: &seed} {
		if text := os.Getenv(name); text != "" {
			if *number, err = strconv.Atoi(text); err != nil {
				t.Fatal(err)
			}
		}
	}
	return duration, sets, seed
}

// soak is one set that is played with.
type soak struct {
	namespace, name string
	seed            int
	parallel        bool
	edits           []string

	mu    sync.Mutex
	judge judge
}

func (s *soak) run(ctx context.Context, duration time.Duration) error {
	set := s.first()
	if err := api.Create(ctx, set); err != nil {
		return err
	}
	s.judge = judge{set: s.name, pods: map[int32]*seenPod{}}
	s.judge.spec(time.Now(), &set.Spec)
	watching, stop := context.WithCancel(ctx)
	defer stop()
	seen := make(chan error, 1)
	go func() { seen <- s.watch(watching) }()
	end := time.Now().Add(duration)
	for i := 0; time.Now().Before(end); i++ {
		draw := steps.Example(s.seed + i)
		if err := s.do(ctx, draw); err != nil {
			return err
		}
		select {
		case err := <-seen:
			return err
		case <-time.After(draw.pause):
		}
	}
	if err := s.settle(ctx); err != nil {
		return err
	}
	stop()
	return <-seen
}

// first is the set as it begins; its pods can be updated in place.
func (s *soak) first() *sliceapi.StatefulSet {
	set := inPlace(3, sliceapi.ReCreate)
	set.Namespace, set.Name = s.namespace, s.name
	labels := map[string]string{"app": s.name}
	set.Spec.Selector, set.Spec.Template.Labels = &metav1.LabelSelector{MatchLabels: labels}, labels
	if s.parallel {
		set.Spec.PodManagementPolicy = appsv1.ParallelPodManagement
	}
	return set
}

// step is one edit and the time after it.
type step struct {
	kind  string
	a, b  int32
	pause time.Duration
}

// steps draws edits: those of the template are the most frequent ones.
var steps = rapid.Custom(func(r *rapid.T) step {
	return step{
		kind: rapid.SampledFrom([]string{
			"image", "image", "image", "image", "image", "image", "broken image", "replicas", "start", "partition", "reserve", "maxUnavailable", "strategy", "policy", "paused",
			"delete a pod", "fail a pod", "unready a pod", "ask a pod to go",
		}).Draw(r, "kind"),
		a: rapid.Int32Range(0, 5).Draw(r, "a"), b: rapid.Int32Range(0, 3).Draw(r, "b"),
		pause: rapid.SampledFrom([]time.Duration{0, soakStep / 4, soakStep, 3 * soakStep}).Draw(r, "pause"),
	}
})

// do carries out a step. What the API server refuses was no edit.
func (s *soak) do(ctx context.Context, step step) error {
	s.edits = append(s.edits, fmt.Sprintf("%s %s %d %d", time.Now().Format("15:04:05.000"), step.kind, step.a, step.b))
	err := s.edit(ctx, func(spec *sliceapi.StatefulSetSpec) { step.change(spec) })
	if err == nil {
		err = s.harm(ctx, step)
	}
	if apierrors.IsInvalid(err) || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		s.edits[len(s.edits)-1] += " (refused)"
		return nil
	}
	return err
}

// edit writes the spec, and tells the judge before the controller can see it.
func (s *soak) edit(ctx context.Context, change func(*sliceapi.StatefulSetSpec)) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		set := &sliceapi.StatefulSet{}
		if err := api.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: s.name}, set); err != nil {
			return err
		}
		before := set.DeepCopy()
		change(&set.Spec)
		s.mu.Lock()
		defer s.mu.Unlock()
		if err := api.Patch(ctx, set, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
			return err
		}
		s.judge.spec(time.Now(), &set.Spec)
		return nil
	})
}

// change makes the edits of a spec.
func (t step) change(s *sliceapi.StatefulSetSpec) {
	rolls := s.UpdateStrategy.RollingUpdate
	switch t.kind {
	case "image":
		s.Template.Spec.Containers[0].Image, s.Template.Annotations = fmt.Sprintf("web:%d", t.b), nil
	case "broken image":
		s.Template.Spec.Containers[0].Image = stuck
		s.Template.Annotations = map[string]string{cluster.ReadyDelayAnnotationKey: "1h", cluster.PullDelayAnnotationKey: "1h"}
	case "replicas":
		s.Replicas = &t.a
	case "start":
		s.Ordinals = &sliceapi.Ordinals{Start: t.b}
	case "reserve":
		s.ReserveOrdinals = []intstr.IntOrString{intstr.FromInt32(t.a)}
	case "paused":
		s.Paused = t.b == 0
	case "strategy":
		s.UpdateStrategy = sliceapi.StatefulSetUpdateStrategy{Type: []sliceapi.UpdateStrategyType{
			sliceapi.OnDelete, sliceapi.Recreate, sliceapi.RollingUpdate, sliceapi.RollingUpdate, sliceapi.RollingUpdate, sliceapi.RollingUpdate,
		}[t.a]}
	}
	if rolls == nil {
		rolls = &sliceapi.RollingUpdateStrategy{}
	}
	switch t.kind {
	case "partition":
		rolls.Partition = new(t.a / 2)
	case "maxUnavailable":
		rolls.MaxUnavailable = new(intstr.FromInt32(1 + t.b/2))
	case "policy":
		rolls.PodUpdatePolicy = []sliceapi.PodUpdatePolicy{sliceapi.ReCreate, sliceapi.InPlaceIfPossible, sliceapi.InPlaceIfPossible, sliceapi.InPlaceOnly}[t.b]
	default:
		return
	}
	s.UpdateStrategy = sliceapi.StatefulSetUpdateStrategy{Type: sliceapi.RollingUpdate, RollingUpdate: rolls}
}

// harm does something to a pod.
func (s *soak) harm(ctx context.Context, step step) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: fmt.Sprintf("%s-%d", s.name, step.a)}}
	status := func(text string) error {
		return api.Status().Patch(ctx, pod, client.RawPatch(types.StrategicMergePatchType, []byte(text)))
	}
	switch step.kind {
	case "delete a pod":
		return api.Delete(ctx, pod)
	case "fail a pod":
		return status(`{"status":{"phase":"Failed"}}`)
	case "unready a pod": // for the reason for which kwok makes it Ready again
		return status(`{"status":{"conditions":[{"type":"Ready","status":"False","reason":"ReadinessGatesNotReady"}]}}`)
	case "ask a pod to go":
		return api.Patch(ctx, pod, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+sliceapi.SpecifiedDeleteKey+`":"true"}}}`)))
	}
	return nil
}

// settle ends the edits with one that every pod can follow, and waits until all have.
func (s *soak) settle(ctx context.Context) error {
	const last = "web:last"
	err := s.edit(ctx, func(spec *sliceapi.StatefulSetSpec) {
		spec.Template.Spec.Containers[0].Image, spec.Template.Annotations, spec.Paused = last, nil, false
		spec.UpdateStrategy = sliceapi.StatefulSetUpdateStrategy{Type: sliceapi.RollingUpdate}
	})
	if err != nil {
		return err
	}
	state := ""
	err = wait.PollUntilContextTimeout(ctx, lookAgain, soakSettles, true, func(ctx context.Context) (bool, error) {
		set := &sliceapi.StatefulSet{}
		if err := api.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: s.name}, set); err != nil {
			return false, err
		}
		var pods corev1.PodList
		if err := api.List(ctx, &pods, client.InNamespace(s.namespace), client.MatchingLabels{"app": s.name}); err != nil {
			return false, err
		}
		want, have := ordinalsOf(&set.Spec), []int32{}
		lines := []string{fmt.Sprintf("ordinals %v, status %+v", want, set.Status)}
		for _, pod := range pods.Items {
			lines = append(lines, fmt.Sprintf("%s %s %s deleted %v annotations %v", pod.Name, pod.Status.Phase, pod.Spec.Containers[0].Image, pod.DeletionTimestamp, pod.Annotations))
			if ordinal := ordinalOf(s.name, pod.Name); isReady(&pod) && pod.Spec.Containers[0].Image == last && pod.DeletionTimestamp == nil {
				have = append(have, ordinal)
			}
		}
		state = strings.Join(lines, "\n")
		slices.Sort(have)
		st := set.Status
		return slices.Equal(want, have) && len(have) == len(pods.Items) && st.ObservedGeneration == set.Generation &&
			st.CurrentRevision == st.UpdateRevision && int(st.UpdatedReplicas) == len(want) && int(st.AvailableReplicas) == len(want), nil
	})
	if err != nil {
		return fmt.Errorf("it does not get complete: %w\n%s", err, state)
	}
	return nil
}

// watch hands every event of the set's pods to the judge, until the context ends.
func (s *soak) watch(ctx context.Context) error {
	return watchPods(ctx, s.namespace, map[string]string{"app": s.name}, func(pod *corev1.Pod, gone bool) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.judge.pod(time.Now(), pod, gone)
	})
}

// watchPods shows all pods of a namespace that have labels, as they are and as they
// become, until the context ends or one is found to be wrong.
func watchPods(ctx context.Context, namespace string, labels map[string]string, look func(pod *corev1.Pod, gone bool) error) error {
	watcher, err := client.NewWithWatch(one.RESTConfig(), client.Options{Scheme: api.Scheme()})
	if err != nil {
		return err
	}
	events, err := watcher.Watch(ctx, &corev1.PodList{}, client.InNamespace(namespace), client.MatchingLabels(labels))
	if err != nil {
		return err
	}
	defer events.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case event, open := <-events.ResultChan():
			pod, isPod := event.Object.(*corev1.Pod)
			if !open || !isPod {
				if ctx.Err() != nil {
					return nil
				}
				return fmt.Errorf("the watch ended: %v", event.Object)
			}
			if err := look(pod, event.Type == watch.Deleted); err != nil {
				return err
			}
		}
	}
}

// judge knows what was asked for lately, and since when pods are down.
type judge struct {
	set   string
	specs []askedFor
	pods  map[int32]*seenPod
}

// askedFor is what counts of a spec, from a time on.
type askedFor struct {
	at       time.Time
	ordinals []int32
	// allowed is how many pods may be down for an update.
	allowed int32
}

// seenPod is an ordinal's pod, or the lack of it.
type seenPod struct {
	exists, up bool
	// down is since when it is not up; forUpdate when that was for an update.
	down      time.Time
	forUpdate bool
	// shaken is when it was last down for anything else: the controller may still take
	// it for down, and such a pod costs nothing to replace.
	shaken time.Time
}

func (j *judge) spec(now time.Time, spec *sliceapi.StatefulSetSpec) {
	asked := askedFor{at: now, ordinals: ordinalsOf(spec), allowed: 1}
	switch rolls := spec.UpdateStrategy.RollingUpdate; {
	case spec.UpdateStrategy.Type == sliceapi.Recreate:
		asked.allowed = 1000
	case rolls != nil && rolls.MaxUnavailable != nil:
		asked.allowed = rolls.MaxUnavailable.IntVal
	}
	j.specs = append(j.specs, asked)
	for _, ordinal := range asked.ordinals {
		if j.pods[ordinal] == nil {
			j.pods[ordinal] = &seenPod{down: now}
		}
	}
}

// pod judges an event.
func (j *judge) pod(now time.Time, pod *corev1.Pod, gone bool) error {
	ordinal := ordinalOf(j.set, pod.Name)
	known := j.pods[ordinal]
	if known == nil {
		known = &seenPod{down: now}
		j.pods[ordinal] = known
	}
	was := *known
	known.exists = !gone
	known.up = !gone && pod.DeletionTimestamp == nil && isReady(pod) && pod.Status.Phase == corev1.PodRunning && pod.Annotations[sliceapi.InPlaceUpdateAnnotationKey] == ""
	if was.up == known.up {
		return j.strays(now)
	}
	known.forUpdate = !known.up && isUpdated(pod)
	if !was.up && !was.forUpdate || !known.up && !known.forUpdate {
		known.shaken = now
	}
	known.down = now
	if known.forUpdate && now.Sub(known.shaken) > lag {
		if err := j.budget(now, pod.Name); err != nil {
			return err
		}
	}
	return j.strays(now)
}

// isUpdated says whether a pod goes down for an update.
func isUpdated(pod *corev1.Pod) bool {
	return pod.Annotations[sliceapi.InPlaceUpdateAnnotationKey] != "" ||
		pod.DeletionTimestamp != nil && pod.Annotations[sliceapi.TerminationReasonAnnotationKey] == string(sliceapi.TerminationUpdate)
}

// lately are the specs that the controller may act on.
func (j *judge) lately(now time.Time) []askedFor {
	first := len(j.specs) - 1
	for first > 0 && now.Sub(j.specs[first].at) < lag {
		first--
	}
	return j.specs[first:]
}

// budget checks a pod that goes down for an update: together with the others that are
// down for that, or have been down for long enough to be known, they are not too many.
func (j *judge) budget(now time.Time, name string) error {
	asked := j.lately(now)
	allowed, owned := int32(0), asked[0].ordinals
	for _, spec := range asked {
		allowed = max(allowed, spec.allowed)
		owned = slices.DeleteFunc(slices.Clone(owned), func(ordinal int32) bool { return !slices.Contains(spec.ordinals, ordinal) })
	}
	var down []int32
	for _, ordinal := range owned {
		if pod := j.pods[ordinal]; !pod.up && (pod.forUpdate || now.Sub(pod.down) > lag) {
			down = append(down, ordinal)
		}
	}
	if int32(len(down)) > allowed {
		return fmt.Errorf("%s: %s goes down for an update, and with it %v are down: %d are allowed", now.Format("15:04:05.000"), name, down, allowed)
	}
	return nil
}

// strays checks that no pod stays that is not asked for, when nothing else is to be done.
func (j *judge) strays(now time.Time) error {
	last := j.specs[len(j.specs)-1]
	since := last.at
	for _, ordinal := range last.ordinals {
		if pod := j.pods[ordinal]; !pod.up {
			return nil
		} else if pod.down.After(since) {
			since = pod.down
		}
	}
	for _, ordinal := range slices.Sorted(maps.Keys(j.pods)) {
		if j.pods[ordinal].exists && !slices.Contains(last.ordinals, ordinal) && now.Sub(since) > overdue {
			return fmt.Errorf("%s: ordinal %d is still there, %s after all of %v were up", now.Format("15:04:05.000"), ordinal, now.Sub(since), last.ordinals)
		}
	}
	return nil
}

// ordinalsOf are the ordinals that a spec asks for. It knows reserved numbers only.
func ordinalsOf(spec *sliceapi.StatefulSetSpec) []int32 {
	ordinals, at := []int32{}, int32(0)
	if spec.Ordinals != nil {
		at = spec.Ordinals.Start
	}
	for ; len(ordinals) < int(*spec.Replicas); at++ {
		if !slices.Contains(spec.ReserveOrdinals, intstr.FromInt32(at)) {
			ordinals = append(ordinals, at)
		}
	}
	return ordinals
}

func ordinalOf(set, pod string) int32 {
	ordinal, err := strconv.ParseInt(strings.TrimPrefix(pod, set+"-"), 10, 32)
	if err != nil {
		return -1
	}
	return int32(ordinal)
}
