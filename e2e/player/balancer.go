package player

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/netip"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
)

// balancer forwards the connections to a Service to the pod behind it.
type balancer struct {
	player  *Player
	service *corev1.Service
	address netip.Addr // of this machine
	port    string
	stop    context.CancelFunc
}

func (p *Player) seeService(ctx context.Context, o any) {
	service, ok := o.(*corev1.Service)
	if !ok || ctx.Err() != nil || len(service.Spec.Ports) == 0 || len(service.Spec.Selector) == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if b := p.balancers[service.UID]; b != nil {
		return
	}
	ctx, stop := context.WithCancel(ctx)
	b := &balancer{player: p, service: service, address: randomAddress(127), port: strconv.Itoa(int(service.Spec.Ports[0].Port)), stop: stop}
	listener, err := net.Listen("tcp", net.JoinHostPort(b.address.String(), b.port))
	if err != nil {
		p.log.Printf("service %s/%s: %v", service.Namespace, service.Name, err)
		stop()
		return
	}
	p.balancers[service.UID] = b
	p.running.Go(func() { b.run(ctx, listener) })
	if service.Spec.Type == corev1.ServiceTypeLoadBalancer {
		p.running.Go(func() { b.publish(ctx) })
	}
}

func (p *Player) missService(o any) {
	service, ok := gone[*corev1.Service](o)
	if !ok {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if b := p.balancers[service.UID]; b != nil {
		b.stop()
		delete(p.balancers, service.UID)
	}
}

// balanced returns the address of this machine for the cluster IP of a Service.
func (p *Player) balanced(clusterIP netip.Addr) (netip.Addr, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, b := range p.balancers {
		if b.service.Spec.ClusterIP == clusterIP.String() {
			return b.address, true
		}
	}
	return netip.Addr{}, false
}

// publish writes the address into the status, like a cloud provider.
func (b *balancer) publish(ctx context.Context) {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": b.service.UID},
		"status":   corev1.ServiceStatus{LoadBalancer: corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: b.address.String()}}}},
	})
	if err != nil {
		b.player.log.Printf("service %s/%s: %v", b.service.Namespace, b.service.Name, err)
		return
	}
	_ = wait.PollUntilContextCancel(ctx, retry, true, func(ctx context.Context) (bool, error) {
		_, err := b.player.client.CoreV1().Services(b.service.Namespace).Patch(ctx, b.service.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
		return err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err), nil
	})
}

func (b *balancer) run(ctx context.Context, listener net.Listener) {
	defer context.AfterFunc(ctx, func() { _ = listener.Close() })()
	var carrying sync.WaitGroup
	defer carrying.Wait()
	for {
		client, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			b.player.log.Printf("service %s/%s: %v", b.service.Namespace, b.service.Name, err)
			continue
		}
		carrying.Go(func() { b.carry(ctx, client) })
	}
}

// carry connects a client to the pod. If no pod answers, it closes the connection.
func (b *balancer) carry(ctx context.Context, client net.Conn) {
	defer func() { _ = client.Close() }()
	address, found := b.backend()
	if !found {
		return
	}
	server, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(Here(address).String(), b.port))
	if err != nil {
		return
	}
	defer context.AfterFunc(ctx, func() { _ = errors.Join(client.Close(), server.Close()) })()
	defer b.player.forwarding(server, b.service.Namespace)()
	var ways sync.WaitGroup
	for _, way := range [][2]net.Conn{{client, server}, {server, client}} {
		ways.Go(func() {
			_, _ = io.Copy(way[0], way[1])
			if to, ok := way[0].(*net.TCPConn); ok {
				_ = to.CloseWrite() // the other direction stays open
			}
		})
	}
	ways.Wait()
}

// backend returns the address of a pod behind the Service, Ready or not.
func (b *balancer) backend() (netip.Addr, bool) {
	selector := labels.SelectorFromSet(b.service.Spec.Selector)
	for _, o := range b.player.movers.List() {
		pod, ok := o.(*corev1.Pod)
		if !ok || pod.Namespace != b.service.Namespace || !selector.Matches(labels.Set(pod.Labels)) || finished(pod) || pod.DeletionTimestamp != nil {
			continue
		}
		if address, err := netip.ParseAddr(pod.Status.PodIP); err == nil {
			return address, true
		}
	}
	return netip.Addr{}, false
}
