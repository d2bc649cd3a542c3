package pages

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
)

// kubelet answers requests for logs, exec and port-forward for all nodes of a cluster, because the pods of kwok
// run nothing. The API server forwards these requests as for a real kubelet. kubectl also resolves the same
// objects, such as the pod of a Job or the port of a Service.
type kubelet struct {
	// ports maps ports of the pods to the addresses that serve them.
	ports map[int32]string
}

// logged is the log of every pod: a line in the manager's format.
const logged = `{"level":"info","time":"2026-01-01T00:00:00Z","msg":"stopped","migration":"shop/web","ordinal":2,"reason":"Stopping"}` + "\n"

// idle and creation are the timeouts of a connection; the values are the kubelet's defaults.
const idle, creation = 4 * time.Hour, 30 * time.Second

// serve registers this kubelet in the status of all existing nodes. It serves until the process exits.
func (k *kubelet) serve(ctx context.Context, client kubernetes.Interface) error {
	server := httptest.NewUnstartedServer(k)
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}} // a connection is hijacked
	server.StartTLS()
	at, ok := server.Listener.Addr().(*net.TCPAddr)
	if !ok {
		return fmt.Errorf("no port at %s", server.Listener.Addr())
	}
	status := corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: at.IP.String()}}}
	status.DaemonEndpoints.KubeletEndpoint.Port = int32(at.Port) //nolint:gosec // a port
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"daemonEndpoints": status.DaemonEndpoints, "addresses": status.Addresses}})
	if err != nil {
		return err
	}
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range nodes.Items {
		if _, err := client.CoreV1().Nodes().Patch(ctx, nodes.Items[i].Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
			return err
		}
	}
	return nil
}

// ServeHTTP answers /WHAT/NAMESPACE/POD, optionally followed by the container.
func (k *kubelet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	what, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch what {
	case "containerLogs":
		_, _ = io.WriteString(w, logged)
	case "exec":
		options, err := remotecommand.NewOptions(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		remotecommand.ServeExec(w, r, k, rest, "", "", r.URL.Query()["command"], options, idle, creation, remotecommand.SupportedStreamingProtocols)
	case "portForward":
		options, err := portforward.NewV4Options(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		portforward.ServePortForward(w, r, k, rest, "", options, idle, creation, []string{portforward.ProtocolV1Name})
	default:
		http.NotFound(w, r)
	}
}

// ExecInContainer prints the command that it would run.
func (k *kubelet) ExecInContainer(_ context.Context, pod, _, _ string, command []string, _ io.Reader, out, _ io.WriteCloser, _ bool, _ <-chan remotecommand.TerminalSize, _ time.Duration) error {
	_, err := fmt.Fprintf(out, "%s: %s\n", pod, strings.Join(command, " "))
	return err
}

// PortForward copies the bytes of one connection until one end closes it.
func (k *kubelet) PortForward(ctx context.Context, pod, _ string, port int32, stream io.ReadWriteCloser) error {
	address := k.ports[port]
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("port %d of pod %s: %w", port, pod, err)
	}
	defer conn.Close()
	go func() {
		_, _ = io.Copy(conn, stream) // the other end has closed it
		_ = conn.Close()
	}()
	if _, err = io.Copy(stream, conn); errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
