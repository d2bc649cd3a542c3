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
	// idle and creation are the timeouts of a forwarded connection, as in a kubelet's defaults.
	idle, creation = 4 * time.Hour, 30 * time.Second
	// machine is the address at which an API server reaches the kubelets.
	machine = "127.0.0.1"
)

// forward serves pods/portforward like a kubelet, with the library of the Kubernetes container runtimes, and writes
// its address into the status of the existing nodes.
func (p *Player) forward(ctx context.Context) error {
	server := httptest.NewUnstartedServer(http.HandlerFunc(p.serveForward))
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}} // a connection is hijacked
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

// PortForward forwards one connection until the pod or the other end has closed it.
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
			_ = tcp.CloseWrite() // the pod may still send
			return
		}
		_ = conn.Close()
	}()
	_, err = io.Copy(counted{stream, f.player, namespace}, conn)
	return err
}

// addressOf returns the address of a pod whose process runs.
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

// Forwarded returns how many bytes were forwarded from the pods of a namespace to clients of port-forwarding.
func (p *Player) Forwarded(namespace string) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.forwarded[namespace]
}

// BreakForwards closes all connections that are currently forwarded to the pods of a namespace, by an API server or by a
// Service. It returns how many these are.
func (p *Player) BreakForwards(namespace string) (broken int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for conn, to := range p.forwards {
		if to == namespace {
			_ = conn.Close()
			broken++
		}
	}
	return broken
}

// forwarding registers a connection; over unregisters it.
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

// counted counts the bytes that are written for the pods of a namespace.
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
