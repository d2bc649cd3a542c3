package slices

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sliceapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/cluster"
	"github.com/sliceshift/sliceshift/e2e/fixture"
)

// upheaval is a change of a set during which its controllers die.
type upheaval struct {
	set *sliceapi.StatefulSet
	// prepare creates the objects that the set needs.
	prepare func(*play)
	change  func(*sliceapi.StatefulSetSpec)
	// least is how many pods, of those that counts selects, must be available at every moment.
	least  int
	counts func(ordinal int32) bool
	// pods is how many pods each ordinal has had in the end: "0:2 1:2".
	pods string
	// meanwhile acts all the time. each judges every state of a pod, after the end.
	meanwhile func(*play)
	each      func(*play, *corev1.Pod) error
	after     func(*play)
}

// seeds of the lives of controllers; each failure names its seed.
var seeds = []int{1, 2, 3}

// TestKilled kills the controller repeatedly in the middle of a change: before a write, after a write whose answer is
// lost, or at any time. Its successor continues. Never are more pods unavailable than allowed, no pod is replaced
// twice, and no readiness gate stays closed.
func TestKilled(t *testing.T) {
	for name, upheaval := range upheavals {
		for _, seed := range seeds {
			t.Run(fmt.Sprintf("%s, seed %d", name, seed), func(t *testing.T) { survive(t, upheaval(), seed) })
		}
	}
}

var upheavals = map[string]func() upheaval{
	"an update in order": func() upheaval {
		return upheaval{set: slowly(withClaim(slice(4))), change: toSecond, least: 3, pods: "0:2 1:2 2:2 3:2"}
	},
	"an update of two at once": func() upheaval {
		set := slowly(slice(5))
		set.Spec.PodManagementPolicy = appsv1.ParallelPodManagement
		set.Spec.UpdateStrategy = rolling(func(r *sliceapi.RollingUpdateStrategy) { r.MaxUnavailable = new(intstr.FromInt32(2)) })
		return upheaval{set: set, change: toSecond, least: 3, pods: "0:2 1:2 2:2 3:2 4:2"}
	},
	"an update in place": func() upheaval {
		set := inPlace(3, sliceapi.InPlaceIfPossible)
		set.Spec.Template.Annotations = map[string]string{cluster.PullDelayAnnotationKey: "300ms"}
		set.Spec.UpdateStrategy.RollingUpdate.InPlaceUpdateStrategy = &sliceapi.InPlaceUpdateStrategy{GracePeriodSeconds: 1}
		return upheaval{set: set, change: toSecond, least: 2, pods: "0:1 1:1 2:1", each: func(_ *play, pod *corev1.Pod) error {
			if patched := pod.Spec.Containers[0].Image == "web:2"; patched && fixture.IsReady(pod) && pod.Status.ContainerStatuses[0].Image == "web:1" && gateOf(pod) == corev1.ConditionTrue {
				return fmt.Errorf("the gate of %s is open, and it runs web:1", pod.Name)
			}
			return nil
		}}
	},
	"an update with a surge": func() upheaval {
		set := slowly(slice(3))
		set.Spec.UpdateStrategy = rolling(func(r *sliceapi.RollingUpdateStrategy) {
			r.MaxSurge, r.MaxUnavailable = new(intstr.FromInt32(1)), new(intstr.FromInt32(0))
		})
		return upheaval{set: set, change: toSecond, least: 3, pods: "0:2 1:2 2:2 3:1"}
	},
	"claims that grow": func() upheaval {
		set := slowly(withClaim(slice(3)))
		set.Spec.VolumeClaimUpdateStrategy = &sliceapi.VolumeClaimUpdateStrategy{Type: sliceapi.OnPodRollingUpdate}
		return upheaval{
			set: set, least: 2, pods: "0:2 1:2 2:2", meanwhile: (*play).resize,
			prepare: func(p *play) { set.Spec.VolumeClaimTemplates[0].Spec.StorageClassName = new(p.class("only", true)) },
			change: func(s *sliceapi.StatefulSetSpec) {
				toSecond(s)
				s.VolumeClaimTemplates[0].Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: size("2Gi")}
			},
			each: func(p *play, pod *corev1.Pod) error {
				if pod.Spec.Containers[0].Image != "web:2" {
					return nil
				}
				claim := &corev1.PersistentVolumeClaim{}
				err := api.Get(p.ctx, client.ObjectKey{Namespace: pod.Namespace, Name: "data-" + pod.Name}, claim)
				if has := claim.Status.Capacity[corev1.ResourceStorage]; err == nil && has.Cmp(size("2Gi")) != 0 {
					err = fmt.Errorf("%s is updated, and its claim has %s", pod.Name, has.String())
				}
				return err
			},
		}
	},
	"a scale-down": func() upheaval {
		return upheaval{
			set: slowly(retention(5, retainClaims, deleteClaims)), least: 2, pods: "0:1 1:1 2:1 3:1 4:1",
			counts: func(ordinal int32) bool { return ordinal < 2 },
			change: func(s *sliceapi.StatefulSetSpec) { s.Replicas = new(int32(2)) },
			each: func(p *play, pod *corev1.Pod) error {
				if pod.DeletionTimestamp == nil {
					return nil
				}
				if next := p.pod(ordinalOf("web", pod.Name) + 1); next != nil {
					return fmt.Errorf("%s goes before %s is gone", pod.Name, next.Name)
				}
				if reason := pod.Annotations[sliceapi.TerminationReasonAnnotationKey]; reason != string(sliceapi.TerminationScaleDown) {
					return fmt.Errorf("%s goes for %q", pod.Name, reason)
				}
				return nil
			},
			after: func(p *play) { p.claimsAre("data-web-0: data-web-1:") },
		}
	},
}

