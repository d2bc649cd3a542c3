package slices

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"k8s.io/utils/clock"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sliceapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/e2e/kind/setup"
	"github.com/sliceshift/sliceshift/e2e/versions"
)

// Parameters of a soak. The seed is logged, so that the same edits can be repeated.
const (
	soakFor  = "SLICESHIFT_SOAK"
	soakSets = "SLICESHIFT_SOAK_SETS"
	soakSeed = "SLICESHIFT_SOAK_SEED"
)

const (
	// soakStep is the approximate time between two edits of a set.
	soakStep = 300 * time.Millisecond
	// soakSettles bounds how long a set may take to become complete at the end.
	soakSettles = 2 * time.Minute
)

// TestSoak edits sets at random, deletes and breaks their pods and kills their controller, while a judge observes
// every state of pods and claims: see judge. In the end all sets become complete.
func TestSoak(t *testing.T) {
	p := newPlay(t, slice(1))
	duration, count, seed := soakSize(t)
	t.Logf("%s on %d sets with %s=%d", duration, count, soakSeed, seed)
	ctx, cancel := context.WithTimeout(t.Context(), duration+2*soakSettles)
	defer cancel()
	class := p.unprovided("grows")
	p.admissions()
	soaks, pace := make([]*soak, count), &pace{}
	for i := range count {
		soaks[i] = &soak{namespace: p.set.Namespace, name: fmt.Sprintf("soak-%d", i), class: class, seed: seed*1_000_000 + i*10_000, parallel: i%2 == 0, pace: pace}
	}
	var group, others sync.WaitGroup
	others.Go(func() { chores(ctx, p.set.Namespace, soaks) })
	var ends []string
	var failed error
	others.Go(func() { ends, failed = controllers(ctx, p.set.Namespace, seed, duration) })
	var unseen error
	others.Go(func() { unseen = pace.keep(ctx, p.set.Namespace) })
	errs := make([]error, count)
	for i, s := range soaks {
		group.Go(func() {
			defer func() { t.Log(s) }()
			if err := s.run(ctx, duration); err != nil {
				t.Logf("%s: %v", s.name, err)
				errs[i] = fmt.Errorf("%s: %w\nits edits:\n%s", s.name, err, strings.Join(s.edits, "\n"))
			}
		})
	}
	group.Wait()
	cancel()
	others.Wait()
	t.Logf("%d controllers", len(ends))
	if err := errors.Join(errors.Join(errs...), failed, unseen); err != nil {
		t.Fatalf("%v\ncontrollers:\n%s", err, strings.Join(ends, "\n"))
	}
	on, err := versions.Selected()
	if err != nil {
		t.Fatal(err)
	}
	harness.WriteFigures(t, "soak", soakPage(on, soaks, duration, seed, len(ends)))
}

// soakPage returns the statistics of a soak on a version of Kubernetes for the documentation.
func soakPage(on versions.Version, soaks []*soak, duration time.Duration, seed, controllers int) string {
	var edits, refused, paid, judged int
	for _, s := range soaks {
		edits, refused = edits+len(s.edits), refused+s.refused()
		paid, judged = paid+s.judge.paid, judged+s.judge.judged
	}
	return fmt.Sprintf(`On Kubernetes %s: %d sets for %s, seed %d: %d edits and faults (%d refused by the API server), %d controllers one after another; %d pods
went down on the budget, %d of them at a moment at which the rules could be judged. No rule was broken, and in the end all sets got complete.
`, strings.TrimPrefix(on.Release, "v"), len(soaks), duration, seed, edits, refused, controllers, paid, judged)
}

// soakLives draws how long the controller of all sets lives.
var soakLives = rapid.Custom(func(r *rapid.T) life {
	if rapid.Bool().Draw(r, "by time") {
		return life{span: time.Duration(rapid.IntRange(100, 8000).Draw(r, "ms")) * time.Millisecond}
	}
	return life{writes: rapid.Int64Range(1, 150).Draw(r, "writes"), lands: rapid.Bool().Draw(r, "lands")}
})

// controllers runs controllers until ctx ends. During the given duration they die one after the other.
func controllers(ctx context.Context, namespace string, seed int, duration time.Duration) (ends []string, err error) {
	end := time.Now().Add(duration)
	for i := 0; ctx.Err() == nil; i++ {
		l := life{}
		if time.Now().Before(end) {
			l = soakLives.Example(seed*1_000_000 + i)
		}
		begun := time.Now()
		ended, leave, err := live(ctx, namespace, l)
		if err != nil {
			return ends, err
		}
		ready := time.Now()
		<-ended
		leave()
		ends = append(ends, fmt.Sprintf("%s, ready %s, to %s: %s", begun.Format(clockTime), ready.Format(clockTime), time.Now().Format(clockTime), l))
	}
	return ends, nil
}

const clockTime = "15:04:05.000"

// chores runs the background tasks: claims get volumes and their requested size, and pods that lifecycle hooks hold
// back are released after a while.
func chores(ctx context.Context, namespace string, soaks []*soak) {
	const every = 300 * time.Millisecond
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		bindClaims(ctx, namespace, soaks)
		growByOrdinal(ctx, namespace)
		unhook(ctx, namespace)
	}, every)
}

