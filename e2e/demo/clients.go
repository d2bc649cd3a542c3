package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	listers "k8s.io/client-go/listers/core/v1"

	"github.com/sliceshift/sliceshift/e2e/player"
)

// door is the endpoint of the application for clients: it forwards each request to the next Ready pod of the two
// clusters, like one Service over both. It does not retry.
type door struct {
	pods   []listers.PodLister
	next   atomic.Uint64
	server *http.Server
	host   string
	stop   context.CancelFunc
}

// open starts the endpoint for clients of an application in both clusters.
func open(ctx context.Context, sides [2]*side) (*door, error) {
	ctx, stop := context.WithCancel(ctx)
	d := &door{stop: stop}
	for _, s := range sides {
		factory := informers.NewSharedInformerFactoryWithOptions(s.client, 0, informers.WithNamespace(namespace))
		d.pods = append(d.pods, factory.Core().V1().Pods().Lister())
		factory.Start(ctx.Done())
		factory.WaitForCacheSync(ctx.Done())
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		stop()
		return nil, err
	}
	const patience = 10 * time.Second
	d.host = listener.Addr().String()
	d.server = &http.Server{Handler: &httputil.ReverseProxy{Rewrite: d.route}, ReadHeaderTimeout: patience}
	go func() {
		if err := d.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			panic(err) // only close closes an open listener
		}
	}()
	return d, nil
}

// url returns the URL of a page of every replica.
func (d *door) url() string { return "http://" + d.host + "/healthz" }

// route sends a request to a pod. If none is Ready, the target does not exist: the client gets 502.
func (d *door) route(r *httputil.ProxyRequest) {
	to := &url.URL{Scheme: "http", Host: net.JoinHostPort("127.0.0.1", "1")}
	if ready := d.ready(); len(ready) > 0 {
		to.Host = ready[d.next.Add(1)%uint64(len(ready))]
	}
	r.SetURL(to)
}

// ready returns the addresses of the Ready pods.
func (d *door) ready() (addresses []string) {
	for _, lister := range d.pods {
		pods, err := lister.Pods(namespace).List(labels.SelectorFromSet(labels.Set{player.ProgramKey: workload}))
		if err != nil {
			continue // a lister reads its cache
		}
		for _, pod := range pods {
			address, err := netip.ParseAddr(pod.Status.PodIP)
			if err == nil && pod.DeletionTimestamp == nil && isReady(pod) {
				addresses = append(addresses, net.JoinHostPort(player.Here(address).String(), port))
			}
		}
	}
	return addresses
}

func isReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// close stops the endpoint.
func (d *door) close() {
	d.stop()
	_ = d.server.Close()
}