func toSecond(s *sliceapi.StatefulSetSpec) { s.Template.Spec.Containers[0].Image = "web:2" }

// slowly delays the readiness of pods, so that a controller may die meanwhile. With a DeleteDelayAnnotationKey a pod
// may be lost: kwok deletes it again by name after that time, when another pod may have the name.
func slowly(set *sliceapi.StatefulSet) *sliceapi.StatefulSet {
	set.Spec.Template.Annotations = map[string]string{cluster.ReadyDelayAnnotationKey: "100ms"}
	return set
}

func size(text string) resource.Quantity { return resource.MustParse(text) }

// survive makes the change, with one controller after the other, and checks the resulting pods.
func survive(t *testing.T, u upheaval, seed int) {
	t.Helper()
	u.set.Labels = map[string]string{mortalKey: "yes"}
	u.set.Spec.TerminationReasonPolicy = sliceapi.AnnounceAlways // the reason shows the witness which deletion is ours
	p := newPlay(t, u.set)
	if u.prepare != nil {
		u.prepare(p)
	}
	p.must(api.Create(p.ctx, u.set))
	p.lives(life{}, p.isComplete)
	seen := &witness{p: p, u: u, first: len(p.pods()), pods: map[string]*corev1.Pod{}, had: map[string][]types.UID{}}
	end := seen.begin()
	p.change(u.change)
	done := func() bool {
		if u.meanwhile != nil {
			u.meanwhile(p)
		}
		return p.isComplete() && len(p.pods()) == int(*p.set.Spec.Replicas)
	}
	for i, life := range append(someLives.Example(seed), life{}) {
		t.Logf("controller %d lives %s", i, life)
		if p.lives(life, done) {
			break
		}
	}
	p.must(end())
	if got := seen.String(); got != u.pods {
		t.Errorf("pods of each ordinal: %s, want %s", got, u.pods)
	}
	for _, pod := range p.pods() {
		if note := pod.Annotations[sliceapi.InPlaceUpdateAnnotationKey]; note != "" || len(pod.Spec.ReadinessGates) > 0 && gateOf(&pod) != corev1.ConditionTrue || !fixture.IsReady(&pod) {
			t.Errorf("%s is left with gate %s and note %q", pod.Name, gateOf(&pod), note)
		}
	}
	if u.after != nil {
		u.after(p)
	}
}

// lives runs a controller until it dies or done holds, and reports whether done holds.
func (p *play) lives(l life, done func() bool) (finished bool) {
	p.t.Helper()
	ended, leave, err := live(p.ctx, p.set.Namespace, l)
	p.must(err)
	defer func() {
		leave()
		<-ended
	}()
	p.eventually("the controller is done", func() bool {
		select {
		case <-ended:
			return true
		default:
			finished = done()
			return finished
		}
	})
	return finished
}

// witness observes every state of the pods and judges it.
type witness struct {
	p  *play
	u  upheaval
	mu sync.Mutex
	// begun is true once all original pods have been seen.
	begun bool
	first int
	pods  map[string]*corev1.Pod
	had   map[string][]types.UID
}

// begin observes the pods until the returned function is called, which returns the first violation.
func (w *witness) begin() (end func() error) {
	w.p.t.Helper()
	ctx, stop := context.WithCancel(w.p.ctx)
	ended := make(chan error, 1)
	go func() {
		ended <- watchPods(ctx, w.p.set.Namespace, w.p.set.Spec.Selector.MatchLabels, func(pod *corev1.Pod, gone bool) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.look(pod, gone)
		})
	}()
	return func() error {
		defer stop()
		var wrong error
		w.p.eventually("all has been seen", func() bool {
			select {
			case wrong = <-ended:
				return true
			default:
				return w.caughtUp()
			}
		})
		return wrong
	}
}

func (w *witness) caughtUp() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	pods := w.p.pods()
	return len(pods) == len(w.pods) && !slices.ContainsFunc(pods, func(pod corev1.Pod) bool {
		seen := w.pods[pod.Name]
		return seen == nil || seen.ResourceVersion != pod.ResourceVersion
	})
}

func (w *witness) look(pod *corev1.Pod, gone bool) error {
	if gone {
		delete(w.pods, pod.Name)
	} else {
		w.pods[pod.Name] = pod
	}
	if !slices.Contains(w.had[pod.Name], pod.UID) {
		w.had[pod.Name] = append(w.had[pod.Name], pod.UID)
	}
	if _, told := pod.Annotations[sliceapi.TerminationReasonAnnotationKey]; gone && !told {
		// Our controllers set the reason of a pod before they delete it. kwok deletes by name, and on a busy machine
		// it now and then deletes the successor of the pod that it meant.
		w.had[pod.Name] = slices.DeleteFunc(w.had[pod.Name], func(uid types.UID) bool { return uid == pod.UID })
	}
	available := 0
	for _, each := range w.pods {
		if (w.u.counts == nil || w.u.counts(ordinalOf(w.p.set.Name, each.Name))) && serves(each) {
			available++
		}
	}
	w.begun = w.begun || len(w.pods) == w.first
	if w.begun && available < w.u.least {
		return fmt.Errorf("%d pods are available, and not %d", available, w.u.least)
	}
	if w.u.each == nil || gone {
		return nil
	}
	return w.u.each(w.p, pod)
}

// serves reports whether a pod is available and neither being deleted nor being updated.
func serves(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodRunning && fixture.IsReady(pod) && pod.Annotations[sliceapi.InPlaceUpdateAnnotationKey] == ""
}

// String returns how many pods each ordinal has had.
func (w *witness) String() string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(w.had)) {
		words = append(words, fmt.Sprintf("%d:%d", ordinalOf(w.p.set.Name, name), len(w.had[name])))
	}
	return strings.Join(words, " ")
}