// growByOrdinal expands claims: those of even ordinals at once, the file systems of the others in the next round. A
// failure is retried in the next round.
func growByOrdinal(ctx context.Context, namespace string) {
	var claims corev1.PersistentVolumeClaimList
	_ = api.List(ctx, &claims, client.InNamespace(namespace))
	for _, claim := range claims.Items {
		status := &claim.Status
		if status.Phase != corev1.ClaimBound || equality.Semantic.DeepEqual(status.Capacity, claim.Spec.Resources.Requests) {
			continue
		}
		if odd := strings.ContainsAny(claim.Name[len(claim.Name)-1:], "13579"); odd && len(status.Conditions) == 0 {
			status.Conditions = []corev1.PersistentVolumeClaimCondition{{
				Type: corev1.PersistentVolumeClaimFileSystemResizePending, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now(),
			}}
		} else {
			status.Capacity, status.Conditions = claim.Spec.Resources.Requests, nil
		}
		_ = api.Status().Update(ctx, &claim)
	}
}

// bindClaims creates a volume for each claim, except for sets whose claims must stay unbound. A failure is retried in
// the next round.
func bindClaims(ctx context.Context, namespace string, soaks []*soak) {
	bound := map[string]bool{}
	for _, s := range soaks {
		bound[s.name] = !s.unbound.Load()
	}
	var claims corev1.PersistentVolumeClaimList
	_ = api.List(ctx, &claims, client.InNamespace(namespace))
	for i := range claims.Items {
		claim := &claims.Items[i]
		if claim.Status.Phase == corev1.ClaimPending && claim.DeletionTimestamp == nil && bound[claim.Labels["app"]] {
			_ = api.Create(ctx, setup.VolumeFor(claim))
		}
	}
}

