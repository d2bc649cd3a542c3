package player

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cri-streaming/pkg/streaming/portforward"
)

const (
	// idle and creation bound a forwarded connection as a kubelet's defaults do.
	idle, creation = 4 * time.Hour, 30 * time.Second
	// machine is where an API server finds the kubelets.
	machine = "127.0.0.1"
)

// forward serves what kubelets do for pods/portforward, with the library of Kubernetes' own container runtimes, and has the
// nodes that there are say where.
func (p *Player) forward(ctx context.Context) error {
	server := httptest.NewUnstartedServer(http.HandlerFunc(p.serveForward))
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}} // a connection is taken over
	server.StartTLS()
	p.running.Go(func() {
		<-ctx.Done()
		server.CloseClientConnections()
		server.Close()
	})
	_, text, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		return err
	}
	port, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return err
	}
	var status corev1.NodeStatus
	status.DaemonEndpoints.KubeletEndpoint.Port = int32(port)
	status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: machine}}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"daemonEndpoints": status.DaemonEndpoints, "addresses": status.Addresses}})
	if err != nil {
		return err
	}
	nodes, err := p.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range nodes.Items {
		if _, err := p.client.CoreV1().Nodes().Patch(ctx, nodes.Items[i].Name, patchType, patch, metav1.PatchOptions{}, "status"); err != nil {
			return fmt.Errorf("node %s: %w", nodes.Items[i].Name, err)
		}
	}
	return nil
}

// serveForward answers /portForward/NAMESPACE/POD.
func (p *Player) serveForward(w http.ResponseWriter, r *http.Request) {
	pod, is := strings.CutPrefix(r.URL.Path, "/portForward/")
	if !is {
		http.NotFound(w, r)
		return
	}
	options, err := portforward.NewV4Options(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	portforward.ServePortForward(w, r, forwarder{p}, pod, "", options, idle, creation, []string{portforward.ProtocolV1Name})
}

// forwarder connects to the ports of pods.
type forwarder struct{ player *Player }

// PortForward carries the bytes of one connection, until the pod or the other end has ended it.
func (f forwarder) PortForward(ctx context.Context, pod, _ string, port int32, stream io.ReadWriteCloser) error {
	address, err := f.player.addressOf(pod)
	if err != nil {
		return err
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(Here(address).String(), strconv.Itoa(int(port))))
	if err != nil {
		return err
	}
	namespace, _, _ := strings.Cut(pod, "/")
	over := f.player.forwarding(conn, namespace)
	defer func() {
		over()
		_ = conn.Close()
	}()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	go func() {
		_, err := io.Copy(conn, stream)
		if tcp, ok := conn.(*net.TCPConn); ok && err == nil {
			_ = tcp.CloseWrite() // what the pod still says goes on
			return
		}
		_ = conn.Close()
	}()
	_, err = io.Copy(counted{stream, f.player, namespace}, conn)
	return err
}

// addressOf is that of a pod whose process runs.
func (p *Player) addressOf(pod string) (netip.Addr, error) {
	o, found, err := p.movers.GetByKey(pod)
	if err != nil {
		return netip.Addr{}, err
	}
	seen, ok := o.(*corev1.Pod)
	if !found || !ok || seen.Status.Phase != corev1.PodRunning {
		return netip.Addr{}, fmt.Errorf("pod %s does not run", pod)
	}
	return netip.ParseAddr(seen.Status.PodIP)
}

// Forwarded is how many bytes were carried from the pods of a namespace to who has their ports forwarded.
func (p *Player) Forwarded(namespace string) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.forwarded[namespace]
}

// BreakForwards breaks all connections off that are forwarded to the pods of a namespace at the moment.
func (p *Player) BreakForwards(namespace string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for conn, to := range p.forwards {
		if to == namespace {
			_ = conn.Close()
		}
	}
}

// forwarding notes a connection; over is for when it has ended.
func (p *Player) forwarding(conn net.Conn, namespace string) (over func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forwards[conn] = namespace
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.forwards, conn)
	}
}

// counted counts what is written for the pods of a namespace.
type counted struct {
	io.Writer
	player    *Player
	namespace string
}

// Write implements io.Writer.
func (c counted) Write(data []byte) (int, error) {
	n, err := c.Writer.Write(data)
	c.player.mu.Lock()
	defer c.player.mu.Unlock()
	c.player.forwarded[c.namespace] += int64(n)
	return n, err
}
