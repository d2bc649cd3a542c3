package policy

import (
	"context"
	"fmt"
	"net/netip"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/sliceshift/sliceshift/e2e/kind"
)

// Pods are the pods of a cluster, by the address that each one has or had. The nodes give an address away again only after
// all others.
type Pods struct {
	mu  sync.Mutex
	all map[netip.Addr]Pod
}

// Pod names a pod, with its labels.
type Pod struct {
	Namespace, Name string
	Labels          map[string]string
}

// Follow notes the address of each pod of a cluster until ctx ends.
func Follow(ctx context.Context, at *kind.Cluster) (*Pods, error) {
	events, err := at.Client.CoreV1().Pods("").Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("cluster %s: watch the pods: %w", at.Name, err)
	}
	p := &Pods{all: map[netip.Addr]Pod{}}
	go func() {
		for event := range events.ResultChan() {
			if pod, is := event.Object.(*corev1.Pod); is && event.Type != watch.Deleted {
				p.note(pod)
			}
		}
	}()
	return p, nil
}

func (p *Pods) note(pod *corev1.Pod) {
	address, err := netip.ParseAddr(pod.Status.PodIP)
	if err != nil || pod.Spec.HostNetwork {
		return // it has no address of its own, or not yet
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all[address] = Pod{pod.Namespace, pod.Name, pod.Labels}
}

// At returns the last pod that had an address.
func (p *Pods) At(address netip.Addr) (Pod, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	pod, found := p.all[address]
	return pod, found
}
