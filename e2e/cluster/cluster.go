package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/sliceshift/sliceshift/e2e/cluster/process"
)

// Options configure a cluster.
type Options struct {
	// Name of the cluster, a DNS label. Also the name of the context in its
	// kubeconfigs. Required.
	Name string
	// Dir is the folder of the cluster; it must be absent or empty. By default
	// a new one below the folder for temporary files.
	Dir string
	// Binary is what Build returned. By default Start calls Build.
	Binary string
	// Log receives a line for each slow step. By default nothing is logged.
	Log io.Writer
	// Nodes is the number of nodes, by default 1.
	Nodes int
	// Attach lets the controller manager attach and detach volumes of CSI drivers, where an attacher serves them. By
	// default it does not.
	Attach bool
	// Keep leaves the folder, with the data of etcd, when the cluster stops.
	Keep bool
	// Args are additional flags of roles; they override the cluster's own flags.
	Args map[Role][]string
}

// Cluster is a running control plane.
type Cluster struct {
	options Options
	dir     string
	binary  string
	lock    *os.File // marks dir as in use, see sweep
	ports   map[Role]port
	ca      *authority
	config  *rest.Config
	client  kubernetes.Interface

	started     chan struct{} // closed when Start has succeeded: from now on roles are supervised
	stopping    chan struct{} // closed, under mu, when no role may start any more
	supervisors sync.WaitGroup

	mu        sync.Mutex // guards the fields below
	processes map[Role]*process.Process
	deaths    []Death
	broken    error
	keepLogs  bool

	stop func() error // tearDown, but only once
}

// Start starts a cluster and returns it once it is ready, see WaitReady. If it fails, only the logs remain, which the
// error names.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	start := clock.RealClock{}.Now()
	options, err := withDefaults(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("start cluster %s: %w", options.Name, err)
	}
	c := &Cluster{
		options:   options,
		processes: map[Role]*process.Process{},
		started:   make(chan struct{}),
		stopping:  make(chan struct{}),
	}
	c.stop = sync.OnceValue(c.tearDown)
	if err := c.makeDir(); err != nil {
		return nil, fmt.Errorf("start cluster %s: %w", options.Name, err)
	}
	if err := c.start(ctx); err != nil {
		err = fmt.Errorf("start cluster %s: %w (logs: %s)", options.Name, err, c.KeepLogs())
		return nil, errors.Join(err, c.Stop())
	}
	close(c.started)
	fmt.Fprintf(options.Log, "cluster %s: ready after %s\n", options.Name,
		clock.RealClock{}.Since(start).Round(100*time.Millisecond))
	return c, nil
}

func withDefaults(ctx context.Context, options Options) (Options, error) {
	if problems := validation.IsDNS1123Label(options.Name); len(problems) > 0 {
		return options, fmt.Errorf("name: %s", strings.Join(problems, ", "))
	}
	if options.Log == nil {
		options.Log = io.Discard
	}
	options.Nodes = max(options.Nodes, 1)
	if options.Binary != "" {
		return options, nil
	}
	var err error
	options.Binary, err = Build(ctx, options.Log)
	return options, err
}

// start starts each role as soon as the roles that it needs answer. A role that starts earlier waits a whole second
// between two attempts to reach them.
func (c *Cluster) start(ctx context.Context) error {
	if err := c.prepare(); err != nil {
		return err
	}
	for _, role := range Roles() {
		if err := c.launch(role); err != nil {
			return err
		}
		if role != Etcd && role != APIServer {
			continue
		}
		if err := c.waitRole(ctx, role); err != nil {
			return err
		}
	}
	if err := c.createObjects(ctx); err != nil {
		return err
	}
	return c.WaitReady(ctx)
}

// prepare creates the files of the roles in the cluster's folder.
func (c *Cluster) prepare() error {
	c.linkBinary()
	var err error
	if c.ports, err = reservePorts(); err != nil {
		return err
	}
	if c.ca, err = writePKI(c.dir, c.Name()); err != nil {
		return err
	}
	if err := writeStages(c.dir); err != nil {
		return err
	}
	if err := c.writeKubeconfigs(); err != nil {
		return err
	}
	c.client, err = kubernetes.NewForConfig(c.config)
	return err
}

// Name returns the name of the cluster.
func (c *Cluster) Name() string { return c.options.Name }

// LogFile returns the path of a role's log; all runs of the role append to it.
func (c *Cluster) LogFile(role Role) string {
	return filepath.Join(c.logDir(), string(role)+".log")
}

func (c *Cluster) logDir() string { return filepath.Join(c.dir, "logs") }