// unhook removes the label of the hooks from pods that are to be deleted or updated. A failure is retried in the next
// round.
func unhook(ctx context.Context, namespace string) {
	var sets sliceapi.StatefulSetList
	var pods corev1.PodList
	_ = errors.Join(api.List(ctx, &sets, client.InNamespace(namespace)), api.List(ctx, &pods, client.InNamespace(namespace), client.HasLabels{hookLabel}))
	update := map[string]string{}
	for _, set := range sets.Items {
		if set.Spec.Lifecycle != nil {
			update[set.Name] = set.Status.UpdateRevision
		}
	}
	for _, pod := range pods.Items {
		revision, hooked := update[pod.Labels["app"]]
		if hooked && (pod.Labels[appsv1.StatefulSetRevisionLabel] != revision || pod.Annotations[sliceapi.TerminationReasonAnnotationKey] != "") {
			_ = api.Patch(ctx, &pod, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"labels":{%q:null}}}`, hookLabel)))
		}
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

// soak is one set under test.
type soak struct {
	namespace, name string
	// class is the StorageClass of its claims.
	class    string
	seed     int
	parallel bool
	edits    []string
	// former is the template before the last edit.
	former *corev1.PodTemplateSpec
	// unbound is true while its claims get no volumes.
	unbound atomic.Bool
	pace    *pace

	mu    sync.Mutex
	judge judge
}

// String returns the number of edits.
func (s *soak) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprintf("%s: %d edits, of which %d were refused; %d pods went down on the budget, %d of them were judged", s.name, len(s.edits), s.refused(), s.judge.paid, s.judge.judged)
}

// refused returns how many edits the API server refused.
func (s *soak) refused() (count int) {
	for _, edit := range s.edits {
		if strings.HasSuffix(edit, asRefused) {
			count++
		}
	}
	return count
}

func (s *soak) run(ctx context.Context, duration time.Duration) error {
	set := s.first()
	if err := api.Create(ctx, set); err != nil {
		return err
	}
	s.judge = newJudge(s.name, s.pace)
	s.judge.spec(time.Now(), &set.Spec)
	watching, stop := context.WithCancel(ctx)
	defer stop()
	results := make(chan error, 3)
	go func() { results <- s.watchPods(watching) }()
	go func() { results <- s.watchClaims(watching) }()
	go func() { results <- s.watchSet(watching) }()
	end := time.Now().Add(duration)
	for i := 0; time.Now().Before(end); i++ {
		draw := drawStep(s.seed + i)
		if err := s.do(ctx, draw); err != nil {
			return err
		}
		select {
		case err := <-results:
			return err
		case <-time.After(draw.pause):
		}
	}
	err := s.settle(ctx)
	stop()
	return errors.Join(err, <-results, <-results, <-results)
}

// first returns the initial set. Its pods can be updated in place and have the label of the hooks, and its claims can
// grow.
func (s *soak) first() *sliceapi.StatefulSet {
	set := withClaim(inPlace(3, sliceapi.ReCreate))
	set.Namespace, set.Name, set.Labels = s.namespace, s.name, map[string]string{mortalKey: "yes"}
	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": s.name}}
	set.Spec.Template.Labels = map[string]string{"app": s.name, hookLabel: "yes"}
	set.Spec.Template.Spec.Containers[0].Resources = resources("10m", "40m")
	set.Spec.VolumeClaimTemplates[0].Spec.StorageClassName = &s.class
	set.Spec.VolumeClaimUpdateStrategy = &sliceapi.VolumeClaimUpdateStrategy{Type: sliceapi.OnPodRollingUpdate}
	set.Spec.TerminationReasonPolicy = sliceapi.AnnounceAlways // the judge reads the reason of a deletion
	if s.parallel {
		set.Spec.PodManagementPolicy = appsv1.ParallelPodManagement
	}
	return set
}

// settle makes a last edit that every pod can follow, and waits until all have.
func (s *soak) settle(ctx context.Context) error {
	const last = "web:last"
	s.unbound.Store(false)
	if err := s.admit(ctx); err != nil {
		return err
	}
	err := s.edit(ctx, func(spec *sliceapi.StatefulSetSpec) {
		spec.Template.Spec.Containers[0].Image, spec.Template.Annotations, spec.Paused = last, nil, false
		spec.UpdateStrategy = sliceapi.StatefulSetUpdateStrategy{Type: sliceapi.RollingUpdate}
		spec.Lifecycle, spec.ProgressDeadlineSeconds, spec.MinReadySeconds = nil, new(int32(600)), 0
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
			if ordinal := ordinalOf(s.name, pod.Name); fixture.IsReady(&pod) && pod.Spec.Containers[0].Image == last && pod.DeletionTimestamp == nil {
				have = append(have, ordinal)
			}
		}
		state = strings.Join(lines, "\n")
		slices.Sort(have)
		st := set.Status
		if claims := st.VolumeClaims; len(claims) != 1 || int(claims[0].CompatibleReadyReplicas) != len(want) {
			return false, nil
		}
		return slices.Equal(want, have) && len(have) == len(pods.Items) && st.ObservedGeneration == set.Generation &&
			meta.IsStatusConditionTrue(st.Conditions, sliceapi.ConditionReady) && st.CurrentRevision == st.UpdateRevision && int(st.UpdatedReplicas) == len(want) && int(st.AvailableReplicas) == len(want), nil
	})
	if err != nil {
		return fmt.Errorf("it does not get complete: %w\n%s", err, state)
	}
	return nil
}

// watchPods, watchClaims and watchSet pass every event of the set's objects to the judge until the context ends.
func (s *soak) watchPods(ctx context.Context) error {
	return watchPods(ctx, s.namespace, map[string]string{"app": s.name}, func(pod *corev1.Pod, gone bool) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.judge.pod(time.Now(), pod, gone)
	})
}

func (s *soak) watchClaims(ctx context.Context) error {
	return watchAll(ctx, &corev1.PersistentVolumeClaimList{}, s.namespace, map[string]string{"app": s.name}, func(object client.Object, gone bool) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.judge.claim(time.Now(), object.(*corev1.PersistentVolumeClaim), gone)
	})
}

func (s *soak) watchSet(ctx context.Context) error {
	return watchAll(ctx, &sliceapi.StatefulSetList{}, s.namespace, map[string]string{mortalKey: "yes"}, func(object client.Object, _ bool) error {
		set := object.(*sliceapi.StatefulSet)
		if set.Name != s.name {
			return nil
		}
		return contradiction(set)
	})
}

// watchPods passes the current and later states of all pods of a namespace with these labels to look, until the
// context ends or look fails.
func watchPods(ctx context.Context, namespace string, labels map[string]string, look func(pod *corev1.Pod, gone bool) error) error {
	return watchAll(ctx, &corev1.PodList{}, namespace, labels, func(object client.Object, gone bool) error {
		return look(object.(*corev1.Pod), gone)
	})
}

// watchAll is watchPods for any kind.
func watchAll(ctx context.Context, list client.ObjectList, namespace string, labels map[string]string, look func(object client.Object, gone bool) error) error {
	watcher, err := client.NewWithWatch(one, client.Options{Scheme: api.Scheme()})
	if err != nil {
		return err
	}
	of := []client.ListOption{client.InNamespace(namespace), client.MatchingLabels(labels)}
	if err := watcher.List(ctx, list, of...); err != nil {
		return err
	}
	if err := meta.EachListItem(list, func(object runtime.Object) error { return look(object.(client.Object), false) }); err != nil {
		return err
	}
	// A busy API server may end a watch: it continues where it was.
	events, err := watchtools.NewRetryWatcherWithContext(ctx, list.GetResourceVersion(), &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return watcher.Watch(ctx, list, append(of, &client.ListOptions{Raw: &options})...)
		},
	})
	if err != nil {
		return err
	}
	defer events.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case event, open := <-events.ResultChan():
			object, is := event.Object.(client.Object)
			switch {
			case open && is && event.Type != watch.Error:
				if err := look(object, event.Type == watch.Deleted); err != nil {
					return err
				}
			case ctx.Err() != nil:
				return nil
			default:
				return fmt.Errorf("the watch ended: %v", event.Object)
			}
		}
	}
}
