// Package ui provides the command that serves a local web page for viewing and steering moves.
package ui

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/evacuate"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/flags"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/ui/board"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/ui/server"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/migration/report/page"
)

// options are the options of the command ui.
type options struct {
	*command.Common
	to         flags.Destination
	port       int
	open, all  bool
	namespaces []string
	connection *clusters.Connection
	// reach connects to the destinations' cluster, once.
	reach func() (*clusters.Connection, error)
	// launch opens a page in a browser.
	launch func(ctx context.Context, page string) error
}

const help = `Serves a page on this machine that shows moves as they happen, and steers them: Migrations
and the runs of this command, of a namespace or of all. It runs until it is interrupted.

It reads and writes everything with your own kubeconfig: the page shows and does what you
may do yourself, and nothing else. The printed address has a token in it, a new one each
time; anyone with the token can do the same while the command runs. The page is served to
this machine only.

The plan of a Migration and its findings need its destination: where that is another
cluster, the flags say how this command reaches it.`

const examples = `  # The moves of namespace shop
  migrate ui -n shop --context east

  # Those of several namespaces, or of all; and plans of those that go to west
  migrate ui -n shop,store --context east
  migrate ui -A --context east --to-context west

  # On a machine without a browser: forward the port, and open the address here
  migrate ui -A --port 8931 --open=false`

// New returns the command ui.
func New(c *command.Common) *cobra.Command {
	o := &options{Common: c, launch: launch}
	cmd := c.Command(o, &cobra.Command{Use: "ui", Short: "Serve a local page that shows and steers moves", Long: help, Example: examples})
	cmd.Flags().IntVar(&o.port, "port", 0, "port of the page (default: one that is free)")
	cmd.Flags().BoolVar(&o.open, "open", true, "open the page in a browser, on a terminal")
	cmd.Flags().BoolVarP(&o.all, "all-namespaces", "A", false, "show the moves of all namespaces")
	cmd.Flags().StringVar(&o.to.Kubeconfig, "to-kubeconfig", "", "kubeconfig file of the destinations' cluster, for plans (default: the source's)")
	cmd.Flags().StringVar(&o.to.Context, "to-context", "", "context of the destinations' cluster, for plans")
	return cmd
}

// Complete reads the namespaces.
func (o *options) Complete(cmd *cobra.Command, args []string) error {
	if err := o.Common.Complete(cmd, args); err != nil {
		return err
	}
	if o.all {
		o.namespaces = []string{""}
		return nil
	}
	namespace, err := o.Namespace()
	if err != nil {
		return err
	}
	o.namespaces = strings.Split(namespace, ",")
	return nil
}

const highestPort = 65535

// Validate rejects invalid combinations of flags.
func (o *options) Validate() error {
	if o.port < 0 || o.port > highestPort {
		return command.Usagef("--port %d is not a port", o.port)
	}
	if o.all && *o.Config.Namespace != "" {
		return command.Usagef("--namespace and --all-namespaces exclude each other")
	}
	for _, namespace := range o.namespaces {
		if namespace == "" && !o.all {
			return command.Usagef("--namespace %s: one of them has no name", *o.Config.Namespace)
		}
	}
	return nil
}

// headerTimeout limits the time to read a request's header.
const headerTimeout = 10 * time.Second

// Run serves the page until it is interrupted.
func (o *options) Run(ctx context.Context) error {
	var err error
	if o.connection, err = o.Connect(); err != nil {
		return err
	}
	o.reach = sync.OnceValues(func() (*clusters.Connection, error) {
		where, err := o.to.Endpoint(o.Common)
		if err != nil {
			return nil, err
		}
		return where.Connect(nil)
	})
	asks, err := o.connection.Watching()
	if err != nil {
		return err
	}
	served := board.New()
	served.ServerTime = o.connection.ServerTime
	s, err := server.New(server.Options{Cluster: o.connection.Name(), Board: served, Store: o.store, Plan: o.forecast, Evacuation: o.evacuation, Clock: o.Clock})
	if err != nil {
		return err
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(o.port)))
	if err != nil {
		return fmt.Errorf("serving the page: %w; choose another one with --port", err)
	}
	running, ctx := errgroup.WithContext(ctx)
	running.Go(func() error { return served.Watch(ctx, asks, o.namespaces, o.Clock) })
	running.Go(func() error { return serve(ctx, listener, s) })
	defer o.tell(ctx, fmt.Sprintf("http://%s/#token=%s", listener.Addr(), s.Token()))()
	return running.Wait()
}

// tell prints the address and, on a terminal, opens it in a browser. The returned function removes temporary files.
func (o *options) tell(ctx context.Context, address string) (clean func()) {
	fmt.Fprintf(o.Out, "%s\n", address)
	where := "all namespaces"
	if !o.all {
		where = "namespace " + strings.Join(o.namespaces, ", ")
	}
	fmt.Fprintf(o.ErrOut, "Shows the moves of %s in cluster %s until it is interrupted. Anyone with this address can do what you may do there.\n", where, o.connection.Name())
	if !o.open || !o.Interactive() {
		return func() {}
	}
	page, clean, err := redirect(address)
	if err == nil {
		err = o.launch(ctx, page)
	}
	if err != nil {
		fmt.Fprintf(o.ErrOut, "No browser could be opened (%v): open the address in one.\n", err)
	}
	return clean
}

// redirect writes a page, readable only by its user, that redirects to an address. The address contains the token, and
// every user of the machine can read the arguments of a process. So the browser is started with the page.
func redirect(address string) (page string, clean func(), err error) {
	folder, err := os.MkdirTemp("", "sliceshift-ui-")
	if err != nil {
		return "", func() {}, err
	}
	clean = func() { _ = os.RemoveAll(folder) }
	quoted, err := json.Marshal(address) // also escapes "</script>"
	if err != nil {
		return "", clean, err
	}
	page = filepath.Join(folder, "moves.html")
	const text = `<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer"><title>Moves</title><script>location.replace(%s)</script>`
	return page, clean, os.WriteFile(page, fmt.Appendf(nil, text, quoted), 0o600)
}

// serve serves until the context ends. The streams of pages end with it.
func serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	s := &http.Server{
		Handler: handler, ReadHeaderTimeout: headerTimeout, ErrorLog: log.New(io.Discard, "", 0),
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	stop := context.AfterFunc(ctx, func() { _ = s.Close() })
	defer stop()
	if err := s.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving the page: %w", err)
	}
	return nil
}

// store returns the store of a migration.
func (o *options) store(namespace, name string, record bool) records.Store {
	return records.StoreOf(o.connection.Live(), namespace, name, record)
}

// evacuation returns the state of an Evacuation.
func (o *options) evacuation(ctx context.Context, namespace, name string) (page.Page, error) {
	return evacuate.Page(ctx, o.connection, namespace, name, o.Clock.Now)
}

// launch opens a page in the user's browser.
func launch(ctx context.Context, page string) error {
	opener := cmp.Or(map[string]string{"darwin": "open", "windows": "explorer"}[runtime.GOOS], "xdg-open")
	path, err := exec.LookPath(opener)
	if err != nil {
		return err
	}
	started := exec.CommandContext(ctx, path, page)
	if err := started.Start(); err != nil {
		return err
	}
	go func() { _ = started.Wait() }() // the exit status of the browser does not matter
	return nil
}
