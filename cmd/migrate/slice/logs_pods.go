package slice

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/sliceshift/sliceshift/migration/dependencies"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// podClient reads the pods of a namespace. The limit is for one list.
type podClient struct {
	corev1client.PodInterface
	limit time.Duration
}

// podsOf returns a client for the pods of a set.
func (o *logsOptions) podsOf(s *statefulSet) (*podClient, error) {
	where, err := o.Source()
	if err != nil {
		return nil, err
	}
	pods, err := where.Pods(s.Namespace)
	return &podClient{pods, where.Timeout()}, err
}

// retryEvery is how often a missing pod is looked for, and how often a log is requested that is not there yet.
const retryEvery = time.Second

// pods returns the pods whose logs are printed. It waits for those that do not exist yet.
func (o *logsOptions) pods(ctx context.Context, s *statefulSet) ([]*corev1.Pod, error) {
	deadline := o.Clock.Now().Add(o.podTimeout)
	for {
		all, err := o.client.of(ctx, s)
		if err != nil {
			return nil, err
		}
		chosen, err := o.choose(s, all)
		if err == nil || !o.Clock.Now().Before(deadline) {
			return chosen, err
		}
		if err := o.pause(ctx); err != nil {
			return nil, err
		}
	}
}

// pause waits until the next attempt.
func (o *logsOptions) pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-o.Clock.After(retryEvery):
		return nil
	}
}

// of returns the pods that the selector of a set matches, by ordinal, without those of another controller.
func (c *podClient) of(ctx context.Context, s *statefulSet) ([]*corev1.Pod, error) {
	ctx, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	list, err := c.List(ctx, metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(s.Spec.Selector)})
	if err != nil {
		return nil, fmt.Errorf("cluster %s: listing the pods of %s: %w", s.connection.Name(), s.title(), err)
	}
	var pods []*corev1.Pod
	for i := range list.Items {
		pod := &list.Items[i]
		if owner := metav1.GetControllerOfNoCopy(pod); owner == nil || owner.UID == s.UID {
			pods = append(pods, pod)
		}
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int {
		first, _ := dependencies.OrdinalOf(s.Name, a.Name)
		second, _ := dependencies.OrdinalOf(s.Name, b.Name)
		return cmp.Or(cmp.Compare(first, second), cmp.Compare(a.Name, b.Name))
	})
	return pods, nil
}

// choose returns the pods that the flags select: all, those of ordinals, or the best one. One that is missing is an error.
func (o *logsOptions) choose(s *statefulSet, all []*corev1.Pod) ([]*corev1.Pod, error) {
	if len(all) == 0 {
		return nil, fmt.Errorf("cluster %s: %s has no pod", s.connection.Name(), s.title())
	}
	switch {
	case o.allPods:
		return all, nil
	case len(o.ordinals) > 0:
		return o.byOrdinal(s, all)
	}
	best := slices.MinFunc(all, byLogging)
	if len(all) > 1 {
		fmt.Fprintf(o.ErrOut, "Found %d pods, using pod/%s\n", len(all), best.Name)
	}
	return []*corev1.Pod{best}, nil
}

func (o *logsOptions) byOrdinal(s *statefulSet, all []*corev1.Pod) ([]*corev1.Pod, error) {
	var chosen []*corev1.Pod
	for _, ordinal := range o.ordinals {
		name := plan.PodName(s.Name, int32(ordinal))
		at := slices.IndexFunc(all, func(pod *corev1.Pod) bool { return pod.Name == name })
		if at < 0 {
			return nil, fmt.Errorf("cluster %s: %s has no pod %s, only: %s", s.connection.Name(), s.title(), name, namesOf(all))
		}
		chosen = append(chosen, all[at])
	}
	return chosen, nil
}

func namesOf(pods []*corev1.Pod) string {
	names := make([]string, 0, len(pods))
	for _, pod := range pods {
		names = append(names, pod.Name)
	}
	return strings.Join(names, ", ")
}

// byLogging orders pods as kubectl does to select the one whose log it prints: on a node, Running, Ready, Ready for the
// longest time, with the most restarts, and the oldest (kubectl, podutils.ByLogging).
func byLogging(a, b *corev1.Pod) int {
	return cmp.Or(
		firstIf(a.Spec.NodeName != "", b.Spec.NodeName != ""),
		cmp.Compare(phaseOrder[a.Status.Phase], phaseOrder[b.Status.Phase]),
		firstIf(!readySince(a).IsZero(), !readySince(b).IsZero()),
		readySince(a).Compare(readySince(b)),
		cmp.Compare(restarts(b), restarts(a)),
		a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
	)
}

var phaseOrder = map[corev1.PodPhase]int{corev1.PodRunning: 0, corev1.PodUnknown: 1, corev1.PodPending: 2}

// firstIf orders a value with a property before a value without it.
func firstIf(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	default:
		return 1
	}
}

// readySince returns the time since which a pod is Ready; zero if it is not.
func readySince(pod *corev1.Pod) time.Time {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

// restarts returns how often the container of a pod that restarted most did so.
func restarts(pod *corev1.Pod) (most int32) {
	for _, c := range pod.Status.ContainerStatuses {
		most = max(most, c.RestartCount)
	}
	return most
}
