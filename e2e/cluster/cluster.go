// Package cluster runs real Kubernetes control planes on this machine, for the tests, the demo and the benchmarks. A
// cluster is five processes of one binary (the nested module e2e/controlplane): etcd, kube-apiserver,
// kube-controller-manager, kube-scheduler and kwok, which simulates the kubelets. Package versions selects the version of
// Kubernetes.
//
// Each process is one Role, so that a test can kill, freeze and restart it alone. Every cluster guarantees:
//
//	C1  a role keeps its flags, its ports and its identity over restarts
//	C2  no two clusters share a port, not even while a role is down
//	C3  everything is bound to the loopback address or to a unix socket
//	C4  no process outlives the process that started it, however that process ends
//	C5  a role that exits unexpectedly is restarted and counted (Deaths), until restarts
//	    no longer help (Broken); a role that a test stopped or froze is not restarted
//
// Only the kubelet is simulated. Stages (folder stages) define its behaviour: a scheduled pod becomes Ready at once, a
// deleted pod disappears at once. Two annotations of a pod change that, see ReadyDelayAnnotationKey and
// DeleteDelayAnnotationKey. A pod that a test sets to Ready=False through the status subresource stays so. kwok
// ignores the pods of movers: package player simulates their kubelet.
//
// Example:
//
//	binary, err := cluster.Build(ctx, os.Stderr)
//	clusters, err := cluster.StartAll(ctx, cluster.Options{Binary: binary}, "a", "b")
//	for _, c := range clusters {
//		c.StopAfter(t)
//	}
//	client, err := kubernetes.NewForConfig(clusters[0].RESTConfig())
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
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/sliceshift/sliceshift/e2e/cluster/process"
	"github.com/sliceshift/sliceshift/e2e/versions"
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
	// Gates are feature gates of the API server and the controller manager, such as MaxUnavailableStatefulSet=true. All
	// others have the default of the version.
	Gates []string
	// Args are additional flags of roles; they override the cluster's own flags.
	Args map[Role][]string
}

// Cluster is a running control plane.
type Cluster struct {
	options Options
	dir     string
	binary  string
	version *version.Version // of Kubernetes
	lock    *os.File         // marks dir as in use, see sweep
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
	var err error
	if c.version, err = versions.Of(c.options.Binary); err != nil {
		return err
	}
	c.linkBinary()
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

// Role names one process of a cluster. It is also the first argument of the control plane binary.
type Role string

// The roles of a cluster.
const (
	Etcd              Role = "etcd"
	APIServer         Role = "kube-apiserver"
	ControllerManager Role = "kube-controller-manager"
	Scheduler         Role = "kube-scheduler"
	Kwok              Role = "kwok"
)

// Roles lists all roles in the order in which they start. They stop in the opposite order, because a kube-apiserver
// that loses its etcd first lingers.
func Roles() []Role {
	return []Role{Etcd, APIServer, ControllerManager, Scheduler, Kwok}
}

// StartAll starts several clusters at once and returns them in the order of their names. They share the options. If
// the options name a folder, each cluster gets a subfolder of it. If one cluster fails, all are removed.
func StartAll(ctx context.Context, options Options, names ...string) ([]*Cluster, error) {
	if options.Log != nil {
		options.Log = &lockedWriter{writer: options.Log}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	clusters := make([]*Cluster, len(names))
	errs := make([]error, len(names))
	var group sync.WaitGroup
	for i, name := range names {
		group.Go(func() {
			one := options
			one.Name = name
			if options.Dir != "" {
				one.Dir = filepath.Join(options.Dir, name)
			}
			if clusters[i], errs[i] = Start(ctx, one); errs[i] != nil {
				cancel(errs[i])
			}
		})
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, errors.Join(err, StopAll(clusters))
	}
	return clusters, nil
}

// StopAll stops several clusters. Elements may be nil.
func StopAll(clusters []*Cluster) error {
	var errs []error
	for _, c := range clusters {
		if c != nil {
			errs = append(errs, c.Stop())
		}
	}
	return errors.Join(errs...)
}

// lockedWriter lets several clusters share a log that is not safe for concurrent use.
type lockedWriter struct {
	mu     sync.Mutex
	writer io.Writer
}

func (w *lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.writer.Write(p)
}

// Build returns the control plane binary of the version that versions.Variable selects. If no binary of the same sources
// exists, Build builds it first, which takes about 5 minutes with cold caches. Several processes may call it at once; one
// builds, the others wait for it. Only a build writes to progress, which may be nil.
func Build(ctx context.Context, progress io.Writer) (string, error) {
	v, err := versions.Selected()
	if err != nil {
		return "", err
	}
	return v.Build(ctx, progress)
}
