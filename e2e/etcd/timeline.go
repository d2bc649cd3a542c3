package main

import (
	"context"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/tools/cache"

	"github.com/sliceshift/sliceshift/e2e/kind"
)

// stay is a span in which a member was Ready in a cluster.
type stay struct {
	member, cluster string
	from, until     time.Time // until is zero if it has not ended
}

// timeline records where each member is Ready, only for the picture.
type timeline struct {
	sync.Mutex
	stays []stay
}

// follow watches the pods of a cluster until ctx ends.
func (l *timeline) follow(ctx context.Context, c *kind.Cluster) {
	list := cache.NewListWatchFromClient(c.Client.CoreV1().RESTClient(), "pods", namespace, fields.Everything())
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{ListerWatcher: list, ObjectType: &corev1.Pod{}, Handler: cache.ResourceEventHandlerFuncs{
		AddFunc:    func(pod any) { l.note(c.Name, pod.(*corev1.Pod), false) },
		UpdateFunc: func(_, pod any) { l.note(c.Name, pod.(*corev1.Pod), false) },
		DeleteFunc: func(pod any) {
			if pod, ok := pod.(*corev1.Pod); ok {
				l.note(c.Name, pod, true)
			}
		},
	}})
	informer.RunWithContext(ctx)
}

// note starts a stay when a pod becomes Ready, and ends the stay of a pod that no longer is.
func (l *timeline) note(cluster string, pod *corev1.Pod, gone bool) {
	if !slices.Contains(app.Names(), pod.Name) {
		return
	}
	ready := !gone && pod.DeletionTimestamp == nil && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
	l.Lock()
	defer l.Unlock()
	last := slices.IndexFunc(l.stays, func(s stay) bool { return s.member == pod.Name && s.cluster == cluster && s.until.IsZero() })
	switch {
	case ready && last < 0:
		l.stays = append(l.stays, stay{member: pod.Name, cluster: cluster, from: time.Now()})
	case !ready && last >= 0:
		l.stays[last].until = time.Now()
	}
}

// all returns the stays so far.
func (l *timeline) all() []stay {
	l.Lock()
	defer l.Unlock()
	return slices.Clone(l.stays)
}
