package registrar_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"

	"github.com/sliceshift/sliceshift/e2e/csi/registrar"
)

// TestRegister: the driver is registered when a kubelet, which finds it by its socket, reports it. Stop removes the
// socket.
func TestRegister(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		status *registration.RegistrationStatus
		wrong  string
	}{
		"taken":   {&registration.RegistrationStatus{PluginRegistered: true}, ""},
		"refused": {&registration.RegistrationStatus{Error: "there is one of that name"}, "there is one of that name"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := registrar.Options{Driver: "disks.example.com", Endpoint: "/csi.sock", Socket: filepath.Join(t.TempDir(), "reg.sock")}
			asked := make(chan *registration.PluginInfo, 1)
			go func() { asked <- askAs(t, o.Socket, tc.status) }()
			r, err := registrar.Register(t.Context(), o)
			if info := <-asked; info.GetType() != registration.CSIPlugin || info.GetName() != o.Driver || info.GetEndpoint() != o.Endpoint {
				t.Errorf("the kubelet was told %v", info)
			}
			switch {
			case tc.wrong == "" && err == nil:
				r.Stop()
			case tc.wrong == "" || err == nil || !strings.Contains(err.Error(), tc.wrong):
				t.Errorf("got the error %v, want %q", err, tc.wrong)
			}
			if _, err := os.Stat(o.Socket); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the socket is left: %v", err)
			}
		})
	}
}

// TestNobodyAsks: without a kubelet, registration ends with its context, and the error says what it waited for.
func TestNobodyAsks(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := registrar.Register(ctx, registrar.Options{Driver: "disks.example.com", Socket: filepath.Join(t.TempDir(), "reg.sock")})
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "reg.sock") {
		t.Errorf("got %v", err)
	}
}

// askAs makes the requests of a kubelet and reports a status.
func askAs(t *testing.T, socket string, status *registration.RegistrationStatus) *registration.PluginInfo {
	t.Helper()
	connection, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Error(err)
		return nil
	}
	defer connection.Close()
	kubelet := registration.NewRegistrationClient(connection)
	info, err := kubelet.GetInfo(t.Context(), &registration.InfoRequest{}, grpc.WaitForReady(true))
	if err != nil {
		t.Error(err)
		return nil
	}
	// Once the status is delivered, the driver may stop before the answer is sent.
	_, _ = kubelet.NotifyRegistrationStatus(t.Context(), status)
	return info
}
