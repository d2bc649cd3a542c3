package page

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/sliceshift/sliceshift/cmd/migrate/move/ui/server"
	"github.com/sliceshift/sliceshift/config"
)

const (
	// headerTimeout limits the time to read a request's header, and idleTimeout an idle connection.
	headerTimeout = 10 * time.Second
	idleTimeout   = time.Minute
	// writeTimeout limits the time to write a response. In a stream of changes it applies to each change.
	writeTimeout = 30 * time.Second
	// mostHeader is large enough for the largest tokens that API servers accept.
	mostHeader = 64 << 10
)

// cluster is the name by which a manager refers to its own cluster.
const cluster = "local"

// Page is the server of the web page. It runs in every manager, including managers that are not the leader.
type Page struct {
	settings config.UI
	handler  http.Handler
}

// Add adds the page to the manager if the settings enable it.
func Add(mgr manager.Manager, local *rest.Config, settings config.Config) error {
	if settings.UI.BindAddress == config.AddressOff {
		return nil
	}
	judge, err := newGate(local, mgr.GetScheme(), mgr.GetRESTMapper())
	if err != nil {
		return err
	}
	handler, err := server.NewRemote(server.RemoteOptions{Cluster: cluster, Namespace: settings.WatchNamespace, Admit: judge.admit, Clock: clock.RealClock{}})
	if err != nil {
		return err
	}
	return mgr.Add(&Page{settings: settings.UI, handler: handler})
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (*Page) NeedLeaderElection() bool { return false }

// Start serves over TLS until the context ends.
func (p *Page) Start(ctx context.Context) error {
	running, ctx := errgroup.WithContext(ctx)
	secure := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
	if err := p.certify(ctx, running, secure); err != nil {
		return err
	}
	var listening net.ListenConfig
	listener, err := listening.Listen(ctx, "tcp", p.settings.BindAddress)
	if err != nil {
		return fmt.Errorf("serving the page: %w; set ui.bindAddress to another address", err)
	}
	s := &http.Server{
		Handler: p.handler, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, WriteTimeout: writeTimeout, MaxHeaderBytes: mostHeader,
		ErrorLog: log.New(io.Discard, "", 0), BaseContext: func(net.Listener) context.Context { return ctx },
	}
	stop := context.AfterFunc(ctx, func() { _ = s.Close() })
	defer stop()
	running.Go(func() error {
		if err := s.Serve(tls.NewListener(listener, secure)); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serving the page: %w", err)
		}
		return nil
	})
	return running.Wait()
}

// certify loads the certificate from CertDir and reloads it when it changes. Without CertDir it creates a self-signed
// certificate that no client can verify.
func (p *Page) certify(ctx context.Context, running *errgroup.Group, secure *tls.Config) error {
	if p.settings.CertDir != "" {
		files, err := certwatcher.New(filepath.Join(p.settings.CertDir, "tls.crt"), filepath.Join(p.settings.CertDir, "tls.key"))
		if err != nil {
			return fmt.Errorf("reading the certificate of the page: %w; ui.certDir names its folder", err)
		}
		secure.GetCertificate = files.GetCertificate
		running.Go(func() error { return files.Start(ctx) })
		return nil
	}
	certificate, key, err := certutil.GenerateSelfSignedCertKey("localhost", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		return fmt.Errorf("making a certificate of the page: %w", err)
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return fmt.Errorf("making a certificate of the page: %w", err)
	}
	secure.Certificates = []tls.Certificate{pair}
	return nil
}
